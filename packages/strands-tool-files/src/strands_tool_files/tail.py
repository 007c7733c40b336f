"""The tool `tail`: the last lines of a text file of the workspace."""

from __future__ import annotations

from typing import IO, Any

from strands_tool_files._reading import Part, answer_from_file, lines_of, notices_of
from strands_tool_files._spec import end_inputs, end_outputs, reads_files
from strands_tool_files._tail import read_tail
from strands_tool_kit import CallContext
from strands_tool_kit.spec import hints

TOOL_SPEC: dict[str, Any] = {
    "name": "tail",
    "description": (
        "Read the last lines of a text file inside the workspace, at most bytes_limit bytes, however long the file is. "
        "Use it for logs. Files that may hold credentials are refused."
    ),
    "inputSchema": end_inputs(
        "Number of lines from the end.", "Longest text, in bytes of UTF-8; lines furthest from the end give way."
    ),
    "outputSchema": end_outputs("Whether the file has text before these lines."),
    "annotations": hints("Read the last lines", reads_only=True),
    "strands_cli": reads_files(1114112),
}


def tail(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Read the last lines of the file of one call.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `strands_cli` may carry `workspace` (a path, or root, mounts and protected
            paths; the current directory by default).

    Returns:
        A Strands tool result: the text exactly as it is in the file, and a JSON block that describes it.
    """
    return answer_from_file(tool, kwargs, TOOL_SPEC, _read)


def _read(
    stream: IO[bytes], encoding: str, values: dict[str, Any], context: CallContext
) -> tuple[Part, dict[str, Any], list[str]]:
    limit = values["bytes_limit"]
    end = read_tail(stream, encoding, values["lines"], limit)
    in_line = f"the last line is longer than {limit} bytes; only its end is here"
    between = f"the text is limited to {limit} bytes; lines before it are left out"
    return end, lines_of(end), notices_of(end, in_line, between)
