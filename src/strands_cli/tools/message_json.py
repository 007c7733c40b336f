"""The SDK's messages and stream events, read: order, text, tool uses, usage, and their form in the journal."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from strands_cli.events import Usage
from strands_cli.secrets import Redactor


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


def without_secrets(events: Sequence[Any], redactor: Redactor) -> list[Any]:
    """Return a turn's stream events without secrets, also one that the model sends in several pieces.

    A block whose pieces together hold a secret has all of its text in the first of them.
    """
    cleaned = [copy.deepcopy(event) if _holds_input(event) else redactor.json(event) for event in events]
    pieces: dict[tuple[int, str], list[tuple[dict[str, Any], str]]] = {}
    block = 0
    for event in cleaned:
        block += "contentBlockStop" in event
        delta = event.get("contentBlockDelta", {}).get("delta", {})
        for kind, place, name in (
            ("text", delta, "text"),
            ("input", delta.get("toolUse"), "input"),
            ("reasoning", delta.get("reasoningContent"), "text"),
        ):
            if isinstance(place, dict) and isinstance(place.get(name), str):
                pieces.setdefault((block, kind), []).append((place, name))
    for (_, kind), places in pieces.items():
        whole = "".join(place[name] for place, name in places)
        without = _input_without(whole, redactor) if kind == "input" else redactor.text(whole)
        if without != whole:
            for index, (place, name) in enumerate(places):
                place[name] = "" if index else without
    return cleaned


def _holds_input(event: Mapping[str, Any]) -> bool:
    """Return whether an event is a piece of a tool use's arguments, which can be judged only as a whole."""
    tool_use = event.get("contentBlockDelta", {}).get("delta", {}).get("toolUse")
    return isinstance(tool_use, Mapping) and tool_use.keys() == {"input"} and isinstance(tool_use["input"], str)


def _input_without(text: str, redactor: Redactor) -> str:
    """Return the arguments of a tool use without secrets; where they were JSON they are JSON."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return redactor.text(text)
    cleaned = redactor.json(given)
    without = text if cleaned == given else json.dumps(cleaned, ensure_ascii=False)
    # A value may stand across the signs of JSON too; what only looks personal there is none.
    return redactor.without_personal_data.text(without)


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


def broken_inputs(events: list[Any]) -> dict[str, str]:
    """Return the arguments that are not JSON, by tool-use id; the SDK makes an empty object of them."""
    texts: dict[str, str] = {}
    current = ""
    for event in events:
        start = event.get("contentBlockStart", {}).get("start", {}).get("toolUse")
        if start:
            current = start["toolUseId"]
        delta = event.get("contentBlockDelta", {}).get("delta", {}).get("toolUse")
        if delta and current:
            texts[current] = texts.get(current, "") + str(delta.get("input", ""))
    return {tool_use_id: text for tool_use_id, text in texts.items() if text.strip() and not _is_json(text)}


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


class ToolUseIds:
    """Gives each tool use of a conversation an id of its own; some servers send none, or the same in every turn."""

    def __init__(self, messages: Sequence[Any]) -> None:
        blocks = [block for message in messages for block in message["content"]]
        self._taken = {block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block}

    def repaired(self, event: Any) -> Any:
        """Return the stream event, its tool-use id replaced if it is empty or taken."""
        tool_use = event.get("contentBlockStart", {}).get("start", {}).get("toolUse")
        if not tool_use:
            return event
        given = str(tool_use.get("toolUseId") or "call")
        unique = given if tool_use.get("toolUseId") and given not in self._taken else self._next(given)
        self._taken.add(unique)
        start = {**event["contentBlockStart"]["start"], "toolUse": {**tool_use, "toolUseId": unique}}
        return {**event, "contentBlockStart": {**event["contentBlockStart"], "start": start}}

    def _next(self, given: str) -> str:
        number = 1
        while f"{given}-{number}" in self._taken:
            number += 1
        return f"{given}-{number}"


# The one key of an object that represents bytes, and of one that only looks so.
_BYTES, _PLAIN = "$bytes", "$plain"


def encode(value: Any) -> Any:
    """Return a value as JSON of its own; bytes (images, redacted reasoning) become `{"$bytes": base64}`."""
    if isinstance(value, Mapping):
        encoded = {str(key): encode(item) for key, item in value.items()}
        return {_PLAIN: encoded} if encoded.keys() in ({_BYTES}, {_PLAIN}) else encoded
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return {_BYTES: base64.b64encode(value).decode("ascii")}
    if isinstance(value, str):
        # A lone surrogate, which a model can write as an escape, can be neither stored nor sent.
        return value.encode("utf-8", "replace").decode("utf-8")
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def decode(value: Any) -> Any:
    """Return what was encoded."""
    if isinstance(value, dict):
        if value.keys() == {_BYTES}:
            return base64.b64decode(value[_BYTES])
        inner = value[_PLAIN] if value.keys() == {_PLAIN} else value
        return {key: decode(item) for key, item in inner.items()}
    if isinstance(value, list):
        return [decode(item) for item in value]
    return value
