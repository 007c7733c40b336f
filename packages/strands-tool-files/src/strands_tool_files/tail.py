"""The tool `tail`: the last lines of a text file of the workspace."""

from __future__ import annotations

import os
from typing import Any

from strands_tool_files._open import open_regular
from strands_tool_files._tail import Tail, read_tail
from strands_tool_files._text import detect_encoding
from strands_tool_files._workspace import Found, Workspace
from strands_tool_kit import CallContext, answer, read_input

TOOL_SPEC = {
    "name": "tail",
    "description": (
        "Read the last lines of a text file inside the workspace, at most bytes_limit bytes, however long the file is. "
        "Use it for logs. Files that may hold credentials are refused."
    ),
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 4096,
                    "description": "Path relative to the workspace, or '@mount/path'.",
                },
                "lines": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 10000,
                    "default": 10,
                    "description": "Number of lines from the end.",
                },
                "bytes_limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 1048576,
                    "default": 65536,
                    "description": "Longest text, in bytes of UTF-8; lines furthest from the end give way.",
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
                "lines": {"type": "integer", "description": "Number of lines in the text."},
                "has_more": {"type": "boolean", "description": "Whether the file has text before these lines."},
                "truncated": {"type": "boolean", "description": "Whether bytes_limit ended the text."},
                "notices": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["path", "size", "encoding", "lines", "has_more", "truncated", "notices"],
            "additionalProperties": False,
        }
    },
    "annotations": {
        "title": "Read the last lines",
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


def tail(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Read the last lines of the file of one call.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `strands_cli` may carry `workspace` (a path, or root, mounts and protected
            paths; the current directory by default).

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
    limit = given["bytes_limit"]
    context.require_time()
    with os.fdopen(open_regular(found), "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        encoding = detect_encoding(stream, None)
        end = read_tail(stream, encoding, given["lines"], limit)
    return end.text, {
        "path": found.shown,
        "size": size,
        "encoding": encoding,
        "lines": end.text.count("\n") + (bool(end.text) and not end.text.endswith("\n")),
        "has_more": end.has_more,
        "truncated": end.is_cut,
        "notices": _notices(end, encoding, limit),
    }


def _notices(end: Tail, encoding: str, limit: int) -> list[str]:
    """Say what a reader of the text must know about it."""
    notices = [] if end.text or end.has_more else ["the file is empty"]
    if end.is_cut_in_line:
        notices.append(f"the last line is longer than {limit} bytes; only its end is here")
    elif end.is_cut:
        notices.append(f"the text is limited to {limit} bytes; lines before it are left out")
    if end.replaced:
        notices.append(f"{end.replaced} place(s) did not fit {encoding} and are shown as U+FFFD")
    return notices
