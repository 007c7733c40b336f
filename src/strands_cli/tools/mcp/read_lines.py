"""The lines of a server's stdout as messages: one in each line, or in the other forms that servers write.

Nothing waits for an answer that has come: an unreadable one, or one without a certain request, is an error.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, PARSE_ERROR, JSONRPCMessage
from pydantic import TypeAdapter

from strands_cli.texts.canonical_json import json_object
from strands_cli.texts.phrases import shortened
from strands_cli.tools.mcp.repaired_messages import Link

# The text of a message as a server writes it, made readable: no half of a character costs the message.


_REPLACEMENT = b"\\ufffd"
# Escapes in pairs of backslashes are text; of the others each lone surrogate counts.
_ESCAPES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
# Words that only a message of the protocol has; other lines are those that many programs print beside it.
_OF_PROTOCOL = re.compile(rb'\s*[{\[]?\s*"(?:jsonrpc|id|result|method|error)"\s*:|\s*\{.*"jsonrpc"', re.DOTALL)
_METHOD = re.compile(rb'"method"\s*:')
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,200}")')


# The text of a warning about a server where `readable` changes something.
REPLACED = "sends characters that are none; each is replaced"


def readable(line: bytes) -> bytes:
    """Return a line, or several, in which each half of a character and each control character is replaced."""
    if b"\\u" in line:
        line = _ESCAPES.sub(lambda match: _REPLACEMENT if match["half"] else match[0], line)
    line = _CONTROLS.sub(lambda _: _REPLACEMENT, line)
    return line if line.isascii() else line.decode("utf-8", "replace").encode()


def is_of_protocol(line: bytes) -> bool:
    """Return whether a line without a message was meant to be the answer to a request."""
    return _OF_PROTOCOL.match(line) is not None and _METHOD.search(line) is None


def id_in(line: bytes) -> int | str | None:
    """Return the id of the request that a broken message answers, if it shows."""
    match = _ID.search(line)
    return None if match is None else json.loads(match[1].decode("utf-8", "replace"))


def without_halves(value: Any) -> Any:
    """Return a value of JSON in which each half of a character is replaced."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {without_halves(key): without_halves(part) for key, part in value.items()}
    return [without_halves(part) for part in value] if isinstance(value, list) else value


_MESSAGES: TypeAdapter[Any] = TypeAdapter(JSONRPCMessage)
_SHOWN = 200
# So many places of a line are tried as the begin of a message, and so much text is read as Python's.
_MOST_BEGINS, _MOST_PYTHON = 16, 256 * 1024
_CALL = "tools/call"
_PYTHON = re.compile(r"\{\s*'(?:jsonrpc|id|result|error)'\s*:")
# All that an answer without its frame has.
_BARE = frozenset({"content", "structuredContent", "isError", "_meta"})


class Requests:
    """The sent requests, by id, and which of them wait for an answer."""

    def __init__(self, waiting: Mapping[Any, str] = MappingProxyType({})) -> None:
        self._sent: set[Any] = set(waiting)
        self._waiting: dict[Any, str] = dict(waiting)

    def send(self, message: Any) -> None:
        """Note a sent message."""
        identity, method = getattr(message, "id", None), getattr(message, "method", "")
        if method == "notifications/cancelled":
            self._waiting.pop(json_object(message.params).get("requestId"), None)
        elif method and identity is not None:
            self._sent.add(identity)
            self._waiting[identity] = method

    def request_id(self, identity: Any) -> Any:
        """Return the id of the request that an answer names, or None; some servers write a number as a text."""
        if isinstance(identity, str) and identity.isdecimal() and identity not in self._sent and len(identity) < 16:
            identity = int(identity)
        if isinstance(identity, float) and identity.is_integer():
            identity = int(identity)
        return identity if isinstance(identity, (int, str)) and identity in self._sent else None

    def answered(self, identity: Any) -> None:
        """Take an answer."""
        self._waiting.pop(identity, None)

    def __bool__(self) -> bool:
        """Whether a request waits."""
        return bool(self._waiting)

    @property
    def only(self) -> Any:
        """The id of the one request that waits, or None where none or several do."""
        return next(iter(self._waiting)) if len(self._waiting) == 1 else None

    @property
    def is_a_call(self) -> bool:
        """Whether the one request that waits is the call of a tool."""
        return [*self._waiting.values()] == [_CALL]


