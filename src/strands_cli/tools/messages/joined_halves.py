"""Characters that a model's server has cut between two pieces of a stream: joined, or visibly replaced."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

REPLACEMENT = "\ufffd"
_FIRST_HALF = re.compile("[\ud800-\udbff]\\Z")
_HALF = re.compile("[\ud800-\udfff]")
# Some clients refuse a half in what they read; the connection replaces it by a private character of this plane.
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
        self._half = found[0] if (found := _FIRST_HALF.search(text)) else ""
        text = whole(text.removesuffix(self._half)) if self._half else whole(text)
        if text or not self._half:
            yield _with(event, kind, text)

    def rest(self) -> Iterator[Any]:
        """Yield a replacement for a half at the end."""
        if self._half:
            self._half = ""
            yield _with({"contentBlockDelta": {"delta": {}}}, self._kind, REPLACEMENT)


def _piece(event: Any) -> tuple[str, str | None]:
    """Return the kind and the text of an event that is a piece of a block; no text for another event."""
    block = event.get("contentBlockDelta")
    if not block:
        return "", None
    delta = block.get("delta") or {}
    if isinstance(text := delta.get("text"), str):
        return "text", text
    for kind, place, name in (
        ("toolUse", delta.get("toolUse"), "input"),
        ("reasoningContent", delta.get("reasoningContent"), "text"),
    ):
        if isinstance(place, Mapping) and isinstance(text := place.get(name), str):
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
    for place, event in enumerate(events):
        if _piece(event)[0] == "toolUse":
            pieces.append(place)
        elif "contentBlockStop" in event or "contentBlockStart" in event:
            _make_whole(changed, pieces)
            pieces = []
    _make_whole(changed, pieces)
    return changed


def _make_whole(events: list[Any], pieces: list[int]) -> None:
    """Replace the arguments in these pieces by whole ones where they have half a character, in place."""
    text = "".join(_piece(events[place])[1] or "" for place in pieces)
    if "\\u" not in text:
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    if has_halves(value):
        for number, place in enumerate(pieces):
            written = "" if number else json.dumps(with_whole_texts(value), ensure_ascii=False)
            events[place] = _with(events[place], "toolUse", written)
