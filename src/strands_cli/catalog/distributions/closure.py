"""The installed distributions that one leads to by its requirements, and those requirements that are not met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from strands_cli.catalog.distributions.dist_info import open_distribution
from strands_cli.catalog.distributions.entry_points import Scan, normalise

if TYPE_CHECKING:
    from packaging.requirements import Requirement


def closures_of(names: Iterable[str], seen: Scan) -> dict[str, set[str]]:
    """Return, for each of these distributions, the installed ones that its requirements lead to, itself included.

    It is empty for one that is not installed. What one of them has read is not read again for the next.
    """
    read: dict[str, list[Requirement]] = {}
    return {name: _closure(name, seen, read) for name in names}


def _closure(name: str, seen: Scan, read: dict[str, list[Requirement]]) -> set[str]:
    followed: set[tuple[str, str]] = set()
    waiting = [(name, "")]
    while waiting:
        place = waiting.pop()
        if place[0] in seen.records and place not in followed:
            followed.add(place)
            if place[0] not in read:
                read[place[0]] = _requirements(place[0], seen)
            waiting += _needs(read[place[0]], place[1])
    return {one for one, _ in followed}


def unmet_in_closure(name: str, seen: Scan) -> Iterator[str]:
    """Yield what a distribution, or one that its requirements lead to, requires and this environment does not have."""
    for owner in sorted(closures_of([name], seen)[name]):
        for needed in _in_force(_requirements(owner, seen), ""):
            version = seen.version(needed.name)
            wanted = f"{needed.name}{needed.specifier}"
            if version is None:
                yield f"{owner} {seen.version(owner)} needs {wanted}, which is not installed"
            elif not needed.specifier.contains(version, prereleases=True):
                yield f"{owner} {seen.version(owner)} needs {wanted}, and {version} is installed"


def _requirements(name: str, seen: Scan) -> list[Requirement]:
    """Return what a distribution requires, in any case and with any of its extras."""
    found = map(_parsed, open_distribution(seen.records[name][0][1]).requires or ())
    return [needed for needed in found if needed]


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Requirement | None:
    """Return a requirement; None for one that is not valid, which an installer does not follow either."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def _in_force(required: list[Requirement], extra: str) -> Iterator[Requirement]:
    """Yield those of a distribution's requirements that hold with one extra on this interpreter."""
    for needed in required:
        if needed.marker is None or needed.marker.evaluate({"extra": extra}):
            yield needed


def _needs(required: list[Requirement], extra: str) -> Iterator[tuple[str, str]]:
    """Yield what these requirements lead to: each name without an extra, then with each of its extras."""
    for needed in _in_force(required, extra):
        target = normalise(needed.name)
        yield target, ""
        yield from ((target, one) for one in sorted(needed.extras))
