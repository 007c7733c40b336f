"""The tool `grep`: the lines of a file or tree that match a regular expression, with the lines around them."""

from __future__ import annotations

from typing import Any

from strands_tool_files._lookup import search_files
from strands_tool_files._spec import IGNORE_CASE, MATCHES, MAX_MATCHES, path, reads_files
from strands_tool_kit import CallContext, answer, read_input
from strands_tool_kit.spec import hints, inputs, integer, string

TOOL_SPEC: dict[str, Any] = {
    "name": "grep",
    "description": (
        "Find the lines that match a regular expression (Python syntax) in a file, or in all text files beneath a "
        "directory, inside the workspace. context_lines shows the lines around each match. Hidden files beneath a "
        "directory, binary files and files that may hold credentials are left out."
    ),
    "inputSchema": inputs(
        {
            "pattern": string("Regular expression that a line must match somewhere.", length=(1, 1000)),
            "path": path("File or directory relative to the workspace, or '@mount/path'."),
            "context_lines": integer("Lines to show before and after each match.", between=(0, 20), default=0),
            "ignore_case": IGNORE_CASE,
            "max_matches": MAX_MATCHES,
        },
        required=["pattern", "path"],
    ),
    "outputSchema": MATCHES,
    "annotations": hints("Find a pattern in files", reads_only=True),
    "strands_cli": reads_files(524288, subprocess=True),
}


def grep(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
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
        return search_files(values, values["pattern"], context, is_regex=True, context_lines=values["context_lines"])

    return answer(tool, work)
