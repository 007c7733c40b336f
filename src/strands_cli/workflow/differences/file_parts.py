"""One difference as a row for people, and the parts of a file that it is about, as the file is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.yaml import escape

# Takes a file and the codes of the row.
Concerns = Callable[[Loaded, Sequence[str]], Iterable[str]]


def nowhere(_loaded: Loaded, _codes: Sequence[str]) -> tuple[str, ...]:
    """Return no pointer: the row is about the program, not about what a file says."""
    return ()


@dataclass(frozen=True, slots=True)
class Difference:
    """One row of the migration page.

    Attributes:
        item: The number of its subject, for tests; 0 for what is stricter in both versions.
        name: Its stable name, for programs.
        subject: What it is about, in a few words.
        earlier: What it means in version 0, without a full stop.
        now: What it means in version 1; empty: the same.
        reported_as: The codes of the findings that report it, each in backticks.
        concerns: Returns the JSON pointers of the parts of a file that it is about.
    """

    item: int
    name: str
    subject: str
    earlier: str
    now: str
    reported_as: str = ""
    concerns: Concerns = nowhere

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the findings that report it."""
        return tuple(re.findall("`([^`]+)`", self.reported_as))

    @property
    def looks_at_files(self) -> bool:
        """Whether it can be about a part of a file."""
        return self.concerns is not nowhere


def found(below: str = "") -> Concerns:
    """Return what finds the places of the findings of a row, below a pointer."""

    def concerns(loaded: Loaded, codes: Sequence[str]) -> Iterator[str]:
        places = [one.where for one in loaded.findings if one.code in codes]
        yield from (place.pointer for place in places if place is not None and place.pointer.startswith(below))

    return concerns


def at(pattern: str, accept: Callable[[Any], object] = lambda _value: True) -> Concerns:
    """Return what finds the values of a file by their pointer, a regular expression, and by what they are."""
    fits = re.compile(pattern).fullmatch

    def concerns(loaded: Loaded, _codes: Sequence[str]) -> Iterator[str]:
        yield from (pointer for pointer, value in nodes(loaded.document.value) if fits(pointer) and accept(value))

    return concerns


def texts(pattern: str, below: str = "") -> Concerns:
    """Return what finds the texts of a file below a pointer, a regular expression, that hold another one."""
    has = re.compile(pattern).search
    return at(f"{below}/.*", lambda value: isinstance(value, str) and has(value))


def both(*several: Concerns) -> Concerns:
    """Return what finds all that several find."""
    return lambda loaded, codes: (pointer for one in several for pointer in one(loaded, codes))


def written_at(loaded: Loaded, pointer: str) -> Any:
    """Return the value that a file has at a pointer, or None."""
    return next((value for place, value in nodes(loaded.document.value) if place == pointer), None)


def nodes(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value of a document with its pointer."""
    yield pointer, value
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for name, item in items:
        yield from nodes(item, f"{pointer}/{escape(name)}")
