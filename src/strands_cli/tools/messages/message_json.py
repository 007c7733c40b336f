"""The SDK's messages as JSON for the journal, without secrets."""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from strands_cli.events import Usage
from strands_cli.secrets.redactor import Redactor
from strands_cli.texts.canonical_json import json_object, strict_json

# The rules of the SDK's messages and stream events: order, text, tool uses and usage.


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
    """Return the stream event; in that of the metadata, every value but a count of tokens or milliseconds is zero."""
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
    """Return the arguments in broken JSON, by tool-use id; the SDK makes an empty object of them."""
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

        A tool-use id is replaced if it is empty or taken, an invalid name too, and an invalid count by zero.
        """
        block = event.get("contentBlockStart")
        if not block or not (tool_use := block.get("start", {}).get("toolUse")):
            return _with_counts(event)
        identity = str(tool_use.get("toolUseId") or "call")
        unique = identity if tool_use.get("toolUseId") and identity not in self._taken else self._next(identity)
        self._taken.add(unique)
        changed = {**tool_use, "name": tool_name(tool_use), "toolUseId": unique}
        start = {**event["contentBlockStart"]["start"], "toolUse": changed}
        return {**event, "contentBlockStart": {**event["contentBlockStart"], "start": start}}

    def _next(self, tool_use_id: str) -> str:
        number = 1
        while f"{tool_use_id}-{number}" in self._taken:
            number += 1
        return f"{tool_use_id}-{number}"


# Characters that a model's server has cut between two pieces of a stream: joined, or visibly replaced.


REPLACEMENT = "\ufffd"
_FIRST_HALF = re.compile("[\ud800-\udbff]\\Z")
_HALF = re.compile("[\ud800-\udfff]")
# Some clients refuse a half in their input; the connection replaces it by a private character of this plane.
_PRIVATE = 0x100000
_STANDS_FOR_HALF = re.compile("[\U0010d800-\U0010dfff]")


def whole(text: str) -> str:
    """Return a text in which halves of one character side by side are joined, and others replaced."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def as_private(text: str) -> str:
    """Return a text whose halves are private characters, for a client that refuses halves."""
    return _HALF.sub(lambda half: chr(_PRIVATE + ord(half[0])), text)


def _as_halves(text: str) -> str:
    return _STANDS_FOR_HALF.sub(lambda char: chr(ord(char[0]) - _PRIVATE), text)


def has_halves(value: Any) -> bool:
    """Return whether a text somewhere in a JSON value holds half a character."""
    if isinstance(value, str):
        return not value.isascii() and _HALF.search(value) is not None
    if isinstance(value, Mapping):
        return any(has_halves(part) for pair in value.items() for part in pair)
    return isinstance(value, (list, tuple)) and any(map(has_halves, value))


