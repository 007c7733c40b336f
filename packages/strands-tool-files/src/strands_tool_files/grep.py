"""The tool `grep`: the lines of a file or tree that match a regular expression, with the lines around them."""

from __future__ import annotations

from typing import Any

from strands_tool_files._lookup import look_up
from strands_tool_kit import CallContext, answer, read_input

TOOL_SPEC = {
    "name": "grep",
    "description": (
        "Find the lines that match a regular expression (Python syntax) in a file, or in all text files beneath a "
        "directory, inside the workspace. context_lines shows the lines around each match. Hidden files beneath a "
        "directory, binary files and files that may hold credentials are left out."
    ),
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1000,
                    "description": "Regular expression that a line must match somewhere.",
                },
                "path": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 4096,
                    "description": "File or directory relative to the workspace, or '@mount/path'.",
                },
                "context_lines": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": 20,
                    "default": 0,
                    "description": "Lines to show before and after each match.",
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
            "required": ["pattern", "path"],
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
        "title": "Find a pattern in files",
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
        given = read_input(tool, TOOL_SPEC)
        return look_up(given, given["pattern"], context, is_regex=True, context_lines=given["context_lines"])

    return answer(tool, work)
