"""What a manifest says of each form of tool: the same from source, from an import, and from what a run would load."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from strands_cli.catalog.manifest import differences
from strands_cli.catalog.source.source_reader import read_tool
from strands_cli.catalog.source.source_tool import SourceTool
from strands_cli.tools.tool_forms import close_all, describe_reference, read_reference
from strands_cli_dev.child_import import import_in_child

# Each test imports a plugin in a process of its own.
pytestmark = pytest.mark.wheels

SDK = (
    "from typing import Any\n"
    "from strands import ToolContext, tool\n"
    "from strands.tools import ToolProvider\n"
    "from strands.types.tools import AgentTool\n"
    "from strands_cli.metadata import tool_metadata\n"
)
SPEC = "TOOL_SPEC = {'name': 'foo', 'description': 'Does it.', 'inputSchema': {'json': {'type': 'object'}}}\n"
TWO = SDK + "@tool\ndef one(a: int) -> int:\n    'One.'\n@tool\ndef two(a: int) -> int:\n    'Two.'\n"
CLASS = (
    SDK + "class Db:\n"
    "    def __init__(self, config=None): self.config = config\n"
    "    @tool_metadata(destructive=True)\n"
    "    @tool\n    def drop(self, table: str) -> str:\n        'Drops.'\n"
    "    @tool\n    async def query(self, sql: str, limit: int = 3) -> str:\n        'Asks.'\n"
)
AGENT_TOOL = (
    SDK + "class Foo(AgentTool):\n"
    "    tool_name = 'foo'\n    tool_type = 'python'\n"
    "    tool_spec = {'name': 'foo', 'description': 'An AgentTool.', 'inputSchema': {'json': {'type': 'object'}}}\n"
    "    async def stream(self, tool_use, invocation_state, **kwargs):\n        yield None\n"
)
TOOL_PROVIDER = (
    TWO + "class Many(ToolProvider):\n"
    "    def __init__(self, config): self.users, self.config = [], config\n"
    "    async def load_tools(self, **kwargs):\n"
    "        assert self.users\n        return [one, two]\n"
    "    def add_consumer(self, consumer_id, **kwargs): self.users.append(consumer_id)\n"
    "    def remove_consumer(self, consumer_id, **kwargs): self.users.remove(consumer_id)\n"
)
FORMS: dict[str, tuple[str, str, str, list[str]]] = {
    "module": (f"{SPEC}def foo(tool, **kwargs): ...\n", "", "module", ["foo"]),
    "async module": (f"{SPEC}async def foo(tool, **kwargs): ...\n", "", "module", ["foo"]),
    "streaming module": (f"{SPEC}async def foo(tool, **kwargs):\n    yield 1\n", "", "module", ["foo"]),
    "function named by itself": (f"{SPEC}def foo(tool, **kwargs): ...\n", "foo", "module", ["foo"]),
    "module with metadata": (
        f"{SDK}{SPEC}@tool_metadata(read_only=True, timeout_s=3)\ndef foo(tool, **kwargs): ...\n",
        "",
        "module",
        ["foo"],
    ),
    "module whose function is a @tool": (f"{SDK}{SPEC}@tool\ndef foo(a: int):\n    'F.'\n", "", "module", ["foo"]),
    "function": (f"{SDK}@tool\ndef foo(a: int, b: str = 'x') -> str:\n    'F.'\n", "foo", "function", ["foo"]),
    "async function": (f"{SDK}@tool\nasync def foo(a: int) -> str:\n    'F.'\n", "foo", "function", ["foo"]),
    "streaming function": (f"{SDK}@tool\nasync def foo(a: int):\n    'F.'\n    yield a\n", "foo", "function", ["foo"]),
    "function with context": (
        f"{SDK}@tool(context=True)\ndef foo(a: int, tool_context: ToolContext):\n    'F.'\n",
        "foo",
        "function",
        ["foo"],
    ),
    "function with its own words": (
        f"{SDK}@tool(name='foo', description='Own.', inputSchema={{'json': {{'type': 'object'}}}})\ndef f(): ...\n",
        "f",
        "function",
        ["foo"],
    ),
    "lone function of a module": (f"{SDK}@tool\ndef foo(a: int):\n    'F.'\n", "", "function", ["foo"]),
    "class": (CLASS, "Db", "class", ["drop", "query"]),
    "instance": (CLASS + "db = Db()\n", "db", "class", ["drop", "query"]),
    "derived class": (
        CLASS + "class More(Db):\n    @tool\n    def last(self) -> str:\n        'L.'\n",
        "More",
        "class",
        ["drop", "query", "last"],
    ),
    "agent tool": (AGENT_TOOL, "Foo", "agent_tool", ["foo"]),
    "agent tool instance": (AGENT_TOOL + "foo = Foo()\n", "foo", "agent_tool", ["foo"]),
    "suite": (TWO, "", "suite", ["one", "two"]),
    "suite with __all__": (TWO + "__all__ = ['two']\n", "", "function", ["two"]),
    "suite that exports what it imports": (
        TWO + "three = tool(name='three')(lambda a: a)\n__all__ = ['one', 'three']\n",
        "",
        "suite",
        ["one", "three"],
    ),
    "suite of specs": (
        "TOOL_SPECS = [{'name': n, 'description': n, 'inputSchema': {}} for n in 'ab']\n"
        "def a(tool): ...\ndef b(tool): ...\n",
        "",
        "suite",
        ["a", "b"],
    ),
    "provider class": (TOOL_PROVIDER, "Many", "provider", ["one", "two"]),
    "provider": (TOOL_PROVIDER + "many = Many({})\n", "many", "provider", ["one", "two"]),
    "callable": (TWO + "def provide():\n    return one, two\n", "provide", "provider", ["one", "two"]),
    "async callable": (TWO + "async def provide():\n    return [two]\n", "provide", "provider", ["two"]),
    "callable that takes config": (TWO + "def provide(*, config):\n    return [one]\n", "provide", "provider", ["one"]),
    "callable that returns one": (TWO + "def provide():\n    return one\n", "provide", "provider", ["one"]),
    "callable that yields holders": (
        CLASS + "def provide():\n    yield Db()\n",
        "provide",
        "provider",
        ["drop", "query"],
    ),
    "attribute of an attribute": (
        f"{SDK}class holder:\n    @tool\n    def foo(a: int):\n        'F.'\n",
        "holder.foo",
        "function",
        ["foo"],
    ),
}
_NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def _forget_modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("described_"):
            del sys.modules[name]


def run(source: str) -> ModuleType:
    """Run a module's source under a name of its own whose last part is `foo`."""
    module = ModuleType(f"described_{next(_NUMBERS)}.foo")
    sys.modules[module.__name__] = module
    exec(compile(source, "foo.py", "exec"), vars(module))
    return module


