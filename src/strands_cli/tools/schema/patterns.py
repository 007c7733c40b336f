"""Patterns of JSON Schema, which are those of JavaScript (ECMA-262), for the engines of this program."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.tools.drafts import rewritten

# `\d`, `\w` and `\b` mean ASCII there; `[^]` is any character, and `[]` none.
_INSIDE = {"d": "0-9", "w": "A-Za-z0-9_"}
# Signs of a set that Python may read as operations on sets one day, and warns of.
_MEANT_OTHERWISE = frozenset("&~|")
_OUTSIDE = {"d": "[0-9]", "D": "[^0-9]", "w": "[A-Za-z0-9_]", "W": "[^A-Za-z0-9_]"}
# A regular expression as a program writes it: no text begins before its begin, so that the slashes are not meant.
_LITERAL = re.compile(r"/(\^.*)/([a-z]*)", re.DOTALL)
_KNOWN_FLAGS = frozenset("dgimsuvy")
_TOKEN = re.compile(
    r"\\u\{(?P<wide>[0-9a-fA-F]{1,6})\}|\\u(?P<code>[0-9a-fA-F]{4})|\\c(?P<control>[A-Za-z])|\\k<(?P<back>\w+)>"
    r"|\\(?P<escape>.)|\(\?<(?P<name>[A-Za-z_$][\w$]*)>|(?P<any>\[\^\])|(?P<none>\[\])|(?P<open>\[\^?)|(?P<rest>.)",
    re.DOTALL,
)


@functools.lru_cache(maxsize=512)
def translated(pattern: str) -> str:
    """Return a pattern of JavaScript as Python and the linear engine read it; a wrong one stays wrong."""
    flags = ""
    if (literal := _LITERAL.fullmatch(pattern)) is not None and _KNOWN_FLAGS.issuperset(literal[2]):
        pattern = literal[1]
        flags = "".join(one for one in "ims" if one in literal[2])
    parts: list[str] = []
    in_set = False
    for token in _TOKEN.finditer(pattern):
        is_nested = in_set and token[0][0] == "["  # a plain sign in JavaScript, the begin of a set elsewhere
        in_set = _next_state(token, in_set=in_set)
        parts.append(f"\\{token[0]}" if is_nested else _written(token, in_set=in_set))
    return (f"(?{flags})" if flags else "") + "".join(parts)


def _next_state(token: re.Match[str], *, in_set: bool) -> bool:
    if in_set:
        return token["rest"] != "]" and not token["none"]
    return bool(token["open"])


def _written(token: re.Match[str], *, in_set: bool) -> str:
    if code := token["wide"] or token["code"]:
        return _character(int(code, 16), token[0])
    if token["control"]:
        return f"\\x{ord(token['control']) % 32:02x}"
    if in_set:
        if token[0] in _MEANT_OTHERWISE:
            return f"\\{token[0]}"
        escape = token["escape"]
        return _INSIDE.get(escape, _escaped(escape)) if escape else token[0]
    if token["back"]:
        return f"(?P={token['back']})"
    if token["escape"]:
        return _OUTSIDE.get(token["escape"], _escaped(token["escape"]))
    if token["name"]:
        return f"(?P<{token['name'].replace('$', '_')}>"
    if token["any"]:
        return r"[\s\S]"
    return r"[^\s\S]" if token["none"] else token[0]


def _character(code: int, written: str) -> str:
    """Return a character that means itself; half of a pair, or what is none, as it is written."""
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return written
    return re.escape(chr(code)) if code > 0x20 else f"\\x{code:02x}"


def _escaped(char: str) -> str:
    """Return an escaped character; JavaScript lets every sign be escaped."""
    return "/" if char == "/" else f"\\{char}"


def patterns_in(schema: Any) -> Iterator[str]:
    """Yield each pattern of a schema, those of names too."""
    found: list[str] = []

    def note(part: dict[str, Any]) -> dict[str, Any]:
        named = part.get("patternProperties")
        found.extend(named if isinstance(named, Mapping) else ())
        if isinstance(part.get("pattern"), str):
            found.append(part["pattern"])
        return part

    rewritten(schema, note)
    yield from dict.fromkeys(found)