def with_whole_texts(value: Any) -> Any:
    """Return a JSON value whose texts are `whole`."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, Mapping):
        return {whole(str(name)): with_whole_texts(part) for name, part in value.items()}
    return [with_whole_texts(part) for part in value] if isinstance(value, (list, tuple)) else value


class JoinedHalves:
    """Joins the halves of a character in the pieces of one turn: of its text, its reasoning and its arguments."""

    def __init__(self) -> None:
        self._kind = ""
        self._half = ""

    @property
    def waits(self) -> bool:
        """Whether the other half of a character may follow."""
        return bool(self._half)

    def events(self, event: Any) -> Iterator[Any]:
        """Yield the event with joined text; before it a replacement for a half that nothing has followed."""
        kind, text = _piece(event)
        if self._half and kind != self._kind:
            yield from self.rest()
        if text is None or (text.isascii() and not self._half):
            yield event
            return
        self._kind, text = kind, self._half + _as_halves(text)
        self._half = match[0] if (match := _FIRST_HALF.search(text)) else ""
        text = whole(text.removesuffix(self._half)) if self._half else whole(text)
        if text or not self._half:
            yield _with(event, kind, text)

    def rest(self) -> Iterator[Any]:
        """Yield a replacement for a half at the end."""
        if self._half:
            self._half = ""
            yield _with({"contentBlockDelta": {"delta": {}}}, self._kind, REPLACEMENT)


def _piece(event: Any) -> tuple[str, str | None]:
    """Return the kind and the text of an event with a piece of a block; no text for another event."""
    block = event.get("contentBlockDelta")
    if not block:
        return "", None
    delta = block.get("delta") or {}
    if isinstance(text := delta.get("text"), str):
        return "text", text
    for kind, holder, name in (
        ("toolUse", delta.get("toolUse"), "input"),
        ("reasoningContent", delta.get("reasoningContent"), "text"),
    ):
        if isinstance(holder, Mapping) and isinstance(text := holder.get(name), str):
            return kind, text
    return "", None


def _with(event: Any, kind: str, text: str) -> Any:
    """Return a piece with another text."""
    block = event["contentBlockDelta"]
    delta = block["delta"]
    name = "input" if kind == "toolUse" else "text"
    changed = {**delta, "text": text} if kind == "text" else {**delta, kind: {**delta.get(kind, {}), name: text}}
    return {**event, "contentBlockDelta": {**block, "delta": changed}}


def with_whole_arguments(events: Sequence[Any]) -> list[Any]:
    """Return a turn in which no argument of a call has half a character, also one that JSON writes as an escape."""
    pieces: list[int] = []
    changed = list(events)
    for position, event in enumerate(events):
        if _piece(event)[0] == "toolUse":
            pieces.append(position)
        elif "contentBlockStop" in event or "contentBlockStart" in event:
            _make_whole(changed, pieces)
            pieces = []
    _make_whole(changed, pieces)
    return changed


def _make_whole(events: list[Any], pieces: list[int]) -> None:
    """Replace the arguments in these pieces by whole ones where they have half a character, in place."""
    text = "".join(_piece(events[piece])[1] or "" for piece in pieces)
    if "\\u" not in text:
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    if has_halves(value):
        for number, position in enumerate(pieces):
            written = "" if number else json.dumps(with_whole_texts(value), ensure_ascii=False)
            events[position] = _with(events[position], "toolUse", written)


def without_secrets(events: Sequence[Any], redactor: Redactor) -> list[Any]:
    """Return a turn's stream events without secrets, also one that the model sends in several pieces.

    A block whose pieces together hold a secret has all of its text in the first of them.
    """
    if not _may_hide(events, redactor):
        return list(events)
    cleaned = [copy.deepcopy(event) if _holds_input(event) else redactor.json(event) for event in events]
    for kind, places in _texts_of(cleaned):
        whole = "".join(holder[name] for holder, name in places)
        without = _input_without(whole, redactor) if kind == "input" else redactor.text(whole)
        if without != whole:
            for index, (holder, name) in enumerate(places):
                holder[name] = "" if index else without
    return cleaned


def _may_hide(events: Sequence[Any], redactor: Redactor) -> bool:
    """Return whether a turn has to be redacted: few have, and one search in all of its texts costs little."""
    others: list[Any] = []
    texts = []
    for kind, places in _texts_of(events, others):
        texts.append("".join(holder[name] for holder, name in places))
        if kind == "input" and "\\" in texts[-1]:
            return True  # escaped text shows only in the value of the JSON
    texts.append(_ENCODER.encode(others))
    return redactor.may_hide_in(*texts)


def _texts_of(
    events: Sequence[Any], others: list[Any] | None = None
) -> Iterable[tuple[str, list[tuple[dict[str, Any], str]]]]:
    """Return for each text of a turn its kind and where its pieces are: an object and the name in it.

    Other events than pieces of a text are added to `others`.
    """
    pieces: dict[tuple[int, str], list[tuple[dict[str, Any], str]]] = {}
    block = 0
    texts: list[tuple[dict[str, Any], str]] | None = None
    for event in events:
        if only_text(event) is not None:
            if texts is None:
                texts = pieces.setdefault((block, "text"), [])
            texts.append((event["contentBlockDelta"]["delta"], "text"))
            continue
        texts = None
        if others is not None:
            others.append(event)
        block += "contentBlockStop" in event
        delta = event.get("contentBlockDelta", {}).get("delta", {})
        for kind, holder, name in (
            ("text", delta, "text"),
            ("input", delta.get("toolUse"), "input"),
            ("reasoning", delta.get("reasoningContent"), "text"),
        ):
            if isinstance(holder, dict) and isinstance(holder.get(name), str):
                pieces.setdefault((block, kind), []).append((holder, name))
    return [(kind, places) for (_, kind), places in pieces.items()]


def _holds_input(event: Mapping[str, Any]) -> bool:
    """Return whether an event is a piece of a tool use's arguments, which can be judged only as a whole."""
    tool_use = event.get("contentBlockDelta", {}).get("delta", {}).get("toolUse")
    return isinstance(tool_use, Mapping) and tool_use.keys() == {"input"} and isinstance(tool_use["input"], str)


def _input_without(text: str, redactor: Redactor) -> str:
    """Return the arguments of a tool use without secrets; where they were JSON they are JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return redactor.text(text)
    cleaned = redactor.json(value)
    without = text if cleaned == value else json.dumps(cleaned, ensure_ascii=False)
    # A value may extend over the signs of JSON; text that looks personal only there is not personal data.
    return redactor.without_personal_data.text(without)


# Made once: `json` makes one for each value that is not written in its default form.
_ENCODER = json.JSONEncoder(ensure_ascii=False)
# The one key of an object that represents bytes, and of one that only looks so.
_BYTES, _PLAIN = "$bytes", "$plain"
_MARKS = frozenset((_BYTES, _PLAIN))


def encode(value: Any) -> Any:
    """Return a value as JSON of its own; bytes (images, redacted reasoning) become `{"$bytes": base64}`."""
    # Every event of every model comes here: the commonest kinds first, and those that ask an abstract class last.
    if type(value) is dict and (text := only_text(value)) is not None and text.isascii():
        return _text_event(text)
    if isinstance(value, str):
        # A lone surrogate, which a model can write as an escape, can be neither stored nor sent.
        return value if type(value) is str and value.isascii() else whole(str(value))
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return {_BYTES: base64.b64encode(value).decode("ascii")}
    if not isinstance(value, (dict, Mapping)):
        return str(value)
    encoded = {str(key): encode(item) for key, item in value.items()}
    return {_PLAIN: encoded} if len(encoded) == 1 and encoded.keys() <= _MARKS else encoded


def only_text(event: dict[Any, Any]) -> str | None:
    """Return the text of an event that is a piece of a text and nothing else: most events are."""
    block = event.get("contentBlockDelta") if len(event) == 1 else None
    delta = block.get("delta") if type(block) is dict and len(block) == 1 else None
    text = delta.get("text") if type(delta) is dict and len(delta) == 1 else None
    return text if type(text) is str else None


def _text_event(text: str) -> dict[str, Any]:
    """Return the event of a piece of a text."""
    return {"contentBlockDelta": {"delta": {"text": text}}}


def decode(value: Any) -> Any:
    """Return the value that was encoded."""
    if isinstance(value, dict):
        if (text := only_text(value)) is not None:
            return _text_event(text)
        if len(value) == 1:
            if _BYTES in value:
                return base64.b64decode(value[_BYTES])
            value = value.get(_PLAIN, value)
        return {key: decode(item) for key, item in value.items()}
    if isinstance(value, list):
        return [decode(item) for item in value]
    return value