def imported(module: ModuleType, attribute: str) -> tuple[str, list[SourceTool]]:
    kind, tools = asyncio.run(describe_reference(module, attribute or None))
    return kind, [SourceTool.from_spec(spec, kind) for spec in tools]


def read(source: str, attribute: str) -> SourceTool:
    return read_tool(
        "pkg.foo", attribute or None, lambda name: ("foo.py", source.encode()) if name == "pkg.foo" else None
    )


def manifest_fields(tool: SourceTool) -> dict[str, Any]:
    """Return what a manifest has of a tool."""
    fields = ("name", "description", "input_schema", "output_schema", "annotations", "strands_cli")
    return {word: getattr(tool, word) for word in fields}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_described_with_all_its_tools(form: str) -> None:
    source, attribute, kind, names = FORMS[form]
    found, tools = imported(run(source), attribute)
    assert (found, sorted(str(tool.name) for tool in tools)) == (kind, sorted(names))
    assert all(tool.description and isinstance(tool.input_schema, dict) for tool in tools)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_described_is_what_a_run_would_load(form: str) -> None:
    source, attribute, _, _ = FORMS[form]
    module = run(source)
    _, described = imported(module, attribute)

    async def load() -> list[Any]:
        closers: list[Any] = []
        tools = await read_reference(module, attribute or None, {}, closers)
        assert await close_all(closers) == []
        return tools

    loaded = {tool.name: manifest_fields(SourceTool.from_spec(tool.spec, "")) for tool in asyncio.run(load())}
    assert {tool.name: manifest_fields(tool) for tool in described} == loaded


@pytest.mark.parametrize("form", ["module with metadata", "derived class", "provider class"])
def test_the_process_that_imports_a_plugin_writes_what_the_reader_read(form: str, tmp_path: Path) -> None:
    source, attribute, kind, names = FORMS[form]
    (tmp_path / "foo.py").write_text(source)
    (found,) = import_in_child([str(tmp_path)], "foo", [attribute or None]).tools
    assert isinstance(found, SourceTool)
    single = kind in ("module", "function", "agent_tool")
    assert (found.kind, [tool.name for tool in ([found] if single else found.members or ())]) == (kind, names)
    _, described = imported(run(source), attribute)
    assert [manifest_fields(tool) for tool in ([found] if single else found.members or ())] == [
        manifest_fields(tool) for tool in described
    ]


@pytest.mark.parametrize("form", FORMS)
def test_what_source_tells_completely_is_what_an_import_tells(form: str) -> None:
    source, attribute, kind, _ = FORMS[form]
    seen = read(source, attribute)
    if seen.complete:
        require_same(source, attribute, seen)
    assert seen.kind in (kind, "unknown", "provider", "function")


