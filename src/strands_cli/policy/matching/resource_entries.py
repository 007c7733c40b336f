"""Entries of a tool's declared resources, such as `file:{path}`, filled in with the arguments of a call."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

# An entry with more resources than this counts as all resources of its kind.
MAX_NAMES = 64
_ENTRY = re.compile(r"([a-z][a-z0-9_.-]*)(?::(.*))?", re.DOTALL)
_FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")


class FilledEntry(NamedTuple):
    """The resources of an entry: their kind, and their names, or None for all of the kind."""

    kind: str
    names: tuple[str, ...] | None = None


def fields_of_resource(entry: str) -> tuple[str, ...]:
    """Return the fields of the input that an entry such as `file:{path}` names.

    Raises:
        ValueError: It is not a valid entry, and would mean everything.
    """
    found = _ENTRY.fullmatch(entry)
    if entry != "*" and (found is None or set("{}") & set("".join(_FIELD.split(found[2] or "")[::2]))):
        raise ValueError(f"{entry!r} is not 'kind', 'kind:name' with {{field}} in the name, or '*'")
    return tuple(_FIELD.findall(entry))


def fill_entry(entry: Any, arguments: Mapping[str, Any]) -> FilledEntry | None:
    """Return the resources of an entry with these arguments; None if the entry is not valid and means everything."""
    found = _ENTRY.fullmatch(entry) if isinstance(entry, str) else None
    if found is None:
        return None
    kind, template = found[1], found[2] or ""
    *texts, last = _FIELD.split(template)[::2]
    values = [_names(arguments.get(name)) for name in _FIELD.findall(template)]
    if any("{" in text or "}" in text for text in (*texts, last)) or None in values:
        return FilledEntry(kind)
    chosen = itertools.product(*(names for names in values if names is not None))
    filled = tuple(
        "".join((*itertools.chain(*zip(texts, each, strict=True)), last))
        for each in itertools.islice(chosen, MAX_NAMES + 1)
    )
    return FilledEntry(kind, filled if len(filled) <= MAX_NAMES else None)


def _names(value: Any) -> list[str] | None:
    """Return the names in an argument, or None if it has none that can be compared."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, int):
        return [str(value)]
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return list(value)
    return None
