"""`index.json`: the releases of an index with their files, and the one that a name and a specifier mean."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from strands_cli.api import Code, Denied, Finding, InvalidInput, NotEquipped, UsageError, Where, suggest
from strands_cli_index.reading.index_copies import Part, read_part
from strands_cli_index.reading.index_places import PIP, IndexLocation
from strands_cli_index.reading.site_files import (
    FILE,
    MAX_WHEEL_BYTES,
    NAME,
    PROOFS,
    SHA256,
    VERSION,
    WHOLE,
    refused_index,
    require_format,
    strict_json,
)
from strands_cli_index.wheel_facts import normalise

INDEX_LACKS = Code(
    "index-lacks",
    "No plugin index has a distribution of this name, or none of its versions fits.",
    "See what there is: strands plugin search",
)
INDEX_CONFLICT = Code(
    "index-conflict",
    "Two plugin indexes have different files of one version, or different publishers of one name.",
    "Name one: --index URL",
    21,
)


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """One wheel of a release: its file name, its SHA-256 in hex, its size in bytes."""

    name: str
    sha256: str
    size: int
    provenance: str | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """One version of a distribution in one index.

    Attributes:
        place: The index.
        name: Normalised.
        version: As its wheels state it.
        files: Its wheels.
        requires_python: A version specifier, or None.
        publisher: Publisher that the index states, `github:acme/tools`; None for unverified.
        remark: Why the index may be old; None if it is as it is now.
    """

    place: IndexLocation
    name: str
    version: str
    files: tuple[IndexedFile, ...]
    requires_python: str | None = None
    publisher: str | None = None
    remark: str | None = None

    @property
    def index_line(self) -> str:
        """A line for a person about where it is."""
        warning = f"; warning: {self.remark}" if self.remark else ""
        return f"found in the index {self.place}{warning}"


def find_release(name: str, specifier: str, places: Sequence[IndexLocation]) -> Release | None:
    """Return the newest fitting release of a distribution, in the first index with the distribution.

    An index further back is not asked for a newer version: otherwise anyone who can publish there could replace the
    releases in a company's own. Each of them is read all the same, to compare their statements.

    Args:
        specifier: A PEP 440 specifier, or empty.
        places: In order of precedence; `pip` among them ends the search.

    Returns:
        The release; None if pip's own index is to be asked.

    Raises:
        InvalidInput: No index has it, no version fits, or a file of an index is not right.
        NotEquipped: An index cannot be read, and there is no copy of it.
        Denied: Two indexes contradict each other.
    """
    wanted_name = normalise(name)
    names: list[str] = []
    chosen: Release | None = None
    for location in places:
        if location == IndexLocation():
            return chosen
        part = read_part(location, WHOLE)
        releases = [release for release in read_releases(part, location) if release.name == wanted_name]
        if chosen is not None:
            _require_agreement(chosen, releases)
        elif releases:
            chosen = _fitting(releases, specifier)
        else:
            names += [release.name for release in read_releases(part, location)]
    if chosen is None:
        raise _lacking(f"no index has '{wanted_name}'", suggest(wanted_name, sorted(set(names)), _ASK_PIP))
    return chosen


_ASK_PIP = "ask the index of pip: --index pip"


def read_releases(part: Part, location: IndexLocation) -> list[Release]:
    """Return every release of an `index.json`.

    Raises:
        InvalidInput: It is not right.
    """
    where = Where(part.file)
    try:
        document = strict_json(part.raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", None) or type(error).__name__
        line = getattr(error, "lineno", None)
        raise refused_index(f"it is not JSON: {reason}", Where(part.file, line)) from None
    require_format(document, where)
    releases = document.get("releases")
    if not isinstance(releases, list):
        raise refused_index("`releases` is not a list", Where(part.file, pointer="/releases"))
    return [_release(release, f"/releases/{index}", part, location) for index, release in enumerate(releases)]


def _release(value: Any, pointer: str, part: Part, location: IndexLocation) -> Release:
    def fault(key: str, reason: str) -> InvalidInput:
        return refused_index(f"`{key}` {reason}", Where(part.file, pointer=f"{pointer}/{key}" if key else pointer))

    if not isinstance(value, dict):
        raise fault("", "is not an object")
    name, version = value.get("name"), value.get("version")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise fault("name", "is not the normalised name of a distribution")
    if not isinstance(version, str) or not VERSION.fullmatch(version):
        raise fault("version", "is not a version")
    python, publisher = value.get("requires_python"), value.get("publisher")
    if python is not None and not isinstance(python, str):
        raise fault("requires_python", "is not a specifier")
    files = value.get("files")
    if not isinstance(files, list) or not files:
        raise fault("files", "is not a list of wheels")
    indexed_files = []
    for index, file_value in enumerate(files):
        file = _file(file_value, name, version)
        if file is None:
            raise fault(f"files/{index}", "is not a wheel of this name and version, with `sha256` and `size`")
        indexed_files.append(file)
    words = _publisher_words(publisher)
    return Release(location, name, version, tuple(indexed_files), python, words, part.remark)


def _file(value: Any, name: str, version: str) -> IndexedFile | None:
    """Return one wheel; None if anything in it is wrong, such as the name of a file of another distribution."""
    file, digest, size, provenance = (
        value.get(key) if isinstance(value, dict) else None for key in ("file", "sha256", "size", "provenance")
    )
    if not isinstance(file, str) or not FILE.fullmatch(file) or not isinstance(digest, str):
        return None
    parts = file.removesuffix(".whl").split("-")
    if (
        len(parts) not in (5, 6)
        or normalise(parts[0]) != name
        or parts[1].replace("_", "-") != version.replace("_", "-")
    ):
        return None
    if not SHA256.fullmatch(digest) or type(size) is not int or not 0 < size <= MAX_WHEEL_BYTES:
        return None
    if provenance not in (None, *(f"{file}{suffix}" for suffix in PROOFS)):
        return None
    return IndexedFile(file, digest, size, provenance)


def _publisher_words(value: Any) -> str | None:
    if not isinstance(value, dict) or value.get("status") != "verified":
        return None
    kind, repository = value.get("kind"), value.get("repository")
    return f"{kind}:{repository}" if isinstance(kind, str) and isinstance(repository, str) else None


def _fitting(releases: Sequence[Release], specifier: str) -> Release:
    """Return the newest release that fits the specifier; one before its release only where nothing else does."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    versions: dict[Version, Release] = {}
    for release in releases:
        try:
            versions.setdefault(Version(release.version), release)
        except InvalidVersion:
            raise _lacking(
                f"{release.place} has '{release.name}' in {release.version!r}, which is not a version", None
            ) from None
    fitting = list(SpecifierSet(specifier).filter(versions))
    if not fitting:
        there = ", ".join(str(version) for version in sorted(versions, reverse=True)[:10])
        message = f"{releases[0].place} has '{releases[0].name}', but no version that fits {specifier}"
        raise _lacking(message, f"choose one of its versions: {there}")
    return versions[max(fitting)]


