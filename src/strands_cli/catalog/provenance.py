"""The origin of an installed tool: how it was installed, into which directory, and its file and line."""

# Entries of sys.path are strings and are compared as such.
# ruff: noqa: PTH113
from __future__ import annotations

import os
import site
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from strands_cli.catalog.distributions.dist_info import MAX_ORIGIN_BYTES, InstallKind, Origin, read_origin, read_text
from strands_cli.catalog.from_source import find_definition
from strands_cli.catalog.publisher_records import publisher_of
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.publishers import Publisher

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.catalog.distributions.entry_points import Scan

Place = Literal["site", "user-site", "PYTHONPATH", "path"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a tool.

    Attributes:
        install: How its distribution was installed: a wheel from an index, or the kind that its `direct_url.json`
            (PEP 610) states; `zip` for an archive on the path; `unknown` if that file is damaged.
        place: Why its directory is importable.
        site: That directory.
        url: The URL it was installed from, without credentials; None for an index.
        commit: The exact VCS commit.
        installer: The program that installed it, from its INSTALLER file.
        file: The file that defines the tool.
        line: 1-based line of the definition; None if the source does not show it.
        shadowed: Records of other copies of the distribution further down the path.
        publisher: Who published it, as was verified on this machine; None is unknown.
    """

    install: InstallKind
    place: Place
    site: str
    url: str | None = None
    commit: str | None = None
    installer: str | None = None
    file: str | None = None
    line: int | None = None
    shadowed: tuple[str, ...] = ()
    publisher: Publisher | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON shape of `list-tools --json --source`."""
        return asdict(self)


def find_provenance(record: ToolRecord, catalog: Catalog) -> Provenance:
    """Return the origin of a tool; it reads a few files and parses one, so a plain listing does without."""
    copies = catalog.seen.records.get(record.distribution)
    if not copies:  # adopted, and uninstalled since
        return Provenance("unknown", "path", record.path)
    dist_info = copies[0][1]
    origin = _origin(dist_info, record.path)
    file, line = find_definition(record, catalog.seen.listings)
    return Provenance(
        install=origin.install,
        place=_place(record.path),
        site=record.path,
        url=origin.url,
        commit=origin.commit,
        installer=(read_text(dist_info, "INSTALLER", MAX_ORIGIN_BYTES) or "").strip() or None,
        file=file,
        line=line,
        shadowed=tuple(copy for _, copy in copies[1:]),
        publisher=publisher_of(record.distribution, catalog.seen),
    )


def find_sources(record: ToolRecord, catalog: Catalog) -> frozenset[str]:
    """Return how and where a tool is installed, as the sources of a policy rule; it reads one small file.

    A wheel without a recorded origin has the source `index`; a tool with an unreadable origin has `unknown`.
    """
    sources = set(sources_of(record.distribution, catalog.seen))
    if record.adopted is not None:
        sources.add("adopted")
    if record.registered_by is not None and catalog.seen.records.get(record.distribution):
        sources.add("hook")
    return frozenset(sources)


def sources_of(distribution: str, seen: Scan) -> frozenset[str]:
    """Return how and where a distribution is installed, as the sources of a policy rule; it reads one small file."""
    copies = seen.records.get(distribution)
    if not copies:
        return frozenset({"unknown"})
    directory, dist_info = copies[0]
    install = _origin(dist_info, directory).install
    place = _place(directory)
    sources = {"index" if install == "wheel" else install}
    return frozenset(sources | ({place} if place in ("user-site", "PYTHONPATH") else set()))


def _origin(dist_info: str, directory: str) -> Origin:
    return Origin("zip") if os.path.isfile(directory) else read_origin(dist_info)


def _place(directory: str) -> Place:
    real = os.path.realpath(directory)
    if real == os.path.realpath(site.getusersitepackages()):
        return "user-site"
    # Site directories first: PYTHONPATH may name one of them again.
    if real in {os.path.realpath(known) for known in site.getsitepackages()}:
        return "site"
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return "PYTHONPATH" if real in {os.path.realpath(entry) for entry in entries if entry} else "path"
