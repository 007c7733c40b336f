"""The resources that a call reads and writes, as its tool declares them, which decide the order of calls."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strands_cli.policy.file_places import fill_entry
from strands_cli.policy.rule import Request
from strands_cli.texts.canonical_json import json_object

# Names that may be another name of a relative path: absolute, a home directory, a mount.
_ELSEWHERE = re.compile(r"[/~@]|[a-z]:/|\.\.(/|$)")


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource by its kind and the parts of its name; no parts mean all of the kind, no kind means everything."""

    kind: str = ""
    parts: tuple[str, ...] = ()

    def overlaps(self, other: Resource) -> bool:
        """Return whether the resources are the same, or one contains the other."""
        if not self.kind or not other.kind:
            return True
        common = min(len(self.parts), len(other.parts))
        return self.kind == other.kind and self.parts[:common] == other.parts[:common]


EVERYTHING = Resource()


@dataclass(frozen=True, slots=True)
class TouchedResources:
    """The resources that a call reads and writes."""

    reads: tuple[Resource, ...] = ()
    writes: tuple[Resource, ...] = ()

    def conflicts(self, other: TouchedResources) -> bool:
        """Return whether the order of two calls matters."""
        return _meet(self.writes, (*other.writes, *other.reads)) or _meet(self.reads, other.writes)


def _meet(ours: Iterable[Resource], theirs: Sequence[Resource]) -> bool:
    return any(our.overlaps(other) for our in ours for other in theirs)


def touched(request: Request) -> TouchedResources:
    """Return the resources of a call; undeclared ones are unknown, and unknown means everything.

    Args:
        request: The call for the permission check, its arguments with defaults filled in.
    """
    declared = json_object(request.claims.get("resources"))
    arguments = request.arguments or {}
    reads, writes = (_resources(declared.get(key), arguments) for key in ("reads", "writes"))
    if not _reads_only(request):
        return TouchedResources(reads, writes)
    if "writes" not in declared:
        return TouchedResources(reads)
    # A call with read-only arguments only reads the declared writes; a read-only tool that declares writes contradicts
    # itself, so the writes count.
    return TouchedResources((*reads, *writes)) if request.read_only_now else TouchedResources(reads, writes)


def _reads_only(request: Request) -> bool:
    hints, conditional = request.annotations, request.claims.get("read_only_when") is not None
    is_read_only = hints.get("readOnlyHint") is True
    if is_read_only and hints.get("destructiveHint") not in (None, False):
        return False
    return request.read_only_now or (is_read_only and not conditional)


def _resources(entries: Any, arguments: Mapping[str, Any]) -> tuple[Resource, ...]:
    if not isinstance(entries, (list, tuple)):
        return (EVERYTHING,)
    return tuple(resource for entry in entries for resource in _of_entry(entry, arguments))


def _of_entry(entry: Any, arguments: Mapping[str, Any]) -> list[Resource]:
    """Return the resources of an entry with these arguments."""
    filled = fill_entry(entry, arguments)
    if filled is None:
        return [EVERYTHING]
    if filled.names is None:
        return [Resource(filled.kind)]
    return [Resource(filled.kind, _parts(name)) for name in filled.names]


def _parts(name: str) -> tuple[str, ...]:
    """Return the parts of a name; spellings that some platform treats as equal are equal."""
    plain = unicodedata.normalize("NFC", name).casefold().replace("\\", "/").strip()
    if not plain or _ELSEWHERE.match(path := posixpath.normpath(plain)):
        return ()
    return () if path == "." else tuple(path.split("/"))