def _require_agreement(chosen: Release, others: Sequence[Release]) -> None:
    """Refuse a release of which another index has a different file, or another publisher."""
    for other in others:
        mine = {file.name: file.sha256 for file in chosen.files}
        differing = [file.name for file in other.files if mine.get(file.name, file.sha256) != file.sha256]
        message = None
        if other.version == chosen.version and differing:
            message = f"{chosen.place} and {other.place} have different files {differing[0]}"
        elif chosen.publisher and other.publisher and chosen.publisher != other.publisher:
            message = (
                f"{chosen.place} states that '{chosen.name}' is by {chosen.publisher}, and {other.place} that it is by "
                f"{other.publisher}"
            )
        if message:
            command = f"strands plugin install {chosen.name} --index {shlex.quote(str(chosen.place))}"
            fix = f"if you trust {chosen.place}: {command}"
            raise Denied(message, findings=[Finding(INDEX_CONFLICT, message, None, fix)])


def _lacking(message: str, fix: str | None) -> InvalidInput:
    return InvalidInput(message, findings=[Finding(INDEX_LACKS, message, None, fix)])


def choose_file(release: Release) -> IndexedFile:
    """Return the wheel of a release that fits this interpreter best.

    Raises:
        NotEquipped: None does, or the release needs another Python.
    """
    import platform

    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.tags import sys_tags
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    try:
        requirement = SpecifierSet(release.requires_python or "")
    except InvalidSpecifier:
        requirement = SpecifierSet()
    here = platform.python_version()
    if not requirement.contains(here, prereleases=True):
        message = f"'{release.name}' {release.version} needs Python {release.requires_python}; this is {here}"
        raise NotEquipped(message, fix=f"use such a Python, or another version: {release.name}<{release.version}")
    ranks = {tag: rank for rank, tag in enumerate(sys_tags())}
    fitting = []
    for file in release.files:
        try:
            tags = parse_wheel_filename(file.name)[3]
        except InvalidWheelFilename:
            continue
        fitting += [(ranks[tag], file.name, file) for tag in tags if tag in ranks]
    if not fitting:
        names = ", ".join(file.name for file in release.files[:5])
        raise NotEquipped(f"no wheel of '{release.name}' {release.version} is for this machine: {names}", fix=_ASK_PIP)
    return min(fitting)[2]


def require_locations(places: Sequence[IndexLocation]) -> None:
    """Refuse `pip` where indexes are searched, since its index has no manifests.

    Raises:
        UsageError: It is among them.
    """
    if IndexLocation() in places:
        raise UsageError(f"the index of {PIP} has no manifests to search", fix="name a folder or an address")