def require_same(source: str, attribute: str, seen: SourceTool) -> None:
    kind, tools = imported(run(source), attribute)
    read_tools_ = list(seen.members or ()) if seen.kind in ("class", "suite", "provider") else [seen]
    assert seen.kind == kind
    assert (
        list(differences([manifest_fields(tool) for tool in read_tools_], [manifest_fields(tool) for tool in tools]))
        == []
    )


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=12)
JSON = st.recursive(
    st.booleans() | st.integers(-5, 5) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=5,
)
HINTS = st.dictionaries(st.sampled_from(["readOnlyHint", "destructiveHint", "title"]), st.booleans(), max_size=3)
SPECS = st.fixed_dictionaries(
    {"name": st.just("foo"), "description": TEXT, "inputSchema": st.just({"json": {"type": "object"}})},
    optional={
        "outputSchema": st.fixed_dictionaries({"json": st.dictionaries(TEXT, JSON, max_size=2)}),
        "annotations": HINTS,
        "strands_cli": st.dictionaries(st.sampled_from(["timeout_s", "capabilities"]), JSON, max_size=2),
    },
)
# Statements of which some change what the module says; a reader of source must see that or leave it unknown.
STATEMENTS = [
    "import os",
    "TOOL_SPEC['description'] = 'Other.'",
    "TOOL_SPEC.update(description='Other.')",
    "TOOL_SPEC |= {'description': 'Other.'}",
    "TOOL_SPEC = {**TOOL_SPEC, 'description': 'Other.'}",
    "alias = TOOL_SPEC; alias['description'] = 'Other.'",
    "def change():\n    TOOL_SPEC['description'] = 'Other.'\nchange()",
    "def change():\n    global TOOL_SPEC\n    TOOL_SPEC = {**TOOL_SPEC, 'description': 'Other.'}\nchange()",
    "if True:\n    TOOL_SPEC = {'name': 'foo', 'description': 'Other.', 'inputSchema': {}}",
    "class Other:\n    TOOL_SPEC['description'] = 'Other.'",
    "def foo(tool, **kwargs): ...",
    "foo = tool_metadata(read_only=True)(foo)",
    "def reads():\n    return TOOL_SPEC['name']",
    "LIMIT = 3\n@tool_metadata(timeout_s=LIMIT)\ndef foo(tool, **kwargs): ...",
]


@settings(deadline=None, max_examples=150)
@example(spec={"name": "foo", "description": "D", "inputSchema": {}}, more=[STATEMENTS[5]])
@example(spec={"name": "foo", "description": "D", "inputSchema": {}}, more=[STATEMENTS[11]])
@example(spec={"name": "foo", "description": "D", "inputSchema": {}}, more=[STATEMENTS[-1]])
@given(spec=SPECS, more=st.lists(st.sampled_from(STATEMENTS), max_size=2))
def test_a_spec_read_as_complete_is_the_spec_an_import_gives(spec: dict[str, Any], more: list[str]) -> None:
    head = "from strands_cli.metadata import tool_metadata\n"
    source = f"{head}TOOL_SPEC = {spec!r}\ndef foo(tool, **kwargs): ...\n" + "\n".join(more) + "\n"
    seen = read(source, "")
    if seen.complete:
        require_same(source, "", seen)
    elif not more:
        raise AssertionError("what is plainly literal must be read as such")


SUITE_STATEMENTS = [
    "__all__ = ['foo']",
    "__all__ = ['foo', 'bar']",
    "__all__ = ['foo']\n__all__ += ['bar']",
    "bar = tool(name='bar', description='B.', inputSchema={'json': {}})(lambda: None)",
    "if True:\n    @tool(inputSchema={'json': {}})\n    def bar():\n        'B.'",
    "@tool(inputSchema={'json': {}})\ndef bar():\n    'B.'",
    "@tool_metadata(**{'read_only': True})\n@tool(inputSchema={'json': {}})\ndef bar():\n    'B.'",
    "def helper(): ...",
    "LIMIT = 3",
    "from strands_cli.metadata import *",
    "del foo",
]


@settings(deadline=None, max_examples=100)
@example([SUITE_STATEMENTS[5], SUITE_STATEMENTS[5]])
@example([SUITE_STATEMENTS[0], "del foo"])
@given(st.lists(st.sampled_from(SUITE_STATEMENTS), max_size=3))
def test_a_suite_read_as_complete_is_the_suite_an_import_gives(more: list[str]) -> None:
    first = "@tool(inputSchema={'json': {}})\ndef foo():\n    'F.'\n"
    source = SDK + first + "\n".join(more) + "\n"
    seen = read(source, "")
    if seen.complete:
        require_same(source, "", seen)
    elif not more:
        raise AssertionError("what is plainly literal must be read as such")
