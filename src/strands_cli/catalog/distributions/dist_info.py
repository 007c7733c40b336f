"""Read a `.dist-info` directory: recorded files with hashes, origin (PEP 610), entry points and requirements.

RECORD and `direct_url.json` are read without `importlib_metadata`, because `plan` and `list-tools` need them and
importing it takes 15 ms. A test compares the answers with those of the library. A damaged file does not raise here.
"""

# Strings and os.path: a check of a lock handles many names, and Path costs it several times more.
# ruff: noqa: PTH112, PTH118, PTH120
from __future__ import annotations

import json
import os
import posixpath
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from strands_cli.catalog.distributions.entry_points import (
    Scan,
    find_package,
    module_file,
    normalise,
    read_file,
    read_start,
)
from strands_cli.default_parts import CORE
from strands_cli.versions import satisfies

if TYPE_CHECKING:
    from importlib_metadata import Distribution
    from packaging.requirements import Requirement


InstallKind = Literal["wheel", "editable", "vcs", "archive", "directory", "zip", "unknown"]

# A path that may have a shorter form: absolute, with empty segments or dots, or with the slashes of Windows.
_LONG_FORM = re.compile(r"\\|^/|//|^[A-Za-z]:|(?:^|/)\.{1,2}/")

MAX_RECORD_BYTES = 16 * 1024 * 1024
MAX_ORIGIN_BYTES = 65_536
MAX_METADATA_BYTES = 4 * 1024 * 1024


class RecordedFile(NamedTuple):
    """One row of RECORD: path as written, hash (`sha256=...`) and size; the last two are empty where the row has none.

    The path is relative to the directory of the `.dist-info`, or absolute.
    """

    path: str
    digest: str = ""
    size: str = ""


class Origin(NamedTuple):
    """How a distribution was installed, from which URL (without credentials), and the exact VCS commit."""

    install: InstallKind
    url: str | None = None
    commit: str | None = None

    def how_to_get(self, name: str, specifier: str) -> str:
        """Return how to get another version of the distribution."""
        if self.install == "wheel":
            return f"pip install '{name}{specifier}'"
        return f"get {specifier} from {self.url or 'where it came from'}"

    def how_to_repair(self, name: str) -> str:
        """Return how to install the distribution again; an index may have something else by the name of a local one."""
        if self.install == "wheel":
            return f"install it again: pip install --force-reinstall {name}"
        verb = "correct it in" if self.install == "editable" else "install it again from"
        return f"{verb} {self.url or 'where it came from'}"


def read_record(dist_info: str) -> list[RecordedFile] | None:
    """Return the rows of RECORD, each place in its shortest form; None if it cannot be read, as for an egg-info.

    `./pkg/x.py`, `pkg//x.py`, `pkg/../pkg/x.py` and an absolute path are the same file as `pkg/x.py`.
    """
    try:
        raw = read_start(os.path.join(dist_info, "RECORD"), MAX_RECORD_BYTES)
    except OSError:
        return None
    site = os.path.dirname(dist_info)
    return [_recorded(row, site) for row in _rows(raw.decode("utf-8", "surrogateescape")) if row and row[0]]


def read_origin(dist_info: str) -> Origin:
    """Return the origin that `direct_url.json` records; a distribution without that file is a wheel from an index."""
    text = read_text(dist_info, "direct_url.json", MAX_ORIGIN_BYTES)
    if text is None:
        # `setup.py develop` leaves an egg-info beside its package.
        return Origin("editable" if dist_info.endswith(".egg-info") else "wheel")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return Origin("unknown")
    if not isinstance(document, dict) or not isinstance(document.get("url"), str):
        return Origin("unknown")
    return _origin(document, _without_credentials(document["url"]))


def open_distribution(dist_info: str) -> Distribution:
    """Return the metadata, requirements and entry points as `importlib_metadata` reads them.

    Files are read up to a limit, invalid UTF-8 is replaced, and lines of `entry_points.txt` that make the library raise
    are left out; the scan reports those.
    """
    from pathlib import Path

    from importlib_metadata import Distribution

    class InstalledDistribution(Distribution):
        def read_text(self, filename: str | os.PathLike[str]) -> str | None:
            name = os.fspath(filename)
            if not name:
                return ""  # read last when METADATA is missing; None makes some versions of the library raise
            text = read_text(dist_info, name, MAX_METADATA_BYTES)
            return _parsable_lines(text) if text and name == "entry_points.txt" else text

        def locate_file(self, path: str | os.PathLike[str]) -> Path:
            return Path(dist_info).parent / path

    return InstalledDistribution()


