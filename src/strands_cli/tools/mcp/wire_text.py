"""The text of a message as a server writes it, made readable: no half of a character costs the message."""

from __future__ import annotations

import json
import re
from typing import Any

_REPLACEMENT = b"\\ufffd"
# Escapes in pairs of backslashes are text; of the others each surrogate counts that is not half of a pair.
_ESCAPES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
# What only a message of the protocol has; other lines are what many programs print beside it.
_OF_PROTOCOL = re.compile(rb'\s*[{\[]?\s*"(?:jsonrpc|id|result|method|error)"\s*:|\s*\{.*"jsonrpc"', re.DOTALL)
_METHOD = re.compile(rb'"method"\s*:')
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,200}")')


# What a warning about a server has where `readable` changes something.
REPLACED = "sends characters that are none; each is replaced"


def readable(line: bytes) -> bytes:
    """Return a line, or several, in which each half of a character and each control character is replaced."""
    if b"\\u" in line:
        line = _ESCAPES.sub(lambda found: _REPLACEMENT if found["half"] else found[0], line)
    line = _CONTROLS.sub(lambda _: _REPLACEMENT, line)
    return line if line.isascii() else line.decode("utf-8", "replace").encode()


def is_of_protocol(line: bytes) -> bool:
    """Return whether a line that is not a message was meant to be the answer to a request."""
    return _OF_PROTOCOL.match(line) is not None and _METHOD.search(line) is None


def id_in(line: bytes) -> int | str | None:
    """Return the id of the request that a broken message answers, if it shows."""
    found = _ID.search(line)
    return None if found is None else json.loads(found[1].decode("utf-8", "replace"))


def without_halves(value: Any) -> Any:
    """Return a value of JSON in which each half of a character is replaced."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {without_halves(key): without_halves(part) for key, part in value.items()}
    return [without_halves(part) for part in value] if isinstance(value, list) else value
