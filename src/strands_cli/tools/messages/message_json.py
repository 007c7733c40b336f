"""The SDK's messages as JSON for the journal, without secrets."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from strands_cli.secrets.redactor import Redactor
from strands_cli.tools.messages.joined_halves import whole


def without_secrets(events: Sequence[Any], redactor: Redactor) -> list[Any]:
    """Return a turn's stream events without secrets, also one that the model sends in several pieces.

    A block whose pieces together hold a secret has all of its text in the first of them.
    """
    if not _may_hide(events, redactor):
        return list(events)
    cleaned = [copy.deepcopy(event) if _holds_input(event) else redactor.json(event) for event in events]
    for kind, places in _texts_of(cleaned):
        whole = "".join(place[name] for place, name in places)
        without = _input_without(whole, redactor) if kind == "input" else redactor.text(whole)
        if without != whole:
            for index, (place, name) in enumerate(places):
                place[name] = "" if index else without
    return cleaned


def _may_hide(events: Sequence[Any], redactor: Redactor) -> bool:
    """Return whether a turn has to be redacted: few have, and one search in all of its texts costs little."""
    others: list[Any] = []
    texts = []
    for kind, places in _texts_of(events, others):
        texts.append("".join(place[name] for place, name in places))
        if kind == "input" and "\\" in texts[-1]:
            return True  # what is escaped there is seen only in what the JSON means
    texts.append(_ENCODER.encode(others))
    return redactor.may_hide_in(*texts)


def _texts_of(
    events: Sequence[Any], others: list[Any] | None = None
) -> Iterable[tuple[str, list[tuple[dict[str, Any], str]]]]:
    """Return for each text of a turn its kind and where its pieces are: an object and the name in it.

    Events that are more than a piece of a text are added to `others`.
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
        for kind, place, name in (
            ("text", delta, "text"),
            ("input", delta.get("toolUse"), "input"),
            ("reasoning", delta.get("reasoningContent"), "text"),
        ):
            if isinstance(place, dict) and isinstance(place.get(name), str):
                pieces.setdefault((block, kind), []).append((place, name))
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
    # A value may extend over the signs of JSON; what looks personal only there is not personal data.
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
    """Return what was encoded."""
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
