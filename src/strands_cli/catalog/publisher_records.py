"""Publishers that were verified, one small file for each digest of a RECORD: read without sigstore and a network."""

# Strings and os.path, as the catalog has them.
# ruff: noqa: PTH112, PTH118
from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from strands_cli.catalog.dependencies import digest_of_record, digest_of_rows
from strands_cli.catalog.distributions.dist_info import RecordedFile, read_record
from strands_cli.catalog.distributions.entry_points import Scan
from strands_cli.catalog.distributions.module_files import read_start
from strands_cli.config import user_data_dir
from strands_cli.errors import UsageError
from strands_cli.publishers import Publisher, publisher_from

FOLDER = "publishers"
VERSION = 1
MAX_BYTES = 20_000
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_IMPORTED = ("purelib/", "platlib/")
_PROGRAMS = ("bin", "Scripts")
_KEYS = {"version", "distribution", "release", "file", "sha256", "publisher", "verified"}


class Published(NamedTuple):
    """What was verified of a distribution.

    `file` is the wheel, `sha256` its digest (hexadecimal), and `verified` the day, `2026-11-23`.
    """

    distribution: str
    release: str
    file: str
    sha256: str
    publisher: Publisher
    verified: str


def record_digest(name: str, seen: Scan) -> str | None:
    """Return the digest of what the RECORD of an installed distribution lists, `sha256:...`.

    Two installations of one wheel have the same. It is None if the distribution is editable or has no RECORD.
    """
    copies = seen.records.get(name)
    return digest_of_record(copies[0][1]) if copies else None


def record_digest_of_wheel(dist_info: str, *, is_mixed: bool = False) -> str | None:
    """Return the digest that a wheel will have when it is installed, from its unpacked `*.dist-info`.

    A wheel's own RECORD lists files of other schemes below `NAME.data/`; what is not importable is not part of it.

    Args:
        is_mixed: Whether an installer has put everything into one folder, programs too.
    """
    rows: list[RecordedFile] = []
    for row in read_record(dist_info) or ():
        top, _, rest = row.path.partition("/")
        if is_mixed and top in _PROGRAMS:
            continue
        if not top.endswith(".data"):
            rows.append(row)
        elif rest.startswith(_IMPORTED):
            rows.append(row._replace(path=rest.partition("/")[2]))
    return digest_of_rows(dist_info, rows or None)


def publisher_of(name: str, seen: Scan, environ: Mapping[str, str] | None = None) -> Publisher | None:
    """Return the publisher of an installed distribution that was verified on this machine; None is unknown."""
    published = read_published(name, seen, environ)
    return published.publisher if published is not None else None


def read_published(name: str, seen: Scan, environ: Mapping[str, str] | None = None) -> Published | None:
    """Return what was verified of an installed distribution, by the digest of its RECORD; None if nothing was."""
    folder = _folder(environ)
    if folder is None or not os.path.isdir(folder):  # most machines: nothing is read for them
        return None
    digest = record_digest(name, seen)
    if digest is None:
        return None
    try:
        return _read(read_start(os.path.join(folder, _file_name(digest)), MAX_BYTES + 1), name)
    except (OSError, ValueError, RecursionError):
        return None  # what cannot be read says nothing, and unknown is never safe


def write_published(digest: str, published: Published, environ: Mapping[str, str] | None = None) -> None:
    """Write what was verified of a distribution, by the digest of its RECORD.

    Raises:
        OSError: The file cannot be written.
        UsageError: The process has no home directory.
    """
    from strands_cli.system.atomic_file import write_atomically

    folder = user_data_dir(os.environ if environ is None else environ) / FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    document = {"version": VERSION, **published._asdict(), "publisher": published.publisher.as_dict()}
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=True) + "\n"
    write_atomically(folder / _file_name(digest), text.encode(), force=True, mode=0o600)


def remove_published(digest: str, environ: Mapping[str, str] | None = None) -> None:
    """Remove what was verified of a distribution, if there is anything.

    Raises:
        OSError: The file cannot be removed.
    """
    if (folder := _folder(environ)) is not None:
        Path(folder, _file_name(digest)).unlink(missing_ok=True)


def _folder(environ: Mapping[str, str] | None) -> str | None:
    try:
        return str(user_data_dir(os.environ if environ is None else environ) / FOLDER)
    except UsageError:
        return None


def _file_name(digest: str) -> str:
    found = _DIGEST.fullmatch(digest)
    if found is None:
        raise ValueError("not a digest")
    return f"{found[1]}.json"


def _read(raw: bytes, name: str) -> Published:
    if len(raw) > MAX_BYTES:
        raise ValueError("larger than what is written")
    document: Any = json.loads(raw)
    if not isinstance(document, dict) or set(document) != _KEYS or document["version"] != VERSION:
        raise ValueError("not what is written")
    texts = {key: document[key] for key in ("distribution", "release", "file", "sha256", "verified")}
    if not all(isinstance(text, str) for text in texts.values()) or not _DAY.fullmatch(texts["verified"]):
        raise ValueError("not what is written")
    if texts["distribution"] != name:
        raise ValueError("of another distribution")
    return Published(publisher=publisher_from(document["publisher"]), **texts)
