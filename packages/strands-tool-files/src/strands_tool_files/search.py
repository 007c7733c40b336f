"""The tool `search`: the lines of a file or tree that hold a text."""

from __future__ import annotations

from typing import Any

from strands_tool_files._lookup import look_up
from strands_tool_kit import CallContext, answer, read_input

TOOL_SPEC = {
    "name": "search",
    "description": (
        "Find the lines that hold a text in a file, or in all text files beneath a directory, inside the workspace. "
        "The text is taken literally unless is_regex is true. Hidden files beneath a directory, binary files and files "
        "that may hold credentials are left out."
    ),
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1000,
                    "description": "Text that a line must hold.",
                },
                "path": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 4096,
                    "default": ".",
                    "description": "File or directory relative to the workspace, or '@mount/path'.",
                },
                "is_regex": {
                    "type": "boolean",
                    "default": False,
                    "description": "Take the query for a regular expression (Python syntax).",
                },
                "ignore_case": {
                    "type": "boolean",
                    "default": False,
                    "description": "Take upper and lower case for the same.",
                },
                "max_matches": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 1000,
                    "default": 100,
                    "description": "Stop after so many matching lines.",
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        }
    },
    "outputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "matches": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "path": {"type": "string", "description": "File, as file_read takes it."},
                            "line": {"type": "integer", "description": "Number of the line, from 1."},
                            "text": {"type": "string", "description": "The line; of a long one a part."},
                        },
                        "required": ["path", "line", "text"],
                    },
                },
                "files_searched": {"type": "integer"},
                "truncated": {"type": "boolean", "description": "Whether a limit ended the search."},
                "notices": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["path", "matches", "files_searched", "truncated", "notices"],
            "additionalProperties": False,
        }
    },
    "annotations": {
        "title": "Find text in files",
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
            "subprocess": True,
            "env": [],
            "secrets": [],
        },
        "resources": {"reads": ["file:{path}"], "writes": []},
        "timeout_s": 30,
        "max_output_bytes": 524288,
    },
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
        given = read_input(tool, TOOL_SPEC)
        return look_up(given, given["query"], context, is_regex=given["is_regex"])

    return answer(tool, work)
