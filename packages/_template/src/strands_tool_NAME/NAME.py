"""The tool `NAME`: say in one sentence what it does."""

from __future__ import annotations

from typing import Any

from strands_tool_NAME._contract import Refusal, answer, read_input

# Literal, so that it can be read without importing this module.
TOOL_SPEC = {
    "name": "NAME",
    "description": "Tell the model what the tool does, when to use it, and what it answers.",
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "text": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1000,
                    "description": "Tell the model what belongs here, with an example.",
                },
            },
            "required": ["text"],
            "additionalProperties": False,
        }
    },
    "outputSchema": {
        "json": {
            "type": "object",
            "properties": {"words": {"type": "integer", "description": "Number of words."}},
            "required": ["words"],
        }
    },
    # What is left out is unknown, and unknown is never treated as safe.
    "annotations": {
        "title": "NAME",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
    "strands_cli": {
        "requires_confirmation": False,
        "capabilities": {"network": [], "filesystem": [], "subprocess": False, "env": [], "secrets": []},
        "resources": {"reads": [], "writes": []},
        "timeout_s": 10,
        "max_output_bytes": 16384,
    },
}


def NAME(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Serve one call.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `_contract.Context.of(kwargs)` reads the host's part of it.

    Returns:
        A Strands tool result: text for the model and a JSON block that fits the output schema, or a refusal.
    """

    def work() -> tuple[str, dict[str, Any]]:
        given = read_input(tool, TOOL_SPEC)
        words = len(given["text"].split())
        if not words:
            raise Refusal("invalid_input", "the text has no words", reason="empty")
        return f"{words} words", {"words": words}

    return answer(tool, work)