def messages_in(line: bytes, requests: Requests, link: Link) -> list[SessionMessage]:
    """Return the messages of a line; an older version of the protocol sends several as one list.

    A broken answer without a certain request is a fault of the connection.
    """
    with contextlib.suppress(ValueError):
        message = _MESSAGES.validate_json(line)
        identity = requests.request_id(getattr(message, "id", None))
        if hasattr(message, "method") or identity is not None:
            if not hasattr(message, "method"):
                requests.answered(identity)
            return [SessionMessage(message)]
    plain = readable(line)
    text = plain.decode("utf-8", "replace")
    objects = list(_objects_in(text))
    messages = [_message(value, requests, link) for value in objects]
    if plain != line and any(messages):
        link.note(REPLACED)
    if not any(map(_is_of_protocol, objects)) and is_of_protocol(line):
        messages.append(_unread(text, id_in(line), requests, link))
    return [message for message in messages if message is not None]


def _objects_in(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a line: alone, in a list, in Python's notation, or with other text around them."""
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(text)
        yield from map(json_object, value if isinstance(value, list) else [value])
        return
    if (python := _PYTHON.search(text)) is not None and len(text) < _MOST_PYTHON:
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            yield json_object(ast.literal_eval(text[python.start() : text.rindex("}") + 1]))
            return
    at, decoder = text.find("{"), json.JSONDecoder()
    for _ in range(_MOST_BEGINS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if _is_of_protocol(value):
                yield value
        at = text.find("{", end)


def _is_of_protocol(value: Mapping[str, Any]) -> bool:
    return "jsonrpc" in value or ("id" in value and ("result" in value or "error" in value))


def _message(value: Mapping[str, Any], requests: Requests, link: Link) -> SessionMessage | None:
    """Return the message in an object, or None for another object."""
    if requests.is_a_call and "content" in value and value.keys() <= _BARE:
        return _made({"id": requests.only, "result": value}, requests)
    if not _is_of_protocol(value):
        return None
    if "method" in value:
        return _made(value, requests)
    identity = requests.request_id(value.get("id"))
    if value.get("id") is not None and identity is None:
        fault = f"it answered a request that was not sent: {shortened(_written(value['id']), 80)}"
        return _failed(fault, requests.only, requests, link)
    identity = requests.only if identity is None else identity
    if identity is None:
        return _unread(_written(value), None, requests, link)
    if value.get("error") is not None:
        return _made({"id": identity, "error": _error(value["error"])}, requests)
    result = value.get("result")
    if isinstance(result, str) and requests.is_a_call:
        result = {"content": [{"type": "text", "text": result}]}
    message = _made({"id": identity, "result": result}, requests)
    return message or _unread(_written(value), identity, requests, link)


def _error(value: Any) -> dict[str, Any]:
    """Return an error as the protocol has it: with a number and a text."""
    error = json_object(value)
    code, text = error.get("code"), error.get("message")
    words = text if isinstance(text, str) else value if isinstance(value, str) else _written(value)
    data = {"data": error["data"]} if "data" in error else {}
    return {"code": code if type(code) is int else INTERNAL_ERROR, "message": words, **data}


def _made(value: Mapping[str, Any], requests: Requests) -> SessionMessage | None:
    try:
        message = _MESSAGES.validate_json(json.dumps({**value, "jsonrpc": "2.0"}))
    except (ValueError, RecursionError):
        return None
    if not hasattr(message, "method"):
        requests.answered(message.id)
    return SessionMessage(message)


def unread_answer(body: bytes, request: Requests, link: Link, status: str = "") -> SessionMessage | None:
    """Return the error for a body without a message, or for a status that refuses the request."""
    text = " ".join(body.decode("utf-8", "replace").split())
    if not status and text:
        return _unread(text, None, request, link)
    fault = f"{status}: {shortened(text, _SHOWN)}" if status and text else status or "it sent an answer without content"
    return _failed(fault, request.only, request, link)


def _unread(text: str, identity: Any, requests: Requests, link: Link) -> SessionMessage | None:
    """Return the error for an answer that cannot be read."""
    fault = f"it sent a message that cannot be read: {shortened(text.strip(), _SHOWN)}"
    return _failed(fault, identity if identity is not None else requests.only, requests, link)


def _failed(fault: str, identity: Any, requests: Requests, link: Link) -> SessionMessage | None:
    if identity is not None:
        return _made({"id": identity, "error": {"code": PARSE_ERROR, "message": fault}}, requests)
    if requests:
        link.fault = fault
    return None


def _written(value: Any) -> str:
    with contextlib.suppress(RecursionError):
        return json.dumps(value, ensure_ascii=False)
    return "(too many levels)"
