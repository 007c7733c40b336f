"""What a call touches, as its tool declares it: of two calls that touch one thing, one of them writing, one waits."""

from __future__ import annotations

import itertools
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strands_cli.policy.rule import Request

# How many resources one entry may stand for before it is taken for all of its kind.
MAX_NAMES = 64
_ENTRY = re.compile(r"([a-z][a-z0-9_.-]*)(?::(.*))?", re.DOTALL)
_FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")
# Names that may be another name of what a plain one stands for: absolute, a home directory, a mount.
_ELSEWHERE = re.compile(r"[/~@]|[a-z]:/|\.\.(/|$)")


@dataclass(frozen=True, slots=True)
class Resource:
    """A thing by its kind and the parts of its name; without parts it is all of its kind, without a kind everything."""

    kind: str = ""
    parts: tuple[str, ...] = ()

    def overlaps(self, other: Resource) -> bool:
        """Return whether two are the same, or one lies in the other."""
        if not self.kind or not other.kind:
            return True
        common = min(len(self.parts), len(other.parts))
        return self.kind == other.kind and self.parts[:common] == other.parts[:common]


EVERYTHING = Resource()


@dataclass(frozen=True, slots=True)
class Touched:
    """What a call reads and what it writes."""

    reads: tuple[Resource, ...] = ()
    writes: tuple[Resource, ...] = ()

    def conflicts(self, other: Touched) -> bool:
        """Return whether the order of two calls matters."""
        return _meet(self.writes, (*other.writes, *other.reads)) or _meet(self.reads, other.writes)


def _meet(ours: Iterable[Resource], theirs: Sequence[Resource]) -> bool:
    return any(one.overlaps(other) for one in ours for other in theirs)


def touched(request: Request) -> Touched:
    """Return what a call touches; what its tool does not say is unknown, and unknown is everything.

    Args:
        request: The call as policy sees it, its arguments with defaults filled in.
    """
    declared = request.claims.get("resources")
    declared = declared if isinstance(declared, Mapping) else {}
    arguments = request.arguments or {}
    reads, writes = (_resources(declared.get(word), arguments) for word in ("reads", "writes"))
    if not _reads_only(request):
        return Touched(reads, writes)
    if "writes" not in declared:
        return Touched(reads)
    # What it says it writes it only reads this time; who says that it only reads, and what it writes, writes that.
    return Touched((*reads, *writes)) if request.read_only_now else Touched(reads, writes)


def _reads_only(request: Request) -> bool:
    hints, conditional = request.annotations, request.claims.get("read_only_when") is not None
    says_so = hints.get("readOnlyHint") is True
    if says_so and hints.get("destructiveHint") not in (None, False):
        return False
    return request.read_only_now or (says_so and not conditional)


def _resources(entries: Any, arguments: Mapping[str, Any]) -> tuple[Resource, ...]:
    if not isinstance(entries, (list, tuple)):
        return (EVERYTHING,)
    return tuple(resource for entry in entries for resource in _of_entry(entry, arguments))


def fields_of(entry: str) -> tuple[str, ...]:
    """Return the fields of the input that an entry such as `file:{path}` names.

    Raises:
        ValueError: it is no entry, and would stand for everything.
    """
    found = _ENTRY.fullmatch(entry)
    if entry != "*" and (found is None or set("{}") & set("".join(_FIELD.split(found[2] or "")[::2]))):
        raise ValueError(f"{entry!r} is not 'kind', 'kind:name' with {{field}} in the name, or '*'")
    return tuple(_FIELD.findall(entry))


def _of_entry(entry: Any, arguments: Mapping[str, Any]) -> list[Resource]:
    """Return the resources of an entry for these arguments."""
    found = _ENTRY.fullmatch(entry) if isinstance(entry, str) else None
    if found is None:
        return [EVERYTHING]
    kind, template = found[1], found[2] or ""
    *texts, last = _FIELD.split(template)[::2]
    values = [_names(arguments.get(name)) for name in _FIELD.findall(template)]
    if any("{" in text or "}" in text for text in (*texts, last)) or None in values:
        return [Resource(kind)]
    chosen = itertools.product(*(names for names in values if names is not None))
    filled = ["".join((*itertools.chain(*zip(texts, each, strict=True)), last))
              for each in itertools.islice(chosen, MAX_NAMES + 1)]  # fmt: skip
    return [Resource(kind)] if len(filled) > MAX_NAMES else [Resource(kind, _parts(name)) for name in filled]


def _names(value: Any) -> list[str] | None:
    """Return the names that an argument gives, or None where it gives none that could be compared."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, int):
        return [str(value)]
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return list(value)
    return None


def _parts(name: str) -> tuple[str, ...]:
    """Return the parts of a name; spellings that some machine takes for the same are the same."""
    plain = unicodedata.normalize("NFC", name).casefold().replace("\\", "/").strip()
    if not plain or _ELSEWHERE.match(path := posixpath.normpath(plain)):
        return ()
    return () if path == "." else tuple(path.split("/"))
