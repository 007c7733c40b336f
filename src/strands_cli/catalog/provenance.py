"""Where an installed tool comes from: how it was installed, into which directory, from which file and line."""

# Entries of sys.path are strings and are compared as such.
# ruff: noqa: PTH113, PTH118
from __future__ import annotations

import json
import os
import site
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from strands_cli.catalog.from_source import find_definition
from strands_cli.catalog.module_files import read_file
from strands_cli.catalog.tool_record import ToolRecord

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog

InstallKind = Literal["wheel", "editable", "vcs", "archive", "directory", "zip", "unknown"]
Place = Literal["site", "user-site", "PYTHONPATH", "path"]

MAX_RECORD_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a tool comes from.

    Attributes:
        install: How its distribution was installed: a wheel from an index, or what its `direct_url.json` (PEP 610)
            says; `zip` for an archive on the path; `unknown` where that record is damaged.
        place: What made its directory importable.
        site: That directory.
        url: What it was installed from, without credentials; None for an index.
        commit: The exact VCS commit.
        installer: The program that installed it, as its INSTALLER file says.
        file: The file that defines the tool.
        line: 1-based line of the definition, as far as source tells.
        shadowed: Records of other copies of the distribution further down the path.
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

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON shape that `list-tools --json --source` shows."""
        return asdict(self)


def find_provenance(record: ToolRecord, catalog: Catalog) -> Provenance:
    """Read where a tool comes from; costs a few files and one syntax tree, so only for those who ask."""
    copies = catalog.seen.records[record.distribution]
    dist_info = copies[0][1]
    install, url, commit = _install(dist_info, record.path)
    file, line = find_definition(record, catalog.seen.listings)
    return Provenance(
        install=install,
        place=_place(record.path),
        site=record.path,
        url=url,
        commit=commit,
        installer=(_read(os.path.join(dist_info, "INSTALLER")) or "").strip() or None,
        file=file,
        line=line,
        shadowed=tuple(copy for _, copy in copies[1:]),
    )


def find_sources(record: ToolRecord, catalog: Catalog) -> frozenset[str]:
    """Return how and where a tool is installed in the words of a policy rule; costs one small file.

    A wheel without a record of its origin came from an `index`; `unknown` is among the words where that is not told.
    """
    copies = catalog.seen.records.get(record.distribution)
    if not copies:
        return frozenset({"unknown"})
    install, _, _ = _install(copies[0][1], record.path)
    place = _place(record.path)
    words: set[str] = {"index" if install == "wheel" else install}
    if record.registered_by is not None:
        words.add("hook")
    return frozenset(words | ({place} if place in ("user-site", "PYTHONPATH") else set()))


def _install(dist_info: str, directory: str) -> tuple[InstallKind, str | None, str | None]:
    if os.path.isfile(directory):
        return "zip", None, None
    text = _read(os.path.join(dist_info, "direct_url.json"))
    if text is None:
        # An egg-info beside its package is what `setup.py develop` leaves.
        return ("editable" if dist_info.endswith(".egg-info") else "wheel"), None, None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return "unknown", None, None
    if not isinstance(document, dict) or not isinstance(document.get("url"), str):
        return "unknown", None, None
    return _direct(document, _without_credentials(document["url"]))


def _direct(document: Mapping[str, Any], url: str) -> tuple[InstallKind, str | None, str | None]:
    vcs, folder = document.get("vcs_info"), document.get("dir_info")
    if isinstance(vcs, dict):
        commit = vcs.get("commit_id")
        return "vcs", url, commit if isinstance(commit, str) else None
    if isinstance(folder, dict):
        return ("editable" if folder.get("editable") is True else "directory"), url, None
    return ("archive" if "archive_info" in document else "unknown"), url, None


def _without_credentials(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{mark}{authority.rpartition('@')[2]}{slash}{path}" if mark else url


def _place(directory: str) -> Place:
    real = os.path.realpath(directory)
    if real == os.path.realpath(site.getusersitepackages()):
        return "user-site"
    # Site directories first: naming one in PYTHONPATH again does not change where it comes from.
    if real in {os.path.realpath(known) for known in site.getsitepackages()}:
        return "site"
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return "PYTHONPATH" if real in {os.path.realpath(entry) for entry in entries if entry} else "path"


def _read(path: str) -> str | None:
    try:
        raw = read_file(path, MAX_RECORD_BYTES)
    except OSError:
        return None
    return None if raw is None else raw.decode("utf-8", "replace")
