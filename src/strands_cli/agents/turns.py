"""The SDK's messages and stream events, read: order, text, tool uses, usage, and their form in the journal."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from strands_cli.events import Usage


def request_text(messages: Sequence[Any]) -> str:
    """Return the end of a request as recordings write it: its text, and `tool: status` for each tool result."""
    if not messages:
        return ""
    names = {
        block["toolUse"]["toolUseId"]: block["toolUse"]["name"]
        for earlier in messages
        for block in earlier["content"]
        if "toolUse" in block
    }
    lines: list[str] = []
    for block in messages[-1]["content"]:
        if "text" in block:
            lines.append(block["text"])
        elif "toolResult" in block:
            result = block["toolResult"]
            lines.append(f"{names.get(result['toolUseId'], result['toolUseId'])}: {result['status']}")
    return "\n".join(lines)


def in_request_order(messages: Any) -> list[Any]:
    """Return messages whose tool results stand in the order of the tool uses they answer."""
    ordered: list[Any] = []
    order: dict[str, int] = {}
    for message in messages:
        content = message["content"]
        if any("toolResult" in block for block in content):
            content = sorted(content, key=lambda block: _position(block, order))
        order = {block["toolUse"]["toolUseId"]: n for n, block in enumerate(content) if "toolUse" in block}
        ordered.append({**message, "content": content})
    return ordered


def _position(block: Mapping[str, Any], order: Mapping[str, int]) -> int:
    result = block.get("toolResult")
    return order.get(result["toolUseId"], len(order)) if result else len(order)


def text_in(event: Mapping[str, Any]) -> str:
    """Return the piece of text in a stream event, or nothing."""
    delta = event.get("contentBlockDelta", {}).get("delta", {})
    return str(delta.get("text") or "")


def tool_uses_in(events: list[Any]) -> list[dict[str, str]]:
    """Return the tool uses (`toolUseId`, `name`) of a turn in request order."""
    starts = (event.get("contentBlockStart", {}).get("start", {}).get("toolUse") for event in events)
    return [tool_use for tool_use in starts if tool_use]


def usage_in(events: list[Any]) -> Usage:
    """Return the tokens that a turn's metadata event reports; zero where it reports nothing."""
    reported: dict[str, Any] = {}
    for event in events:
        reported = event.get("metadata", {}).get("usage") or reported
    return Usage(
        input_tokens=int(reported.get("inputTokens") or 0),
        output_tokens=int(reported.get("outputTokens") or 0),
        cache_read_tokens=int(reported.get("cacheReadInputTokens") or 0),
        cache_write_tokens=int(reported.get("cacheWriteInputTokens") or 0),
    )


def encode(value: Any) -> Any:
    """Return a stream event as JSON of its own; bytes (redacted reasoning) become `{"$bytes": base64}`."""
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    return value


def decode(value: Any) -> Any:
    """Return a stream event as the model gave it."""
    if isinstance(value, dict):
        if set(value) == {"$bytes"}:
            return base64.b64decode(value["$bytes"])
        return {key: decode(item) for key, item in value.items()}
    if isinstance(value, list):
        return [decode(item) for item in value]
    return value
