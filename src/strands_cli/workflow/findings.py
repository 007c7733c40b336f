"""Findings that several checks of a workflow report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from strands_cli.errors import Finding, Where, suggest


class Locator(Protocol):
    """Knows where each part of a workflow is written."""

    def where(self, pointer: str, *, key: bool = False) -> Where:
        """Return the place of a value by its JSON pointer, or that of its key."""


def shown(value: Any) -> str:
    """Return a value of the document for a message, at most 60 characters of it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def unknown(kind: str, name: str, known: Iterable[str], where: Where) -> Finding:
    """Report a name that refers to nothing; `kind` is `agent`, `task`, `route` or `node`."""
    words = list(known)
    fix = suggest(name, words, f"there are: {', '.join(words)}" if words else f"add the {kind}")
    return Finding(f"unknown-{kind}", f"there is no {kind} {name!r}", where, fix)


def no_effect(message: str, where: Where, fix: str | None = "remove it") -> Finding:
    """Report a field that is accepted but changes nothing."""
    return Finding("no-effect", message, where, fix, "warning")


def duplicates(kind: str, ids: Sequence[str], pointer: str, locator: Locator) -> Iterator[Finding]:
    """Report each id of a list that an earlier item has too."""
    firsts: dict[str, int] = {}
    for index, name in enumerate(ids):
        first = firsts.setdefault(name, index)
        if first < index:
            line = locator.where(f"{pointer}/{first}").line
            message = f"two of the {kind} ids are {name!r}, the first in line {line}"
            yield Finding("duplicate-id", message, locator.where(f"{pointer}/{index}/id"), "give each an id of its own")
