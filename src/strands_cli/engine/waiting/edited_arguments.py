"""Arguments of a call that a person has changed: put into the proposed ones, compared with them, and in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from strands_cli.texts.canonical_json import canonical_json
from strands_cli.texts.phrases import short_json

# No JSON: one of the two sides of a change has nothing there.
ABSENT = object()
# The most characters of a value in the words about a change.
MAX_SHOWN = 200
# What a redactor writes in place of a secret or personal data.
_MARKS = re.compile(r"\[[a-z -]{1,40}\]")

# A place in the arguments, with the value there before and after the change.
Change = tuple[str, Any, Any]


class HiddenPartError(Exception):
    """A changed text has the mark of a hidden part, whose real text the person has not seen; it names its place."""


def with_changes(arguments: Any, shown: Any, edited: Any, place: str = "") -> Any:
    """Return arguments with the changes that a person has made in them as they were shown, without secrets.

    Raises:
        HiddenPartError: A changed text has a hidden part.
    """
    if isinstance(edited, Mapping):
        parts, shown_parts = _items(arguments), _items(shown)
        return {
            name: with_changes(parts.get(name, ABSENT), shown_parts.get(name, ABSENT), value, _below(place, name))
            for name, value in edited.items()
        }
    if isinstance(edited, list) and isinstance(shown, list) and len(edited) == len(shown) == len(arguments):
        parts_of_lists = zip(arguments, shown, edited, strict=True)
        return [with_changes(*values, f"{place}[{index}]") for index, values in enumerate(parts_of_lists)]
    if _is_same(edited, shown):
        return arguments
    if any(mark in str(edited) for mark in _MARKS.findall(str(shown)) if mark not in str(arguments)):
        raise HiddenPartError(place)
    return edited


def changes_between(before: Any, after: Any, place: str = "") -> Iterator[Change]:
    """Yield the smallest places in which arguments differ."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys([*before, *after]):
            yield from changes_between(before.get(name, ABSENT), after.get(name, ABSENT), _below(place, name))
    elif not _is_same(before, after):
        yield place, before, after


def _is_same(left: Any, right: Any) -> bool:
    """Return whether two values are the same JSON, in which 1 is neither true nor 1.0."""
    return left is right or (ABSENT not in (left, right) and canonical_json(left) == canonical_json(right))


def change_lines(changes: Iterable[Change]) -> list[str]:
    """Return changes in words, one line each."""
    return [_in_words(*change) for change in changes]


def _in_words(place: str, before: Any, after: Any) -> str:
    if before is ABSENT:
        return f"added `{place}`: {short_json(after, MAX_SHOWN)}"
    if after is ABSENT:
        return f"removed `{place}`, which was {short_json(before, MAX_SHOWN)}"
    return f"`{place}` from {short_json(before, MAX_SHOWN)} to {short_json(after, MAX_SHOWN)}"


def _items(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
