"""Read a `.dist-info` directory: recorded files with hashes, origin (PEP 610), entry points and requirements.

RECORD and `direct_url.json` are read without `importlib_metadata`, because `plan` and `list-tools` need them and
importing it takes 15 ms. A test compares the answers with those of the library. A damaged file does not raise here.
"""

# Strings and os.path: a check of a lock handles many names, and Path costs it several times more.
# ruff: noqa: PTH118, PTH120
from __future__ import annotations

import json
import os
import posixpath
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from strands_cli.catalog.distributions.module_files import read_file, read_start

if TYPE_CHECKING:
    from importlib_metadata import Distribution

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

    Files are read up to a limit, bytes that are not UTF-8 are replaced, and lines of `entry_points.txt` that make the
    library raise are left out; the scan reports those.
    """
    from pathlib import Path

    from importlib_metadata import Distribution

    class Installed(Distribution):
        def read_text(self, filename: str | os.PathLike[str]) -> str | None:
            name = os.fspath(filename)
            if not name:
                return ""  # read last when METADATA is missing; None makes some versions of the library raise
            text = read_text(dist_info, name, MAX_METADATA_BYTES)
            return _parsable_lines(text) if text and name == "entry_points.txt" else text

        def locate_file(self, path: str | os.PathLike[str]) -> Path:
            return Path(dist_info).parent / path

    return Installed()


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
