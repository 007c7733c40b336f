"""Verify that installed files have the hashes and sizes that RECORD states."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.distributions.dist_info import RecordedFile, read_origin, read_record
from strands_cli.catalog.distributions.entry_points import find_package, normalise, read_entry_points
from strands_cli.catalog.installed_files import UNREADABLE, digest_of_file, files_of
from strands_cli.catalog.packaged_files import scan_packaged
from strands_cli.catalog.publisher_records import publisher_of, sources_of
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.default_parts import PART_GROUPS, owner_by_name
from strands_cli.errors import Code, Finding, Where
from strands_cli.hooks.hookspecs import GROUP as HOOKS
from strands_cli.parts.named_parts import Part, parts_of
from strands_cli.policy.decision import SwitchedOn
from strands_cli.publishers import Publisher

# The installed plugins: every distribution that provides tools, hooks, workflows, commands or stores.


@dataclass(frozen=True, slots=True)
class Plugin:
    """An installed distribution of tools, hooks, workflows, or parts that a person names, such as commands.

    `sources` is how and where it was installed; `hooks` names its hook plugins, `hooks_on` the file that enables them,
    None if none does; `hooks_may` is `allow` if that file lets them allow. `packaged` are its workflows, agents and
    skills, each as `workflow triage`. `publisher` is who published it, as was verified on this machine.
    """

    name: str
    version: str | None
    sources: tuple[str, ...]
    tools: tuple[ToolRecord, ...] = ()
    hooks: tuple[str, ...] = ()
    hooks_on: str | None = None
    hooks_may: str | None = None
    packaged: tuple[str, ...] = ()
    publisher: Publisher | None = None
    parts: tuple[Part, ...] = ()

    @property
    def tool_count(self) -> int:
        """The number of its tools; a class or suite whose tools are known only after loading counts as one."""
        return sum(len(record.members) if record.members else 1 for record in self.tools)

    @property
    def status(self) -> str:
        """`ok`, or the number of unusable tools by status."""
        counts: dict[str, int] = {}
        for record in self.tools:
            if record.status not in ("available", "unknown"):
                counts[record.status] = counts.get(record.status, 0) + 1
        return ", ".join(f"{count} {status}" for status, count in counts.items()) or "ok"

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON shape of `strands plugin list --json`."""
        return {
            "name": self.name,
            "version": self.version,
            "sources": list(self.sources),
            "tools": [{"name": tool.ref_name, "status": tool.status, "reason": tool.reason} for tool in self.tools],
            "hooks": list(self.hooks),
            "packaged": list(self.packaged),
            "parts": [{"group": part.group, "name": part.name} for part in self.parts],
            "hooks_on": self.hooks_on,
            "hooks_may": self.hooks_may,
            "publisher": self.publisher.as_dict() if self.publisher is not None else None,
            "status": self.status,
        }


def list_plugins(catalog: Catalog, switched_on: Iterable[SwitchedOn] = ()) -> list[Plugin]:
    """Return every installed distribution that provides any of them, sorted by name, importing none."""
    tools: dict[str, list[ToolRecord]] = {}
    for record in catalog.tools:
        tools.setdefault(record.distribution, []).append(record)
    hooks = {
        name: tuple(sorted(point.name for point in points))
        for name, copies in catalog.scan.records.items()
        if (points := read_entry_points(copies[0][1], name, catalog.scan, HOOKS))
    }
    on = {normalise(hook.word): hook for hook in switched_on}
    packaged: dict[str, list[str]] = {}
    for folder in scan_packaged(list(catalog.scan.listings))[0]:
        packaged.setdefault(folder.distribution, []).append(f"{folder.kind} {folder.name}")
    parts: dict[str, list[Part]] = {}
    for part in (part for group in PART_GROUPS for part in parts_of(group, catalog.scan)):
        if owner_by_name(part.group, part.name) in (None, part.distribution):
            parts.setdefault(part.distribution, []).append(part)
    return [
        replace(
            _plugin(name, catalog, tools.get(name, []), hooks, on),
            packaged=tuple(packaged.get(name, ())),
            parts=tuple(sorted(parts.get(name, ()))),
        )
        for name in sorted({*tools, *hooks, *packaged, *parts})
    ]


def _plugin(
    name: str,
    catalog: Catalog,
    tools: list[ToolRecord],
    hooks: Mapping[str, tuple[str, ...]],
    on: Mapping[str, SwitchedOn],
) -> Plugin:
    publisher = publisher_of(name, catalog.scan)
    adopted = {"adopted"} if any(tool.adopted is not None for tool in tools) else set()
    sources = tuple(sorted({*sources_of(name, catalog.scan), *adopted}))
    plugin = Plugin(name, catalog.version_of(name), sources, tuple(tools), hooks.get(name, ()), *_switch(on.get(name)))
    return replace(plugin, publisher=publisher)


def _switch(on: SwitchedOn | None) -> tuple[str | None, str | None]:
    return (on.origin, "allow" if on.may_allow else None) if on is not None else (None, None)


FILE_CHANGED = Code(
    "file-changed",
    "An installed file does not have the hash or the size of its RECORD.",
    "Find out who changed it, then install the distribution again.",
)
FILE_MISSING = Code("file-missing", "An installed file is missing.", "Install the distribution again.")
FILE_ADDED = Code(
    "file-added", "A distribution's packages contain a file that was not installed with it.", "Read it, then remove it."
)
NOT_RECORDED = Code(
    "not-recorded",
    "A distribution without a RECORD, or installed in place, cannot be verified.",
    "Install it from a wheel.",
)

