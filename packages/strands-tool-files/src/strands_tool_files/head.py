"""The tool `head`: the first lines of a text file of the workspace."""

from __future__ import annotations

from typing import IO, Any

from strands_tool_files._reading import Part, answer_from_file, lines_of, notices_of
from strands_tool_files._spec import end_inputs, end_outputs, reads_files
from strands_tool_files._text import read_window
from strands_tool_kit import CallContext
from strands_tool_kit.spec import hints

TOOL_SPEC: dict[str, Any] = {
    "name": "head",
    "description": (
        "Read the first lines of a text file inside the workspace, at most bytes_limit bytes. Use it to see what a "
        "file is; use file_read for a window further on. Files that may hold credentials are refused."
    ),
    "inputSchema": end_inputs(
        "Number of lines from the beginning.", "Longest text, in bytes of UTF-8; lines furthest on give way."
    ),
    "outputSchema": end_outputs("Whether the file has text after these lines."),
    "annotations": hints("Read the first lines", reads_only=True),
    "strands_cli": reads_files(1114112),
}


def head(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Read the first lines of the file of one call.

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
    window = read_window(stream, encoding, 1, values["lines"], limit, context.require_time)
    in_line = f"line 1 is longer than {limit} bytes; only its beginning is here"
    between = f"the text is limited to {limit} bytes; file_read goes on from line {window.end_line + 1}"
    return window, lines_of(window), notices_of(window, in_line, between)
