"""The calls of tools in a stream of OpenAI's chat completions, put together from their pieces.

The interface numbers calls by `index` and sends the id and the name once. Compatible servers give two calls the same
index, send no index, or repeat id and name with each piece. Calls are whole before the client sees them; where a piece
can belong to more than one, the answer is not used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from strands_cli.agents.model.answer_faults import AnswerFault
from strands_cli.texts.canonical_json import json_object, strict_json

MIXED = "the server mixed the parts of calls of tools, so that it is not known which call they belong to"


@dataclass(slots=True)
class _Call:
    """A call in the making."""

    index: Any
    id: str
    name: str
    arguments: list[str] = field(default_factory=list)
    others: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(self.arguments)

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are a JSON object, to which nothing can be added."""
        return _is_object(self.text)


class CallParts:
    """Puts the calls of one answer together."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def add(self, pieces: Sequence[Any]) -> None:
        """Take the `tool_calls` of one piece of a stream.

        Raises:
            AnswerFault: It is not known which call a piece belongs to.
        """
        for position, piece in enumerate(pieces):
            if not isinstance(piece, Mapping):
                raise mixed()
            function = piece.get("function")
            named = function if isinstance(function, Mapping) else {}
            self._add(piece, named, alone=len(pieces) == 1, position=position)

    def _add(self, piece: Mapping[str, Any], named: Mapping[str, Any], *, alone: bool, position: int) -> None:
        call_id, name = str(piece.get("id") or ""), str(named.get("name") or "")
        text = named.get("arguments")
        text = text if isinstance(text, str) else "" if text is None else _written(text)
        index = piece.get("index")
        if not alone and index is None:
            index = f"place {position}"
        call = self._call_of(index, call_id, name, text)
        if call is None:
            call = _Call(index, call_id, name)
            self._calls.append(call)
        elif name and name != call.name:
            call.name += name
        call.id = call.id or call_id
        call.arguments.append(text)
        call.others |= {key: value for key, value in piece.items() if key not in ("index", "id", "function")}

    def _call_of(self, index: Any, call_id: str, name: str, text: str) -> _Call | None:
        """Return the call that a piece continues, or None if it begins one."""
        same = [call for call in self._calls if call_id and call.id == call_id]
        exact = [call for call in same if index is None or call.index == index]
        at_index = [call for call in self._calls if index is None or call.index == index]
        if not name:
            return self._nameless(exact or ([] if at_index else same), at_index, call_id)
        if exact:
            return None if text.strip() and exact[-1].is_whole else exact[-1]
        return _named(at_index[-1], call_id, name, text) if at_index else None

    def _nameless(self, same: list[_Call], at_index: list[_Call], call_id: str) -> _Call:
        """Return the call that a piece without a name continues; some servers send another id with each piece."""
        if same:
            return same[-1]
        unfinished = [call for call in at_index if not call.is_whole] if len(at_index) > 1 else at_index
        if not at_index or len(unfinished) > 1 or (call_id and len(at_index) > 1):
            raise mixed()
        return (unfinished or at_index)[-1]

    def whole(self) -> list[dict[str, Any]]:
        """Return the calls as one piece each, in the order in which they began.

        Raises:
            AnswerFault: The arguments of two calls are in one, or two calls had one index and are not whole.
        """
        shared = len({str(call.index) for call in self._calls}) < len(self._calls)
        for call in self._calls:
            if call.text.strip() and not call.is_whole and (shared or _holds_two(call.text)):
                raise mixed()
        return [
            {
                **call.others,
                "index": number,
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _once(call.text)},
            }
            for number, call in enumerate(self._calls)
        ]


def _named(latest: _Call, call_id: str, name: str, text: str) -> _Call | None:
    """Return the latest call at an index if a piece with a name and no known id continues it, else None."""
    is_new_id = bool(call_id) and bool(latest.id)
    if latest.is_whole:
        return latest if not text.strip() and not is_new_id and name == latest.name else None
    if latest.text.strip():
        # The name comes with each piece; with another name, or an object of its own, it is another call.
        begins = text.lstrip().startswith("{") if is_new_id else _is_object(text)
        return None if name != latest.name or begins else latest
    return None if is_new_id else latest


def _holds_two(text: str) -> bool:
    """Return whether arguments begin with a whole object and go on."""
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return False
    return bool(text.lstrip()[end:].strip())


def mixed() -> AnswerFault:
    """Return the fault of pieces of calls that can belong to more than one."""
    return AnswerFault(MIXED, "run again, or choose another model or server", is_temporary=True)


def _once(text: str) -> str:
    """Return arguments that some servers write as JSON twice, written once."""
    inner = json_in(text) if text.lstrip().startswith('"') else None
    return _written(inner) if isinstance(inner, dict) else text


def _written(value: Any) -> str:
    """Return arguments that a server sends as JSON of its own instead of as text."""
    return json.dumps(value)


def json_in(text: str) -> Any:
    """Return the JSON value in a text, or None; arguments written as JSON twice are read twice."""
    try:
        value = strict_json(text)
        return strict_json(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None


def _is_object(text: str) -> bool:
    return text.rstrip().endswith("}") and isinstance(json_in(text), dict)


# The blocks of one answer of Anthropic's interface, put one after another: each begins, has its pieces, and ends.
#
# Compatible servers send the pieces of two blocks in turn, leave out where a block begins or ends, or give a call its
# whole input where it begins, which clients do not read there.


Object = Mapping[str, Any]
# The member with the text of a block at its beginning, and the kind of its pieces.
_TEXTS = {"text": ("text", "text_delta"), "thinking": ("thinking", "thinking_delta")}
_OF_PIECE = {"text_delta": ("text", "text"), "thinking_delta": ("thinking", "thinking")}
_INPUT = "input_json_delta"


class MessageBlocks:
    """Puts the blocks of one answer in order."""

    def __init__(self) -> None:
        self._is_open = False
        self._index: Any = None
        self._input: Any = None
        self._held: dict[Any, list[Object]] = {}

    def take(self, event: Object) -> list[Object]:
        """Take an event of a block; return the events that the client may read now.

        Raises:
            AnswerFault: It is not known which call a piece belongs to.
        """
        index = event.get("index")
        if self._is_open and index != self._index:
            self._held.setdefault(index, []).append(event)
            return []
        kind = event.get("type")
        if kind == "content_block_start":
            return [*self._end(), *self._begin(event)]
        if kind == "content_block_stop":
            return [*self._end(), *self._next()]
        delta = json_object(event.get("delta"))
        before: list[Object] = []
        if not self._is_open:
            if delta.get("type") == _INPUT:
                raise mixed()
            if delta.get("type") not in _OF_PIECE:
                return []
            block, name = _OF_PIECE[str(delta["type"])]
            before = self._begin({"index": index, "content_block": {"type": block, name: ""}})
        if delta.get("type") == _INPUT and delta.get("partial_json"):
            self._input = None
        return [*before, event]

    def rest(self) -> list[Object]:
        """Return the rest at the end of the answer."""
        rest: list[Object] = []
        while self._is_open or self._held:
            rest += [*self._end(), *self._next()]
        return rest

    def _begin(self, event: Object) -> list[Object]:
        self._is_open, self._index = True, event.get("index")
        block = dict(json_object(event.get("content_block")))
        pieces: list[Object] = []
        if str(block.get("type")).endswith("tool_use"):
            self._input, block["input"] = block.get("input"), {}
        elif block.get("type") in _TEXTS:
            name, kind = _TEXTS[block["type"]]
            pieces = [self._piece(kind, name, block[name])] if block.get(name) else []
            block[name] = ""
        return [{**event, "type": "content_block_start", "content_block": block}, *pieces]

    def _piece(self, kind: str, name: str, text: Any) -> Object:
        return {"type": "content_block_delta", "index": self._index, "delta": {"type": kind, name: text}}

    def _end(self) -> list[Object]:
        if not self._is_open:
            return []
        tool_input, self._input, self._is_open = self._input, None, False
        text = tool_input if isinstance(tool_input, str) else json.dumps(tool_input)
        pieces = [self._piece(_INPUT, "partial_json", text)] if tool_input else []
        return [*pieces, {"type": "content_block_stop", "index": self._index}]

    def _next(self) -> list[Object]:
        """Return the events that waited for the end of a block, as far as the next one goes."""
        events: list[Object] = []
        while self._held and not self._is_open:
            for event in self._held.pop(next(iter(self._held))):
                events += self.take(event)
        return events


# The commonest events of a stream, known by their bytes: reading each as JSON would cost a tenth of a call.


_TEXT = r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"'
_SIMPLE = rf"(?:{_TEXT}|-?\d+(?:\.\d+)?|null|true|false)"


def _object(*members: str) -> str:
    """Return a pattern of a JSON object with some of these members, in any order."""
    member = f"(?:{'|'.join(members)})"
    return rf"\{{ ?{member}(?:, ?{member})* ?\}}"


def _member(names: str, value: str) -> str:
    return rf'"(?:{names})": ?{value}'


# Other members of a service there are empty.
_EMPTY = _member(r"\w+", "null")
_DELTA = _object(_member("role|content|reasoning_content|reasoning", _TEXT), _EMPTY)
_CHOICE = _object(_member("index", r"\d+"), _member("delta", _DELTA), _EMPTY)
_ABOUT = _member("id|object|created|model|system_fingerprint|service_tier|obfuscation|provider", _SIMPLE)
_CHUNK = _object(_ABOUT, _member("choices", rf"\[ ?{_CHOICE} ?\]"), _EMPTY)

# One or more pieces of a text in OpenAI's chat completions: no end, no call, no refusal, no error and no counts.
# https://platform.openai.com/docs/api-reference/chat-streaming/streaming
PLAIN_CHAT = re.compile(rf"(?:data: ?{_CHUNK}\r?\n\r?\n)+".encode())
# The text in one; inside another text its quotes would be escaped.
_CONTENT = re.compile(rb'"content": ?"([^"\\]*)"')
_NOTHING_ESCAPED = re.compile(rb'[^"\\\x00-\x1f]*')


class PlainPieces:
    """Tells the plain pieces of one stream. Two in a row differ in their text alone, and then only that is read."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._pattern = pattern
        self._before, self._behind = b"\0", b""

    def has(self, chunk: bytes) -> bool:
        """Return whether a chunk is one or more pieces of a text, and nothing else."""
        start, end = len(self._before), len(chunk) - len(self._behind)
        is_alike = start <= end and chunk.startswith(self._before) and chunk.endswith(self._behind)
        if is_alike and _NOTHING_ESCAPED.fullmatch(chunk, start, end) is not None:
            return True
        if self._pattern.fullmatch(chunk) is None:
            return False
        if (content := _CONTENT.search(chunk)) is not None:
            self._before, self._behind = chunk[: content.start(1)], chunk[content.end(1) :]
        return True
