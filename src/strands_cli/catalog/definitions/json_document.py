"""Read a JSON document that others wrote: its limits, and why it cannot be read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NoReturn

from strands_cli.texts.canonical_json import strict_json

MAX_DEPTH = 64


class UnreadableError(Exception):
    """The document cannot be read; `line` and `column` are 1-based, None where unknown."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def read_document(raw: bytes, limit: int, *, unique: bool = False) -> Any:
    """Return the value of a JSON document.

    Args:
        raw: The file's bytes.
        limit: The most bytes that are read.
        unique: Whether an object with a repeated key is refused.

    Raises:
        UnreadableError: It is too large, nested too deeply, or not JSON; the message begins with a verb.
    """
    if len(raw) > limit:
        raise UnreadableError(f"is larger than {limit:,} bytes")
    if raw.startswith(b"\xef\xbb\xbf"):
        raise UnreadableError("begins with a byte order mark; save it as UTF-8 without one", 1, 1)
    try:
        text = raw.decode("utf-8")
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse) if unique else strict_json(text)
    except UnicodeDecodeError as error:
        raise UnreadableError("is not UTF-8", raw.count(b"\n", 0, error.start) + 1) from None
    except json.JSONDecodeError as error:
        raise UnreadableError(f"is not JSON: {error.msg}", error.lineno, error.colno) from None
    except RecursionError:
        raise UnreadableError(f"nests deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:  # NaN, a number with thousands of digits, or a repeated key
        raise UnreadableError(f"cannot be read: {error}") from None
    if b"\\u" in raw and _has_half_characters(document):
        raise UnreadableError("escapes half a character (a lone surrogate), which is not text")
    # Most documents have fewer brackets than allowed levels, and need no walk.
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH and _too_deep(document):
        raise UnreadableError(f"nests deeper than {MAX_DEPTH} levels")
    return document


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the key {twice[:80]!r} twice")
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _has_half_characters(document: Any) -> bool:
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except RecursionError:
        return False  # the depth has its own finding
    return False


def _too_deep(document: Any) -> bool:
    level = [document]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True
