"""The installed distributions that one leads to by its requirements, and those requirements that are not met."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from strands_cli.catalog.distributions.entry_points import Scan, normalise
from strands_cli.catalog.files import open_distribution

if TYPE_CHECKING:
    from packaging.requirements import Requirement


def closure_of(name: str, seen: Scan) -> set[str]:
    """Return the installed distributions that requirements lead to, this one included; empty if it is not installed."""
    followed: set[tuple[str, str]] = set()
    waiting = [(name, "")]
    while waiting:
        place = waiting.pop()
        if place[0] in seen.records and place not in followed:
            followed.add(place)
            waiting += _needs(*place, seen)
    return {one for one, _ in followed}


def unmet_in_closure(name: str, seen: Scan) -> Iterator[str]:
    """Yield what a distribution, or one that its requirements lead to, requires and this environment does not have."""
    for owner in sorted(closure_of(name, seen)):
        for needed in _requirements(owner, "", seen):
            version = seen.version(needed.name)
            wanted = f"{needed.name}{needed.specifier}"
            if version is None:
                yield f"{owner} {seen.version(owner)} needs {wanted}, which is not installed"
            elif not needed.specifier.contains(version, prereleases=True):
                yield f"{owner} {seen.version(owner)} needs {wanted}, and {version} is installed"


def _requirements(name: str, extra: str, seen: Scan) -> Iterator[Requirement]:
    """Yield what a distribution with one extra requires on this interpreter."""
    from packaging.requirements import InvalidRequirement, Requirement

    for text in open_distribution(seen.records[name][0][1]).requires or ():
        try:
            needed = Requirement(text)
        except InvalidRequirement:
            continue  # an installer does not follow it either
        if needed.marker is None or needed.marker.evaluate({"extra": extra}):
            yield needed


def _needs(name: str, extra: str, seen: Scan) -> Iterator[tuple[str, str]]:
    """Yield what a distribution with one extra requires: each name without an extra, then with each of its extras."""
    for needed in _requirements(name, extra, seen):
        target = normalise(needed.name)
        yield target, ""
        yield from ((target, one) for one in sorted(needed.extras))
