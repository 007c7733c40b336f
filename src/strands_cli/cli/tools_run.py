"""The command `tools run`: one tool call by hand, through the same gate as a run's calls."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.output import print_json, print_result
from strands_cli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


def register(tools_app: typer.Typer) -> None:
    """Add `run` to the tools commands."""
    tools_app.command(name="run")(run_tool)


def run_tool(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool: short name or reference.")],
    given: Annotated[str, typer.Option("--input", metavar="JSON", help="The input; `-` reads standard input.")] = "{}",
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
) -> int:
    """Call one installed tool. Typing this command is the approval: what would ask is allowed, what is denied stays so.

    Example: strands tools run calculator --input '{"expression": "6 * 7"}'
    """
    arguments = read_arguments(sys.stdin.read() if given == "-" else given)
    from strands_cli import app
    from strands_cli.cli.process import clean_stdout, run_to_end

    planned = app.plan_tool(name)
    with clean_stdout():
        result = run_to_end(lambda: app.run_tool(planned, arguments))
    if as_json:
        print_json(result_document(result))
    else:
        for block in result["content"]:
            if "text" in block:
                print_result(block["text"])
            elif "error" not in (block.get("json") or {}):
                print_json(block["json"] if "json" in block else sorted(block))
    return ExitCode.OK if result["status"] == "success" else ExitCode.RUN_FAILED


def read_arguments(text: str) -> Any:
    """Read the input of a call.

    Raises:
        UsageError: it is not a JSON object.
    """
    try:
        arguments = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--input is not JSON: {error}", fix='write --input \'{"name": "value"}\'') from error
    if not isinstance(arguments, dict):
        raise UsageError("--input is not a JSON object", fix='write --input \'{"name": "value"}\'')
    return arguments


def result_document(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole result `{"status", "content"}`, with `error` where there is one."""
    document: dict[str, Any] = {"status": result["status"], "content": result["content"]}
    for block in result["content"]:
        if isinstance(block.get("json"), dict) and "error" in block["json"]:
            document["error"] = block["json"]["error"]
    return document
