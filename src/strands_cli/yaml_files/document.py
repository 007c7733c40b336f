"""A document as plain values with the line and column of every node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from strands_cli.errors import Code, Edit, Finding, InvalidInput, Where
from strands_cli.quick_dataclass import dataclass

DOCUMENT_TOO_LARGE = Code(
    "document-too-large",
    "A text of more than 10 MB or 200,000 values, or more entries of one kind than are checked.",
    "Split it.",
)

Position = tuple[int, int]


def escape(key: str | int) -> str:
    """Return a key as one token of a JSON pointer (RFC 6901)."""
    text = str(key)
    return text.replace("~", "~0").replace("/", "~1") if "~" in text or "/" in text else text


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file.

    Positions are 1-based lines and columns by JSON pointer.

    Attributes:
        value: JSON; the keys of mappings are strings.
        positions: Those of the values.
        keys: Those of the keys of mappings.
        aliases: For a node that comes from an anchor or a merge key, the pointer at which it is written.
        written: The text of each value that its JSON would spell otherwise: `1.10`, `0x1F`, `True`, `~`.
        findings: Mistakes in spite of which there is a value (a duplicate key, a number that JSON does not have).
    """

    file: str
    text: str
    value: Any
    positions: Mapping[str, Position]
    keys: Mapping[str, Position] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    written: Mapping[str, str] = field(default_factory=dict)

    def text_at(self, pointer: str) -> str | None:
        """Return how a value is written where its JSON would spell it otherwise; also of one behind an alias."""
        if not self.written:
            return None
        ancestor = pointer
        while ancestor and ancestor not in self.aliases:
            ancestor = ancestor.rpartition("/")[0]
        return self.written.get(self.aliases[ancestor] + pointer[len(ancestor) :] if ancestor else pointer)

    def where(self, pointer: str, *, key: bool = False) -> Where:
        """Return the place of a node; an unknown pointer gives the place of its nearest known ancestor.

        Args:
            pointer: JSON pointer of the node; the answer repeats it.
            key: Whether the key is meant rather than the value. For a value that begins on a later line than its key
                it is always the key.
        """
        line, column = self._position(pointer, key)
        return Where(self.file, line, column, pointer)

    def first_too_large(self, parts: Mapping[str, tuple[Any, int]]) -> Finding | None:
        """Return the finding about more entries than are checked in a bounded time.

        Args:
            parts: The list or mapping at each pointer, and how many entries it may have.
        """
        for pointer, (part, most) in parts.items():
            if isinstance(part, (dict, list)) and len(part) > most:
                message = f"this has {len(part):,} entries, and {most:,} are the most"
                return Finding(DOCUMENT_TOO_LARGE, message, self.where(pointer, key=True), "split the file")
        return None

    def where_in_text(self, pointer: str, line: int | None) -> Where:
        """Return the place of a line (1-based) of a text, exact in a literal block (`|`), else that of the text."""
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
            ancestor = pointer
            while ancestor and ancestor not in self.positions and ancestor not in self.aliases:
                ancestor = ancestor.rpartition("/")[0]
            if ancestor not in self.aliases:
                pointer, key = ancestor, False
                break
            pointer = self.aliases[ancestor] + pointer[len(ancestor) :]
        value = self.positions.get(pointer, (1, 1))
        at_key = self.keys.get(pointer)
        return at_key if at_key and (key or at_key[0] < value[0]) else value


def refused(code: Code, message: str, where: Where, fix: str | None = None, *edits: Edit) -> InvalidInput:
    """Build the exception for text from which no value can be made."""
    return InvalidInput("the document cannot be read", findings=[Finding(code, message, where, fix, edits=edits)])
