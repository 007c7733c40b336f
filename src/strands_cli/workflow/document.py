"""Text to plain values, remembering line and column of every node; every way text can be malformed is a finding."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strands_cli.errors import Finding, InvalidInput, UsageError, Where

MAX_BYTES = 10 * 1024 * 1024
STDIN = "-"

Position = tuple[int, int]


def escape(key: str | int) -> str:
    """Return a key as one token of a JSON pointer (RFC 6901)."""
    return str(key).replace("~", "~0").replace("/", "~1")


@dataclass(frozen=True, slots=True)
class Document:
    """A file that has been read: its text, its value, and where every node stands.

    `value` holds only what JSON can hold; mapping keys are strings. Positions are 1-based lines and columns by JSON
    pointer: `positions` those of the values, `keys` those of the keys of mapping entries. `aliases` says for a node
    that came from an anchor or a merge key which pointer it was written at. `findings` are faults that left a value
    to go on with (a duplicate key, a number that JSON cannot hold); whoever uses the value reports them.
    """

    file: str
    text: str
    value: Any
    positions: Mapping[str, Position]
    keys: Mapping[str, Position] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    def where(self, pointer: str, *, key: bool = False) -> Where:
        """Say where a node stands; an unknown pointer gives the place of its nearest known ancestor.

        Args:
            pointer: JSON pointer of the node; it is kept as it is in the answer.
            key: Whether the key is meant rather than the value. A value that begins on a later line than its key is
                always given the place of its key.
        """
        line, column = self._position(pointer, key)
        return Where(self.file, line, column, pointer)

    def where_in_text(self, pointer: str, line: int | None) -> Where:
        """Say where a line of a text stands (1-based); exact in a literal block (`|`), else the place of the text."""
        start = self._position(pointer, key=False)
        value = self.positions.get(pointer)
        header = self.text.split("\n", value[0])[value[0] - 1][value[1] - 1 :] if value else ""
        if line is None or value is None or not header.startswith("|"):
            return Where(self.file, *start, pointer)
        return Where(self.file, value[0] + line, None, pointer)

    def _position(self, pointer: str, key: bool) -> Position:
        for _ in range(len(self.aliases) + 1):
            if pointer in self.positions:
                break
            place = pointer
            while place and place not in self.positions and place not in self.aliases:
                place = place.rpartition("/")[0]
            if place not in self.aliases:
                pointer, key = place, False
                break
            pointer = self.aliases[place] + pointer[len(place) :]
        value = self.positions.get(pointer, (1, 1))
        at_key = self.keys.get(pointer)
        return at_key if at_key and (key or at_key[0] < value[0]) else value


def read_document(source: Path | str, text: str | None = None) -> Document:
    """Read a YAML or JSON file, or the given text.

    Args:
        source: Path of the file, or `-` for standard input; with `text` only the name that findings show.
        text: The text, if it has been read already.

    Raises:
        UsageError: The file cannot be opened.
        InvalidInput: The text is too large, not UTF-8, or not one well-formed document.
    """
    from strands_cli.workflow.yaml_events import parse  # PyYAML stays off the paths that read nothing

    name = str(source)
    if text is None:
        raw = _read_bytes(name)
        _require_size(len(raw), name)
        text = _decode(raw, name)
    else:
        _require_size(len(text), name)
    text = text.removeprefix("\ufeff")
    return parse(name if name != STDIN else "<stdin>", text)


def _read_bytes(name: str) -> bytes:
    try:
        if name == STDIN:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(name).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        finding = Finding("file-unreadable", f"cannot read {name!r}: {reason}", Where(name), "check the path")
        raise UsageError("the file cannot be read", findings=[finding]) from error


def _require_size(size: int, name: str) -> None:
    if size > MAX_BYTES:
        raise refused("document-too-large", "the text is larger than 10 MB", Where(name), "split the workflow")


def _decode(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        message = f"the text is not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}"
        raise refused("not-utf8", message, Where(name, line, column), "save the file as UTF-8") from error


def refused(code: str, message: str, where: Where, fix: str | None = None) -> InvalidInput:
    """Build the exception for text from which no value can be made."""
    return InvalidInput("the document cannot be read", findings=[Finding(code, message, where, fix)])
