"""The entry points of any group of installed distributions, found without an import."""

from __future__ import annotations

from collections.abc import Iterator

from strands_cli.catalog.distributions.entry_points import EntryPoint, Scan, read_entry_points
from strands_cli.catalog.distributions.scan import scan_installed


def declared_points(group: str, seen: Scan | None = None) -> Iterator[tuple[str, EntryPoint]]:
    """Yield the name of a distribution with each of its entry points of a group; of equal names the first on the path.

    Faults in files of distributions are left out here: `list-tools` and `doctor` report them.
    """
    seen = scan_installed() if seen is None else seen
    for name, copies in seen.records.items():
        for point in read_entry_points(copies[0][1], name, seen, group):
            yield name, point
