"""The tool `file_read`: read a text file of the workspace, whole or a window of its lines."""

from __future__ import annotations

import os
from typing import Any

from strands_tool_files._open import open_regular
from strands_tool_files._text import Window, detect_encoding, read_window
from strands_tool_files._workspace import Found, Workspace
from strands_tool_kit import CallContext, answer, read_input

TOOL_SPEC = {
    "name": "file_read",
    "description": (
        "Read a text file inside the workspace. Give a path relative to the workspace, or '@mount/path'. Long files "
        "are cut at a line end: continue with start_line. Files that may hold credentials are refused."
    ),
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 4096,
                    "description": "Path relative to the workspace, for example 'data/prices.csv'.",
                },
                "encoding": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 40,
                    "description": "Text encoding. By default the byte-order mark decides, else UTF-8.",
                },
                "start_line": {
                    "type": "integer",
                    "minimum": 1,
                    "default": 1,
                    "description": "First line to read, counted from 1.",
                },
                "line_count": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Number of lines to read. By default all that fit into the size limit.",
                },
            },
            "required": ["path"],
            "additionalProperties": False,
        }
    },
    "outputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "size": {"type": "integer", "description": "Bytes of the whole file."},
                "encoding": {"type": "string", "description": "The encoding it was read with."},
                "start_line": {"type": "integer", "description": "First line in the text."},
                "end_line": {
                    "type": "integer",
                    "description": "Last line in the text; start_line - 1 if none.",
                },
                "has_more": {"type": "boolean", "description": "Whether the file goes on after the text."},
                "truncated": {"type": "boolean", "description": "Whether the size limit ended the text."},
                "notices": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["path", "size", "encoding", "start_line", "end_line", "has_more", "truncated", "notices"],
        }
    },
    "annotations": {
        "title": "Read a file",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
    "strands_cli": {
        "requires_confirmation": False,
        "capabilities": {
            "network": [],
            "filesystem": [{"path": ".", "mode": "read"}],
            "subprocess": False,
            "env": [],
            "secrets": [],
        },
        "resources": {"reads": ["file:{path}"], "writes": []},
        "timeout_s": 30,
        "max_output_bytes": 1114112,
    },
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
    context = CallContext.of(kwargs)

    def work() -> tuple[str, dict[str, Any]]:
        given = read_input(tool, TOOL_SPEC)
        with Workspace.of(context.workspace).at(given["path"]) as found:
            return _read(found, given, context)

    return answer(tool, work)


def _read(found: Found, given: dict[str, Any], context: CallContext) -> tuple[str, dict[str, Any]]:
    cap = min(context.config.get("max_read_bytes", _DEFAULT_CAP), _GREATEST_CAP)
    with os.fdopen(open_regular(found), "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        encoding = detect_encoding(stream, given["encoding"])
        window = read_window(stream, encoding, given["start_line"], given["line_count"], cap, context.require_time)
    return window.text, {
        "path": found.shown,
        "size": size,
        "encoding": encoding,
        "start_line": window.start_line,
        "end_line": window.end_line,
        "has_more": window.has_more,
        "truncated": window.is_cut,
        "notices": _notices(window, encoding, size, cap),
    }


def _notices(window: Window, encoding: str, size: int, cap: int) -> list[str]:
    """Say what a reader of the text must know about it."""
    notices = []
    if not size:
        notices.append("the file is empty")
    elif not window.text:
        notices.append(f"the file has fewer than {window.start_line} lines")
    if window.is_cut_in_line:
        notices.append(f"line {window.end_line} is longer than {cap} bytes; only its beginning is here")
    elif window.is_cut:
        notices.append(f"the text is limited to {cap} bytes; continue with start_line {window.end_line + 1}")
    if window.replaced:
        notices.append(f"{window.replaced} place(s) did not fit {encoding} and are shown as U+FFFD")
    return notices