_UNHASHED = ("RECORD", "RECORD.jws", "RECORD.p7s")


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The result for one distribution: the number of compared files, and the findings."""

    name: str
    version: str | None
    compared: int
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Return whether no file is changed, missing or added."""
        return not any(finding.severity == "error" for finding in self.findings)


def verify_distribution(name: str, catalog: Catalog) -> VerificationResult:
    """Compare the files of an installed distribution with its RECORD.

    RECORD is not signed: this finds damage and edits, but not an attacker who rewrites RECORD too. A lock finds that.

    Args:
        name: Normalised name of an installed distribution.
    """
    site, dist_info = catalog.scan.records[name][0]
    version = catalog.scan.version(name)
    rows = read_record(dist_info)
    if rows is None:
        return VerificationResult(name, version, 0, (_unrecorded(name, dist_info),))
    compared = [row for row in rows if _is_hashed(row)]
    locations = _locations(name, catalog)
    present, editable = files_of(site, dist_info, locations)
    origin = read_origin(dist_info)
    fix = origin.how_to_repair(name)
    findings = [finding for row in compared if (finding := _compared(name, site, row, fix))]
    # Without tools there are no locations, and only the origin says that the code is elsewhere.
    if editable or origin.install == "editable":
        places = ", ".join(locations) or origin.url
        message = f"'{name}' is installed in place: its code is in {places} and may change at any time"
        findings.append(Finding(NOT_RECORDED, message, Where(dist_info), None, "warning"))
    else:
        unknown = _unrecorded_files(dist_info, rows, present)
        others = _recorded_by_others(name, site, catalog) if unknown else {}
        tops = {path.partition("/")[0] for path in unknown}
        hosts = {top: others[f"{top}/__init__.py"] for top in tops if f"{top}/__init__.py" in others}
        findings += _added(name, site, [path for path in unknown if path.partition("/")[0] not in hosts])
        findings += _guests(name, site, rows, hosts)
    return VerificationResult(name, version, len(compared), tuple(findings))


def _locations(name: str, catalog: Catalog) -> list[str]:
    locations = {record.location for record in catalog.tools if record.distribution == name and record.location}
    if name == "strands-cli" and (own := find_package("strands_cli", catalog.scan.listings)) and own.directory:
        locations.add(own.directory)
    return sorted(locations)


def _is_hashed(row: RecordedFile) -> bool:
    parts = row.path.split("/")
    return parts[-1] not in _UNHASHED and "__pycache__" not in parts


def _compared(name: str, site: str, row: RecordedFile, fix: str) -> Finding | None:
    path = Path(site) / row.path
    digest = digest_of_file(str(path))
    where = Where(str(path))
    if digest is None:
        return Finding(FILE_MISSING, f"a file of '{name}' is missing: {row.path}", where, fix)
    if digest == UNREADABLE:
        return Finding(FILE_CHANGED, f"a file of '{name}' cannot be read: {row.path}", where, fix)
    if not _fits(row, digest, path):
        return Finding(FILE_CHANGED, f"a file of '{name}' differs from the installed one: {row.path}", where, fix)
    return None


def _fits(row: RecordedFile, digest_text: str, path: Path) -> bool:
    if row.size and row.size != str(path.stat().st_size):
        return False
    algorithm, _, written = row.digest.partition("=")
    if not written:
        return True
    if algorithm == "sha256":
        digest = bytes.fromhex(digest_text.partition(":")[2])
    elif algorithm in ("sha384", "sha512"):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, algorithm).digest()
    else:
        return False  # RECORD must not have weaker ones
    return base64.urlsafe_b64encode(digest).decode().rstrip("=") == written.rstrip("=")


def _unrecorded_files(dist_info: str, rows: list[RecordedFile], present: dict[str, str]) -> list[str]:
    """Return the files of a distribution's packages that its RECORD does not list, as RECORD would have them."""
    folder = Path(dist_info).name
    paths = (f"{folder}/{path[len('dist-info/') :]}" if path.startswith("dist-info/") else path for path in present)
    return sorted(set(paths) - {row.path for row in rows})


def _recorded_by_others(name: str, site: str, catalog: Catalog) -> dict[str, str]:
    """Return the files that the RECORDs of other distributions in the directory list, with their distribution."""
    copies = (
        (other, copy)
        for other, copies_of_other in catalog.scan.records.items()
        if other != name
        for copy in copies_of_other
    )
    records = ((other, read_record(dist_info) or ()) for other, (directory, dist_info) in copies if directory == site)
    return {row.path: other for other, rows in records for row in rows}


def _added(name: str, site: str, paths: list[str]) -> Iterator[Finding]:
    for path in paths:
        message = f"the packages of '{name}' contain a file that was not installed with it: {path}"
        yield Finding(FILE_ADDED, message, Where(str(Path(site) / path)))


def _guests(name: str, site: str, rows: list[RecordedFile], hosts: dict[str, str]) -> Iterator[Finding]:
    """Yield the files that a distribution has put into packages of others, in place of all files of those."""
    for row in rows:
        if owner := hosts.get(row.path.partition("/")[0]):
            message = f"'{name}' has put a file into a package of '{owner}': {row.path}"
            yield Finding(FILE_ADDED, message, Where(str(Path(site) / row.path)), f"uninstall '{name}'")


def _unrecorded(name: str, dist_info: str) -> Finding:
    message = f"'{name}' has no RECORD, so its files cannot be verified"
    return Finding(NOT_RECORDED, message, Where(dist_info), "install it from a wheel", "warning")