def read_text(dist_info: str, name: str, limit: int) -> str | None:
    """Return a file of the directory, which may be in a zip archive; None if it cannot be read."""
    try:
        raw = read_file(os.path.join(dist_info, name), limit)
    except OSError:
        return None
    return None if raw is None else raw.decode("utf-8", "replace")


def _rows(text: str) -> list[list[str]]:
    lines = text.splitlines()
    if '"' in text:
        import csv  # few records quote a path

        with suppress(csv.Error):  # a field is larger than csv's limit
            return list(csv.reader(lines))
    return [line.rsplit(",", 2) for line in lines]


def _recorded(row: list[str], site: str) -> RecordedFile:
    # An additional comma belongs to the path, which the writer did not quote.
    path = ",".join(row[:-2]) if len(row) > 2 else row[0]
    return RecordedFile(_shortest(path, site) if _LONG_FORM.search(path) else path, *row[1:][-2:])


def _shortest(path: str, site: str) -> str:
    """Return the one form of a recorded path: relative to `site` where it is below it, with plain slashes."""
    plain = site.replace(os.sep, "/")
    # Elsewhere than on Windows a file's name may have a backslash.
    slashed = path.replace("\\", "/") if os.name == "nt" or not os.path.lexists(f"{plain}/{path}") else path
    whole = posixpath.normpath(posixpath.join(plain, slashed))
    if plain and whole.startswith(f"{plain}/"):
        return whole[len(plain) + 1 :]
    return posixpath.normpath(slashed if os.name == "nt" else path)


def _origin(document: dict[str, Any], url: str) -> Origin:
    vcs, folder = document.get("vcs_info"), document.get("dir_info")
    if isinstance(vcs, dict):
        commit = vcs.get("commit_id")
        return Origin("vcs", url, commit if isinstance(commit, str) else None)
    if isinstance(folder, dict):
        return Origin("editable" if folder.get("editable") is True else "directory", url)
    return Origin("archive" if "archive_info" in document else "unknown", url)


