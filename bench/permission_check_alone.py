"""Measures what the permission check adds to one call: validation of input and output, decision, limits, result.

Usage: python -m bench.permission_check_alone --pairs N

The reference of the milliseconds is the same tool with nothing around it but a row in the same journal, so what is left
is the check's own; that of the ratio is a bare jsonschema validation of the same input and output.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from jsonschema import Draft202012Validator

from strands_cli.engine.standalone import StandaloneRun
from strands_cli.planning.planned_tool import PythonTool
from strands_cli.planning.resolve.single_tool import python_tool
from strands_cli.policy.decision import Decision
from strands_cli.secrets.redactor import Redactor
from strands_cli.toolref import ToolRef
from strands_cli.tools.calls.calling_contract import Contract
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.invocation import invoke_function
from strands_cli.tools.manifest_check import LoadedTool, check_against_manifest
from strands_cli.tools.tool_forms import RawTool

CALLS = 500
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "Where."},
        "lines": {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 10},
        "mode": {"enum": ["text", "bytes"], "default": "text"},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 16},
    },
    "required": ["path"],
    "additionalProperties": False,
}
ANSWER = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "lines": {"type": "integer"}, "truncated": {"type": "boolean"}},
    "required": ["text", "lines"],
}
SPEC: dict[str, Any] = {
    "name": "read",
    "description": "Read the beginning of something.",
    "inputSchema": {"json": SCHEMA},
    "outputSchema": {"json": ANSWER},
    "annotations": {"readOnlyHint": True},
    "strands_cli": {"timeout_s": 10},
}
TOOL_USE = {"toolUseId": "t1", "name": "read", "input": {"path": "docs/README.md", "tags": ["a", "b"]}}


async def read(tool: Any, **_: Any) -> dict[str, Any]:
    """Answer at once; async, so that no thread is started on either side."""
    answer = {"text": "The first line.\n", "lines": tool["input"].get("lines", 10), "truncated": False}
    return {"toolUseId": tool["toolUseId"], "status": "success", "content": [{"json": answer}]}


def loaded() -> LoadedTool:
    """Return the tool as a plan has it."""
    record = python_tool(ToolRef.parse("bench:read"), "bench:read").record
    allowed = Decision("allow", "the tool is read-only")
    planned = PythonTool(name="read", ref="native:read", record=record, decision=allowed)
    (tool,) = check_against_manifest(planned, [RawTool("read", SPEC, invoke_function(read))])
    return tool


async def each(call: Callable[[], Awaitable[Any]]) -> float:
    """Return the CPU milliseconds of one call, all threads."""
    before = time.process_time()
    for _ in range(CALLS):
        result = await call()
        if result["status"] != "success":
            raise RuntimeError(str(result))
    return (time.process_time() - before) * 1000 / CALLS


def validation_ms() -> float:
    """Return the CPU milliseconds in which bare jsonschema validates the input and the output of a call."""
    given, answered = (Draft202012Validator(schema) for schema in (SCHEMA, ANSWER))
    output = {"text": "The first line.\n", "lines": 10, "truncated": False}
    before = time.process_time()
    for _ in range(CALLS):
        given.validate(TOOL_USE["input"])
        answered.validate(output)
    return (time.process_time() - before) * 1000 / CALLS


async def measure(pairs: int) -> tuple[float, float]:
    """Return the CPU milliseconds that the check adds to a call, and those of a bare validation."""
    tool, check = (
        loaded(),
        PermissionCheck([], Contract({"root": "/tmp"}, {}), Redactor(["not-a-secret-of-anybody"])),
    )

    async def checked() -> Any:
        return await check.call(tool, TOOL_USE, StandaloneRun().scope(), {})

    async def bare() -> Any:
        given = {"tool": "read", "input": TOOL_USE["input"]}
        effect = StandaloneRun().scope().tool_effect("t1", "read", given, repeatable=True)
        await effect.start()
        result = await tool.raw.invoke(TOOL_USE, {}, lambda _: None)
        await effect.finish({"status": result["status"], "content": result["content"]}, detail={"decision": "allow"})
        return result

    await each(checked), await each(bare)
    costs = [(await each(checked), await each(bare), validation_ms()) for _ in range(pairs)]
    # The least of each: what other programs on the machine do can only add.
    checked_cost, bare_cost, validation = (min(column) for column in zip(*costs, strict=True))
    return checked_cost - bare_cost, validation


def main() -> None:
    """Print the difference as JSON with the fields of `Figure`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=7)
    added, validation = asyncio.run(measure(parser.parse_args().pairs))
    print(json.dumps({"ms": added, "ratio": added / validation}))


if __name__ == "__main__":
    main()
