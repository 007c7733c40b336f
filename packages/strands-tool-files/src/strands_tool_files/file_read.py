"""The tool `file_read`: read a text file of the workspace, whole or a window of its lines."""

from __future__ import annotations

import os
from typing import IO, Any

from strands_tool_files._reading import Part, answer_from_file
from strands_tool_files._spec import NOTICES, path, reads_files
from strands_tool_files._text import Window, read_window
from strands_tool_kit import CallContext
from strands_tool_kit.spec import boolean, hints, inputs, integer, outputs, string

TOOL_SPEC: dict[str, Any] = {
    "name": "file_read",
    "description": (
        "Read a text file inside the workspace. Give a path relative to the workspace, or '@mount/path'. Long files "
        "are cut at a line end: continue with start_line. Files that may hold credentials are refused."
    ),
    "inputSchema": inputs(
        {
            "path": path("Path relative to the workspace, for example 'data/prices.csv'."),
            "encoding": string("Text encoding. By default the byte-order mark decides, else UTF-8.", length=(1, 40)),
            "start_line": integer("First line to read, counted from 1.", between=(1, None), default=1),
            "line_count": integer(
                "Number of lines to read. By default all that fit into the size limit.", between=(1, None)
            ),
        },
        required=["path"],
    ),
    "outputSchema": outputs(
        {
            "path": string(),
            "size": integer("Bytes of the whole file."),
            "encoding": string("The encoding it was read with."),
            "start_line": integer("First line in the text."),
            "end_line": integer("Last line in the text; start_line - 1 if none."),
            "has_more": boolean("Whether the file goes on after the text."),
            "truncated": boolean("Whether the size limit ended the text."),
            "notices": NOTICES,
        }
    ),
    "annotations": hints("Read a file", reads_only=True),
    "strands_cli": reads_files(1114112),
}

_DEFAULT_CAP = 262_144
_GREATEST_CAP = 1_048_576


def file_read(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Read the file of one call.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `strands_cli` may carry `workspace` (a path, or root, mounts and protected
            paths; the current directory by default) and `config["max_read_bytes"]`.

    Returns:
        A Strands tool result: the text exactly as it is in the file, and a JSON block that describes it.
    """
    return answer_from_file(tool, kwargs, TOOL_SPEC, _read)


def _read(
    stream: IO[bytes], encoding: str, values: dict[str, Any], context: CallContext
) -> tuple[Part, dict[str, Any], list[str]]:
    cap = min(context.config.get("max_read_bytes", _DEFAULT_CAP), _GREATEST_CAP)
    window = read_window(stream, encoding, values["start_line"], values["line_count"], cap, context.require_time)
    described = {"start_line": window.start_line, "end_line": window.end_line}
    return window, described, _notices(window, os.fstat(stream.fileno()).st_size, cap)


def _notices(window: Window, size: int, cap: int) -> list[str]:
    """Return the notices for a reader of the text."""
    notices = []
    if not size:
        notices.append("the file is empty")
    elif not window.text:
        notices.append(f"the file has fewer than {window.start_line} lines")
    if window.is_cut_in_line:
        notices.append(f"line {window.end_line} is longer than {cap} bytes; only its beginning is here")
    elif window.is_cut:
        notices.append(f"the text is limited to {cap} bytes; continue with start_line {window.end_line + 1}")
    return notices
