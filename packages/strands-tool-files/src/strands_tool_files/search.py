"""The tool `search`: the lines of a file or tree that hold a text."""

from __future__ import annotations

from typing import Any

from strands_tool_files._lookup import search_files
from strands_tool_files._spec import IGNORE_CASE, MATCHES, MAX_MATCHES, path, reads_files
from strands_tool_kit import CallContext, answer, read_input
from strands_tool_kit.spec import boolean, hints, inputs, string

TOOL_SPEC: dict[str, Any] = {
    "name": "search",
    "description": (
        "Find the lines that hold a text in a file, or in all text files beneath a directory, inside the workspace. "
        "The text is taken literally unless is_regex is true. Hidden files beneath a directory, binary files and files "
        "that may hold credentials are left out."
    ),
    "inputSchema": inputs(
        {
            "query": string("Text that a line must hold.", length=(1, 1000)),
            "path": path("File or directory relative to the workspace, or '@mount/path'.", default="."),
            "is_regex": boolean("Take the query for a regular expression (Python syntax).", default=False),
            "ignore_case": IGNORE_CASE,
            "max_matches": MAX_MATCHES,
        },
        required=["query"],
    ),
    "outputSchema": MATCHES,
    "annotations": hints("Find text in files", reads_only=True),
    "strands_cli": reads_files(524288, subprocess=True),
}


def search(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Search the file or tree of one call.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `strands_cli` may carry `workspace` (a path, or root, mounts and protected
            paths; the current directory by default).

    Returns:
        A Strands tool result: the lines as grep writes them, and a JSON block with the matches.
    """
    context = CallContext.of(kwargs)

    def work() -> tuple[str, dict[str, Any]]:
        values = read_input(tool, TOOL_SPEC)
        return search_files(values, values["query"], context, is_regex=values["is_regex"])

    return answer(tool, work)
