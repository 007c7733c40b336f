"""Verify that installed files have the hashes and sizes that RECORD states."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from strands_cli.catalog import CACHE, UNREADABLE, Catalog, digest_of_file, files_of
from strands_cli.catalog.files import RecordedFile, find_package, read_origin, read_record
from strands_cli.errors import Code, Finding, Where

FILE_CHANGED = Code(
    "file-changed",
    "An installed file does not have the hash or the size that RECORD states.",
    "Find out who changed it, then install the distribution again.",
)
FILE_MISSING = Code("file-missing", "An installed file is missing.", "Install the distribution again.")
FILE_ADDED = Code(
    "file-added", "A distribution's packages contain a file that was not installed with it.", "Read it, then remove it."
)
NOT_RECORDED = Code(
    "not-recorded",
    "A distribution is installed in place or has no RECORD, so its files cannot be verified.",
    "Install it from a wheel.",
)

_UNHASHED = ("RECORD", "RECORD.jws", "RECORD.p7s")


@dataclass(frozen=True, slots=True)
class Verified:
    """The result for one distribution: the number of compared files, and the findings."""

    name: str
    version: str | None
    compared: int
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Return whether no file is changed, missing or added."""
        return not any(finding.severity == "error" for finding in self.findings)


def verify_distribution(name: str, catalog: Catalog) -> Verified:
    """Compare the files of an installed distribution with its RECORD.

    RECORD is not signed: this finds damage and edits, but not an attacker who rewrites RECORD too. A lock finds that.

    Args:
        name: Normalised name of an installed distribution.
        catalog: The installed tools.
    """
    site, dist_info = catalog.seen.records[name][0]
    version = catalog.seen.version(name)
    rows = read_record(dist_info)
    if rows is None:
        return Verified(name, version, 0, (_unrecorded(name, dist_info),))
    compared = [row for row in rows if _is_hashed(row)]
    locations = _locations(name, catalog)
    present, editable = files_of(site, dist_info, locations)
    findings = [finding for row in compared if (finding := _compared(name, site, row))]
    origin = read_origin(dist_info)
    # Without tools there are no locations, and only the origin says that the code is elsewhere.
    if editable or origin.install == "editable":
        places = ", ".join(locations) or origin.url
        message = f"'{name}' is installed in place: its code is in {places} and may change at any time"
        findings.append(Finding(NOT_RECORDED, message, Where(dist_info), None, "warning"))
    else:
        findings += _added(name, site, dist_info, rows, present)
    return Verified(name, version, len(compared), tuple(findings))


def _locations(name: str, catalog: Catalog) -> list[str]:
    found = {record.location for record in catalog.tools if record.distribution == name and record.location}
    if name == "strands-cli" and (own := find_package("strands_cli", catalog.seen.listings)) and own.directory:
        found.add(own.directory)
    return sorted(found)


def _is_hashed(row: RecordedFile) -> bool:
    parts = row.path.split("/")
    return parts[-1] not in _UNHASHED and CACHE not in parts


def _compared(name: str, site: str, row: RecordedFile) -> Finding | None:
    path = Path(site) / row.path
    found = digest_of_file(str(path))
    where = Where(str(path))
    fix = f"install it again: pip install --force-reinstall --no-deps {name}"
    if found is None:
        return Finding(FILE_MISSING, f"a file of '{name}' is missing: {row.path}", where, fix)
    if found == UNREADABLE:
        return Finding(FILE_CHANGED, f"a file of '{name}' cannot be read: {row.path}", where, fix)
    if not _fits(row, found, path):
        return Finding(FILE_CHANGED, f"a file of '{name}' differs from the installed one: {row.path}", where, fix)
    return None


def _fits(row: RecordedFile, found: str, path: Path) -> bool:
    if row.size and row.size != str(path.stat().st_size):
        return False
    algorithm, _, written = row.digest.partition("=")
    if not written:
        return True
    if algorithm == "sha256":
        digest = bytes.fromhex(found.partition(":")[2])
    elif algorithm in ("sha384", "sha512"):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, algorithm).digest()
    else:
        return False  # RECORD must not have weaker ones
    return base64.urlsafe_b64encode(digest).decode().rstrip("=") == written.rstrip("=")


def _added(
    name: str, site: str, dist_info: str, rows: list[RecordedFile], present: dict[str, str]
) -> Iterator[Finding]:
    folder = Path(dist_info).name
    known = {row.path for row in rows}
    for path in sorted(present):
        recorded = f"{folder}/{path[len('dist-info/') :]}" if path.startswith("dist-info/") else path
        if recorded not in known:
            message = f"the packages of '{name}' contain a file that was not installed with it: {path}"
            yield Finding(FILE_ADDED, message, Where(str(Path(site) / recorded)), "read it, then remove it")


def _unrecorded(name: str, dist_info: str) -> Finding:
    message = f"'{name}' has no RECORD, so its files cannot be verified"
    return Finding(NOT_RECORDED, message, Where(dist_info), f"install it from a wheel: pip install {name}", "warning")
