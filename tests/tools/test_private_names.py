"""The private names of other packages that the source uses: which they are, and that they mean what it expects.

They hold for strands-agents 1.62.0, mcp 2.1.0 and 2.1.1, and Python 3.11. A newer version that
lacks one of them fails here first.
"""

from __future__ import annotations

import ast
import asyncio
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, get_args, get_type_hints

import pytest
from mcp.client.streamable_http import streamable_http_client
from strands import ToolContext, tool
from strands.tools import PythonAgentTool
from strands.tools.mcp import MCPClient

# It reads every source.
pytestmark = pytest.mark.docs

SOURCE = Path(__file__).parents[2] / "src" / "strands_cli"
PRIVATE = re.compile("_[a-z][a-z_]*")
# Documented although they begin with an underscore.
DOCUMENTED = {"_asdict", "_exit", "_getframe", "_replace"}
USED = {
    "_background_thread",
    "_background_thread_event_loop",
    "_tool_context",
    "_tool_func",
    "_transport",
}


def private_imports(tree: ast.AST) -> Iterator[str]:
    """Yield the private modules and names that are imported from another package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("strands_cli"):
            if any(map(PRIVATE.fullmatch, (node.module or "").split("."))):
                yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names if PRIVATE.fullmatch(name.name))


def private_attributes(tree: ast.AST) -> Iterator[str]:
    """Yield the private attributes that are read, by name or by `getattr`, and private keywords in a dictionary."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and PRIVATE.fullmatch(node.attr):
            yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            yield from (one.value for one in node.args[1:2] if isinstance(one, ast.Constant))
        elif isinstance(node, ast.Dict):
            yield from (one.value for one in node.keys if isinstance(one, ast.Constant) and isinstance(one.value, str))


def defined(tree: ast.AST) -> Iterator[str]:
    """Yield the private names that our own classes define: methods, fields, slots, what `__init__` assigns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            for target in [node.target] if isinstance(node, ast.AnnAssign) else node.targets:
                places = target.elts if isinstance(target, ast.Tuple) else [target]
                yield from (one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in places)


def test_every_private_name_of_another_package_is_listed_here() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")]
    # One of the two is assigned too, to end what the SDK leaves open.
    ours = {name for tree in trees for name in defined(tree)} - USED
    imported = {name for tree in trees for name in private_imports(tree)}
    read = {name for tree in trees for name in private_attributes(tree) if PRIVATE.fullmatch(name)}
    assert imported | (read - ours) - DOCUMENTED == USED


def test_the_client_of_mcp_over_http_can_be_restricted() -> None:
    """Its class is in the annotations of a public function."""
    kind = get_args(get_type_hints(streamable_http_client)["http_client"])[0]
    library = sys.modules[kind.__module__.partition(".")[0]]
    assert kind is library.AsyncClient
    client = kind(transport=library.AsyncHTTPTransport(proxy="http://127.0.0.1:9", trust_env=False), trust_env=False)
    client.event_hooks = {"response": []}
    assert issubclass(library.AsyncHTTPTransport, library.AsyncBaseTransport)
    assert hasattr(library.AsyncByteStream, "aclose")
    asyncio.run(client.aclose())


def test_the_client_of_the_sdk_names_its_thread_and_its_loop() -> None:
    """What they do is tested with the servers that end by themselves: without them Python warns, which is an error."""
    client = MCPClient(lambda: None)  # type: ignore[arg-type, return-value]
    assert (client._background_thread, client._background_thread_event_loop) == (None, None)


def test_the_parser_of_regular_expressions_tells_repeats_and_their_limits() -> None:
    """What the source makes of them is tested with patterns; these are the forms that it reads."""
    (repeat,) = _parser.parse("a{2,3}")
    assert repeat[0] is _constants.MAX_REPEAT
    assert repeat[1][:2] == (2, 3)
    assert list(repeat[1][2]) == [(_constants.LITERAL, ord("a"))]
    assert _parser.parse("a+")[0][1][1] is _constants.MAXREPEAT
    assert _parser.parse("a|bc").getwidth() == (1, 2)


def test_a_process_of_asyncio_has_a_transport_to_close() -> None:
    async def run() -> None:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", "", stdin=asyncio.subprocess.PIPE)
        await process.wait()
        assert isinstance(process._transport, asyncio.SubprocessTransport)
        process._transport.close()

    asyncio.run(run())


def test_a_tool_of_the_sdk_takes_its_context_from_a_keyword_and_shows_its_function() -> None:
    def name_of(tool_context: ToolContext) -> str:
        """Return the name of the call."""
        return f"called {tool_context.tool_use['name']}"

    made = tool(context=True)(name_of)
    assert made._tool_func is name_of

    async def call() -> Any:
        use: Any = {"toolUseId": "1", "name": "name_of", "input": {}}
        context = ToolContext(tool_use=use, agent=None, invocation_state={})
        return [event async for event in made.stream(use, {}, _tool_context=context)]

    assert "called name_of" in str(asyncio.run(call())[-1])


def test_a_module_tool_of_the_sdk_shows_its_function() -> None:
    def probe(tool: Any, **kwargs: Any) -> Any:
        return tool

    spec: Any = {"name": "probe", "description": "Probe.", "inputSchema": {"json": {"type": "object"}}}
    assert PythonAgentTool("probe", spec, probe)._tool_func is probe
