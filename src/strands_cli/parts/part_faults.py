"""What is wrong with the entry points of a distribution for our groups, as far as its metadata shows it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from strands_cli.catalog.distributions.entry_points import GROUP as TOOLS
from strands_cli.catalog.distributions.entry_points import Scan, read_entry_points
from strands_cli.catalog.distributions.scan import installed_twice, scan_installed
from strands_cli.catalog.packaged_folders import GROUPS as PACKAGED
from strands_cli.default_parts import (
    COMMANDS,
    FILTERS,
    HOOKS,
    MOST_CHARACTERS_OF_A_NAME,
    OPEN_GROUPS,
    PART_GROUPS,
    STORES,
    is_part_name,
)
from strands_cli.errors import Code, Finding, Where, suggest
from strands_cli.parts.named_parts import KINDS, PART_TAKEN, contested_parts, typed_name

UNKNOWN_GROUP = Code(
    "unknown-group",
    "A distribution declares entry points in a group that begins as ours do, and that nothing reads.",
    "Correct the group, or report it to the distribution's author.",
)
BAD_PART_NAME = Code(
    "bad-part-name",
    "The name of a command, a filter, a store or another part is not one that a person could write.",
    "Rename the entry point, or report it to the distribution's author.",
)

_KNOWN = (TOOLS, HOOKS, *PART_GROUPS, *PACKAGED)
_OUR_PREFIX = "strands_cli."
_MOST_SHOWN = 80


class Declared(NamedTuple):
    """One entry point as a distribution declares it, in whatever group."""

    group: str
    name: str
    value: str


def faulty_parts() -> list[Finding]:
    """Return what is wrong with the parts of installed distributions: contested names, and what nothing can use."""
    seen = scan_installed()
    return [*contested_parts(), *(fault for name in seen.records for fault in _installed_faults(name, seen))]


def _installed_faults(name: str, seen: Scan) -> Iterator[Finding]:
    directory, record = seen.records[name][0]
    declared = declared_by(record, name, seen)
    seconds = [other for place, other in seen.records[name][1:] if place == directory]
    has_tools = any(point.group == TOOLS for point in declared)  # reported with the tools
    if seconds and not has_tools and any(point.group in (HOOKS, *PART_GROUPS) for point in declared):
        yield replace(installed_twice(name, record, seconds[0]), severity="warning")
    for fault in declared_faults(name, declared, Where(f"{record}{os.sep}entry_points.txt")):
        if fault.code != PART_TAKEN:  # one of those that are contested
            yield replace(fault, severity="warning", fix=f"report it to the authors of {name}: {fault.fix}")


def declared_by(record: str, name: str, seen: Scan) -> list[Declared]:
    """Return the entry points of an installed distribution in every group."""
    read_entry_points(record, name, seen, COMMANDS)  # reads its file, once for all groups
    return declared_in(seen.texts.get(record, b""))


def declared_in(text: bytes) -> list[Declared]:
    """Return the entry points of an `entry_points.txt` in every group; lines without a group or a `=` are left out."""
    group, found = "", []
    for written in text.decode("utf-8", "replace").splitlines():
        line = written.strip()
        if line.startswith("[") and line.endswith("]"):
            group = line.strip("[]")
        elif group and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.append(Declared(group, name.strip(), value.strip()))
    return found


def declared_faults(distribution: str, declared: Iterable[Declared], where: Where) -> Iterator[Finding]:
    """Yield the groups of a distribution that nothing reads, names that none could write, and names that it has twice.

    Args:
        where: The file that declares them.
    """
    points = list(dict.fromkeys(declared))
    for group in dict.fromkeys(point.group for point in points):
        if is_meant_as_ours(group) and group not in _KNOWN:
            message = (
                f"'{distribution}' declares entry points in the group {group[:_MOST_SHOWN]!r}, which nothing reads"
            )
            yield Finding(UNKNOWN_GROUP, message, where, suggest(group, _KNOWN, f"one of {', '.join(_KNOWN)}"))
    parts = [point for point in points if point.group in PART_GROUPS]
    for part in parts:
        if not is_part_name(part.group, part.name):
            message = f"'{distribution}' has {_shown(part)}, which is not a name for one"
            fix = f"rename it: at most {MOST_CHARACTERS_OF_A_NAME} characters, {_FORMS.get(part.group, _WORD)}"
            yield Finding(BAD_PART_NAME, message, where, fix)
    for (group, name), count in Counter((part.group, part.name) for part in parts).items():
        if count > 1:
            message = f"'{distribution}' claims {_shown(Declared(group, name, ''))} {count} times"
            yield Finding(PART_TAKEN, message, where, "rename all but one of them, or report it to its author")


_SCHEME = "lower-case letters, digits, `+`, `-` and `.`, a letter first"
_WORD = "letters, digits, `-`, `_` and `.`"
_FORMS = {
    COMMANDS: "lower-case words of letters and digits, joined by `-` or `_`, a letter first; for a command of a group "
    f"({', '.join(OPEN_GROUPS)}) after the group's name and a dot",
    FILTERS: "letters, digits and `_`, no digit first",
    STORES: _SCHEME,
}


def is_meant_as_ours(group: str) -> bool:
    """Return whether the name of a group begins as ours do, or almost does."""
    plain = "".join(group.split()).lower()
    return plain.replace("-", "_").startswith(_OUR_PREFIX)


def _shown(part: Declared) -> str:
    named = typed_name(part.group, part.name)
    name = named if len(named) <= _MOST_SHOWN else f"{named[:_MOST_SHOWN]}..."
    return KINDS[part.group].noun.format(name)
