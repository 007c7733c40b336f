"""What the SDK's messages and stream events contain: order, text, tool uses and usage."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from strands_cli.events import Usage
from strands_cli.texts.canonical_json import json_object, strict_json

_NOT_OF_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


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
    """Return messages whose tool results are in the order of the tool uses they answer."""
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
    block = event.get("contentBlockDelta")
    return str(block.get("delta", {}).get("text") or "") if block else ""


def tool_uses_in(events: list[Any]) -> list[dict[str, str]]:
    """Return the tool uses (`toolUseId`, `name`) of a turn in request order."""
    starts = (event["contentBlockStart"] for event in events if "contentBlockStart" in event)
    return [tool_use for start in starts if (tool_use := start.get("start", {}).get("toolUse"))]


def _with_counts(event: Any) -> Any:
    """Return the stream event; in that of the metadata, what is not a count of tokens or milliseconds is zero."""
    metadata = event.get("metadata")
    if not isinstance(metadata, Mapping):
        return event
    usage, metrics = (json_object(metadata.get(name)) for name in ("usage", "metrics"))
    counts = {name: _count(value) for name, value in usage.items()}
    counts |= {name: counts.get(name, 0) for name in ("inputTokens", "outputTokens")}
    counts["totalTokens"] = counts.get("totalTokens") or counts["inputTokens"] + counts["outputTokens"]
    return {
        **event,
        "metadata": {
            **metadata,
            "usage": counts,
            "metrics": {**metrics, "latencyMs": _count(metrics.get("latencyMs"))},
        },
    }


def _count(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and 0 <= value < float("inf") else 0


def usage_in(events: list[Any]) -> Usage:
    """Return the tokens that a turn's metadata event reports; zero where it reports nothing."""
    reported: dict[str, Any] = {}
    for event in events:
        if "metadata" in event:
            reported = event["metadata"].get("usage") or reported
    return Usage(
        input_tokens=int(reported.get("inputTokens") or 0),
        output_tokens=int(reported.get("outputTokens") or 0),
        cache_read_tokens=int(reported.get("cacheReadInputTokens") or 0),
        cache_write_tokens=int(reported.get("cacheWriteInputTokens") or 0),
    )


def broken_inputs(events: list[Any]) -> dict[str, str]:
    """Return the arguments that are not JSON, by tool-use id; the SDK makes an empty object of them."""
    texts: dict[str, str] = {}
    current = ""
    for event in events:
        if "contentBlockStart" in event and (start := event["contentBlockStart"].get("start", {}).get("toolUse")):
            current = start["toolUseId"]
        if not current or "contentBlockDelta" not in event:
            continue
        if delta := event["contentBlockDelta"].get("delta", {}).get("toolUse"):
            texts[current] = texts.get(current, "") + str(delta.get("input", ""))
    return {tool_use_id: text for tool_use_id, text in texts.items() if text.strip() and not _is_json(text)}


def _is_json(text: str) -> bool:
    try:
        strict_json(text)
    except (ValueError, RecursionError):
        return False
    return True


def tool_name(tool_use: Mapping[str, Any]) -> str:
    """Return the name of a tool use as the SDK takes it: 1 to 64 letters, digits, `_` and `-`."""
    return _NOT_OF_NAMES.sub("_", str(tool_use.get("name") or "unnamed"))[:64]


class ToolUseIds:
    """Gives each tool use of a conversation an id of its own, and a name that can be a tool's.

    Some servers send no id, or the same in every turn. The SDK answers a call by itself whose name cannot be a tool's;
    with a name in which `_` replaces the other characters it becomes a call like every other, of an unknown tool.
    """

    def __init__(self, messages: Sequence[Any]) -> None:
        blocks = [block for message in messages for block in message["content"]]
        self._taken = {block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block}

    def repaired(self, event: Any) -> Any:
        """Return the stream event as it is stored.

        A tool-use id is replaced if it is empty or taken, a name if it cannot be one, and what does not count by zero.
        """
        block = event.get("contentBlockStart")
        if not block or not (tool_use := block.get("start", {}).get("toolUse")):
            return _with_counts(event)
        wanted = str(tool_use.get("toolUseId") or "call")
        unique = wanted if tool_use.get("toolUseId") and wanted not in self._taken else self._next(wanted)
        self._taken.add(unique)
        changed = {**tool_use, "name": tool_name(tool_use), "toolUseId": unique}
        start = {**event["contentBlockStart"]["start"], "toolUse": changed}
        return {**event, "contentBlockStart": {**event["contentBlockStart"], "start": start}}

    def _next(self, tool_use_id: str) -> str:
        number = 1
        while f"{tool_use_id}-{number}" in self._taken:
            number += 1
        return f"{tool_use_id}-{number}"
