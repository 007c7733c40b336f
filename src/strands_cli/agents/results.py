"""Tool results: structured errors, a well-formed shape from whatever a tool returned, and the cap on their size."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Result = dict[str, Any]

# The vocabulary of `error.code`; docs/reference/tool-errors.md says when each occurs.
ERROR_CODES = (
    "invalid_input",
    "denied",
    "timeout",
    "unavailable",
    "invalid_output",
    "tool_failed",
    "sandbox_violation",
)
_MEDIA = ("image", "document", "video")


def error_result(
    tool_use_id: str, code: str, message: str, *, retryable: bool = False, details: Mapping[str, Any] | None = None
) -> Result:
    """Return a failed result: a sentence for the model, and the same as JSON for whoever decides by code."""
    error = {"code": code, "message": message, "retryable": retryable, "details": dict(details or {})}
    return {
        "toolUseId": tool_use_id,
        "status": "error",
        "content": [{"text": f"{code}: {message}"}, {"json": {"error": error}}],
    }


def well_formed(answer: Any, tool_use_id: str) -> Result:
    """Return what a tool answered as a result; a shape that is none becomes an `invalid_output` error."""
    problem = _shape_problem(answer)
    if problem is not None:
        return error_result(tool_use_id, "invalid_output", problem)
    content = [dict(block) for block in answer["content"]]
    if answer["status"] == "error" and not any("error" in _json_of(block) for block in content):
        text = "\n".join(str(block["text"]) for block in content if "text" in block) or "the tool reported an error"
        error = {"code": "tool_failed", "message": text, "retryable": False, "details": {}}
        content.append({"json": {"error": error}})
    return {"toolUseId": tool_use_id, "status": answer["status"], "content": content}


def _json_of(block: Mapping[str, Any]) -> Mapping[str, Any]:
    value = block.get("json")
    return value if isinstance(value, Mapping) else {}


def _shape_problem(answer: Any) -> str | None:
    if not isinstance(answer, Mapping):
        return f"the tool returned {type(answer).__name__}, not a result with status and content"
    if answer.get("status") not in ("success", "error"):
        return f"the tool returned the status {answer.get('status')!r}, not 'success' or 'error'"
    content = answer.get("content")
    if not isinstance(content, (list, tuple)):
        return "the tool returned no list of content"
    return next((problem for block in content if (problem := _block_problem(block)) is not None), None)


def _block_problem(block: Any) -> str | None:
    if not isinstance(block, Mapping) or not any(kind in block for kind in ("text", "json", *_MEDIA)):
        return "a content block is none of text, json, image, document"
    if "text" in block and not isinstance(block["text"], str):
        return f"a text block holds {type(block['text']).__name__}"
    if "json" in block:
        try:
            json.dumps(block["json"], allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            return f"a json block is not JSON: {error}"
    return None


def capped(result: Result, max_bytes: int) -> Result:
    """Return the result with text and JSON within `max_bytes` together; what was cut is said in the result."""
    total = sum(_size(block) for block in result["content"])
    if total <= max_bytes:
        return result
    kept: list[dict[str, Any]] = []
    left = max_bytes
    for block in result["content"]:
        if "error" in _json_of(block) or any(kind in block for kind in _MEDIA):
            kept.append(block)
        elif left > 0:
            text = block["text"] if "text" in block else json.dumps(block["json"], ensure_ascii=False)
            cut = text.encode("utf-8", "replace")[:left].decode("utf-8", "ignore")
            kept.append({"text": cut} if "text" in block or cut != text else block)
            left -= len(text.encode("utf-8", "replace"))
    notice = f"[output cut: {max_bytes} of {total} bytes shown]"
    return {**result, "content": [*kept, {"text": notice}, {"json": {"truncated": True, "bytes": total}}]}


def _size(block: Mapping[str, Any]) -> int:
    if "text" in block:
        return len(block["text"].encode("utf-8", "replace"))
    return len(json.dumps(block["json"], ensure_ascii=False)) if "json" in block else 0