def _without_credentials(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{mark}{authority.rpartition('@')[2]}{slash}{path}" if mark else url


def _parsable_lines(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if "=" in line or line.startswith(("[", "#")))


# The installed distributions that one leads to by its requirements, and the unmet requirements.


def closures_of(names: Iterable[str], scan: Scan) -> dict[str, set[str]]:
    """Return, for each of these distributions, the installed ones that its requirements lead to, itself included.

    It is empty for an absent one. Requirements are read once for all of them.
    """
    read: dict[str, list[Requirement]] = {}
    return {name: _closure(name, scan, read) for name in names}


def _closure(name: str, scan: Scan, read: dict[str, list[Requirement]]) -> set[str]:
    followed: set[tuple[str, str]] = set()
    waiting = [(name, "")]
    while waiting:
        node = waiting.pop()
        if node[0] in scan.records and node not in followed:
            followed.add(node)
            if node[0] not in read:
                read[node[0]] = _requirements(node[0], scan)
            waiting += _needs(read[node[0]], node[1])
    return {owner_name for owner_name, _ in followed}


def unmet_in_closure(name: str, scan: Scan) -> Iterator[str]:
    """Yield the missing requirements of a distribution, and of those that its requirements lead to."""
    for owner in sorted(closures_of([name], scan)[name]):
        for needed in _in_force(_requirements(owner, scan), ""):
            version = scan.version(needed.name)
            requirement_text = f"{needed.name}{needed.specifier}"
            if version is None:
                yield f"{owner} {scan.version(owner)} needs {requirement_text}, which is not installed"
            elif not needed.specifier.contains(version, prereleases=True):
                yield f"{owner} {scan.version(owner)} needs {requirement_text}, and {version} is installed"


class Unmet(NamedTuple):
    """A requirement of a distribution that this environment does not have, and the command that installs it."""

    message: str
    fix: str
    is_of_core: bool


def unmet_by(distribution: str, scan: Scan) -> Unmet | None:
    """Return a requirement of a distribution that is not installed, or in another version; that of the core first."""
    if distribution not in scan.records:
        return None
    own = [one for one in unmet_in_closure(distribution, scan) if one.startswith(f"{distribution} ")]
    of_core = [one for one in own if re.match(rf"\S+ \S+ needs {CORE}\b(?!-)", one)]
    for message in (of_core or own)[:1]:
        return Unmet(message, f"pip install --upgrade {f'{CORE} ' if of_core else ''}{distribution}", bool(of_core))
    return None


def _requirements(name: str, scan: Scan) -> list[Requirement]:
    """Return the requirements of a distribution, in any case and with any of its extras."""
    requirements = map(_parsed, open_distribution(scan.records[name][0][1]).requires or ())
    return [needed for needed in requirements if needed]


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Requirement | None:
    """Return a requirement; None for an invalid one, which an installer does not follow either."""
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
    """Yield the targets of these requirements: each name without an extra, then with each of its extras."""
    for needed in _in_force(required, extra):
        target = normalise(needed.name)
        yield target, ""
        yield from ((target, extra) for extra in sorted(needed.extras))


# Check a tool's requirements on this machine without importing the tool or its requirements.


_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows", "cygwin": "windows"}
_SIMPLE_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*((?:[<>=!]=?[^;@\[]*)?)")


def unmet(requires: Mapping[str, Any], scan: Scan) -> list[str]:
    """Return the missing requirements, each as a phrase that follows "needs"; empty if all are met."""
    missing = [_python(requires["python"])] if "python" in requires else []
    if systems := requires.get("os"):
        missing.append(_system(systems))
    missing += [_variable(name) for name in requires.get("env", ())]
    missing += [_distribution(text, scan) for text in requires.get("distributions", ())]
    missing += [_module(name, scan) for name in requires.get("modules", ())]
    return [phrase for phrase in missing if phrase]


def _python(specifier: str) -> str | None:
    running = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info.releaselevel != "final":
        import platform  # only the version of a pre-release has more parts

        running = platform.python_version().rstrip("+")
    return _judge(running, specifier, f"Python {specifier} (this is {running})")


def _judge(version: str, specifier: str, phrase: str) -> str | None:
    try:
        return None if satisfies(version, specifier) else phrase
    except ValueError:
        return f"{phrase}; that cannot be compared"


def _system(systems: list[str]) -> str | None:
    running = _SYSTEMS.get(sys.platform, sys.platform)
    names = {_SYSTEMS.get(name.lower(), name.lower()) for name in systems}
    return None if running in names else f"the operating system {' or '.join(sorted(names))} (this is {running})"


def _variable(name: str) -> str | None:
    return None if os.environ.get(name) else f"the environment variable {name}"


def _distribution(text: str, scan: Scan) -> str | None:
    simple = _SIMPLE_REQUIREMENT.fullmatch(text)
    if simple is None:
        return _full_requirement(text, scan)
    return _installed(simple[1], simple[2].strip(), text, scan)


def _installed(name: str, specifier: str, text: str, scan: Scan) -> str | None:
    if normalise(name) not in scan.records:
        return f"the distribution {text!r}: pip install '{text}'"
    version = scan.version(name)
    if not specifier or version is None:
        return None
    return _judge(version, specifier, f"the distribution {text!r} ({version} is installed)")


def _full_requirement(text: str, scan: Scan) -> str | None:
    from packaging.requirements import InvalidRequirement, Requirement  # markers, extras and URLs are rare

    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return f"the distribution {text!r}, which is not a PEP 508 requirement"
    if requirement.marker is not None and not requirement.marker.evaluate():
        return None
    lacking = _installed(requirement.name, str(requirement.specifier), text, scan)
    return lacking or next(
        filter(None, (_extra(requirement.name, extra, text, scan) for extra in requirement.extras)), None
    )


def _extra(name: str, extra: str, text: str, scan: Scan) -> str | None:
    """Return the missing part of an installed distribution's extra; only direct dependencies are checked."""
    from packaging.requirements import InvalidRequirement, Requirement

    installed = open_distribution(scan.records[normalise(name)][0][1])
    provided = {normalise(provided_extra) for provided_extra in installed.metadata.get_all("Provides-Extra") or ()}
    if normalise(extra) not in provided:
        return f"the distribution {text!r}, which has no extra {extra!r}"
    try:
        needs = [Requirement(require) for require in installed.requires or ()]
    except InvalidRequirement as error:
        return f"the distribution {text!r}, whose own requirements cannot be read ({str(error).splitlines()[0]})"
    for needed in needs:
        marker = needed.marker
        if marker is None or marker.evaluate({"extra": ""}) or not marker.evaluate({"extra": extra}):
            continue
        if _installed(needed.name, str(needed.specifier), str(needed), scan):
            return f"the distribution {text!r}, of which {needed.name!r} is missing or of another version: " + (
                f"pip install '{text}'"
            )
    return None


def _module(name: str, scan: Scan) -> str | None:
    if not all(part.isidentifier() for part in name.split(".")):
        return f"the module {name!r}, which is not a module name"
    top = name.partition(".")[0]
    if top in sys.builtin_module_names:
        return None
    package = find_package(top, scan.listings)
    if package and (name == top or module_file(package, name) or _namespace(package.directory, name)):
        return None
    return f"the module {name!r}"


def _namespace(directory: str | None, name: str) -> bool:
    return directory is not None and os.path.isdir(os.path.join(directory, *name.split(".")[1:]))
