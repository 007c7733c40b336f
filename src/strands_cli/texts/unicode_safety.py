"""Find and escape characters that a person cannot see, or that change how a terminal shows a text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

# So that a text with every character there is does not stay in memory.
_MOST_KNOWN = 10_000
# Characters that a text of several lines may contain.
HARMLESS = "\n\t"
# Control, format (with bidi and zero width), private use, surrogates, line and paragraph separators.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def is_hidden(char: str) -> bool:
    """Return whether a character is invisible or changes how others are shown."""
    return unicodedata.category(char) in _HIDDEN_CATEGORIES


def hidden_characters(text: str) -> list[str]:
    """Return the hidden characters of a text, each once, as `U+202E RIGHT-TO-LEFT OVERRIDE`."""
    if text.isascii() and text.isprintable():
        return []
    characters = dict.fromkeys(char for char in text if is_hidden(char) and char not in HARMLESS)
    return [f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip() for char in characters]


class _Escapes(dict[int, str | int]):
    """The shown text of each character, found once for each: a text of megabytes has few different ones."""

    def __missing__(self, code: int) -> str | int:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        char = chr(code)
        is_escaped = is_hidden(char) and char not in HARMLESS
        self[code] = char.encode("unicode_escape").decode("ascii") if is_escaped else code
        return self[code]


_ESCAPES = _Escapes()


def printable(text: str) -> str:
    r"""Escape control, bidi and invisible characters of text from outside (`\x1b` becomes `\\x1b`)."""
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPES)


def texts_of(document: Any, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text of a JSON document, keys too, with the JSON pointer of its node."""
    if isinstance(document, str):
        yield pointer, document
    elif isinstance(document, dict):
        for key, value in document.items():
            inner = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            yield inner, key
            yield from texts_of(value, inner)
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from texts_of(value, f"{pointer}/{index}")
