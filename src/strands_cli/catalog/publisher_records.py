"""Publishers that were verified, one small file for each digest of a RECORD: read without sigstore and a network."""

# Strings and os.path, as the catalog has them.
# Entries of sys.path are strings and are compared as such.
# ruff: noqa: PTH112, PTH113, PTH118, PTH119
from __future__ import annotations

import hashlib
import json
import os
import re
import site
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from strands_cli.catalog.distributions.dist_info import (
    MAX_ORIGIN_BYTES,
    InstallKind,
    Origin,
    RecordedFile,
    closures_of,
    read_origin,
    read_record,
    read_text,
)
from strands_cli.catalog.distributions.entry_points import Scan, read_start, record_version
from strands_cli.catalog.from_source import find_definition
from strands_cli.catalog.installed_files import digest_of_file, files_to_import, is_locked, lock_path, modules_of
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.config import user_data_dir
from strands_cli.errors import UsageError
from strands_cli.publishers import Publisher, publisher_from
from strands_cli.quick_dataclass import dataclass

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.catalog.distributions.entry_points import Scan


# Follow the requirements of an installed distribution to its installed dependencies.


HOST = "strands-cli"


def required_distributions(names: Iterable[str], scan: Scan) -> dict[str, list[str]]:
    """Return, for each distribution, the names of those that it requires, and of those that these require, sorted.

    Only installed ones are named, and only for requirements whose markers fit this interpreter. The requirements of
    strands-cli itself are omitted: they are always installed, and change with strands-cli.
    """
    owners = list(names)
    if not owners:
        return {}
    closures = closures_of([HOST, *owners], scan)
    return {name: sorted(closures[name] - closures[HOST] - {HOST, name}) for name in owners}


def pin_of(name: str, scan: Scan) -> str | None:
    """Return the version of an installed distribution, and the digest of its RECORD's files; None if absent.

    The digest covers the paths and hashes that two installations of one wheel share. An editable installation has only
    a version, because its RECORD does not list its code. Files that Python would import in place of a listed one
    follow, each after a `+`, as its path below the directory of `sys.path` and its digest.
    """
    copies = scan.records.get(name)
    if not copies:
        return None
    site, record = copies[0]
    digest = digest_of_record(record)
    instead = _instead(site, record, list(scan.listings)) if digest else ()
    return " ".join(filter(None, (record_version(record) or "unknown", digest, *instead)))


def _instead(site: str, dist_info: str, path: Sequence[str]) -> Iterator[str]:
    folder = os.path.basename(dist_info) + "/"
    own = {row.path for row in read_record(dist_info) or () if is_locked(row.path, folder)}
    modules = modules_of({name for name in own if not name.startswith(folder)})
    for module in sorted(module for module in modules if module not in sys.stdlib_module_names):
        for name, file in files_to_import(module, path):
            if name not in own or file != f"{site}{os.sep}{name}":
                yield f"+{name} {digest_of_file(file)}"


def digest_of_record(dist_info: str) -> str | None:
    """Return the digest of the paths and hashes of RECORD that two installations of one wheel share.

    It is None if there is no RECORD, and for an editable installation, whose code is elsewhere.
    """
    if read_origin(dist_info).install == "editable":
        return None
    return digest_of_rows(dist_info, read_record(dist_info))


def digest_of_rows(dist_info: str, rows: Iterable[RecordedFile] | None) -> str | None:
    """Return the digest of rows of the RECORD in a folder, as `digest_of_record` does; None without any rows."""
    if rows is None:
        return None
    folder = os.path.basename(dist_info) + "/"
    lines = sorted(f"{lock_path(row.path, folder)},{row.digest}\n" for row in rows if is_locked(row.path, folder))
    return f"sha256:{hashlib.sha256(''.join(lines).encode('utf-8', 'surrogateescape')).hexdigest()}"


FOLDER = "publishers"
VERSION = 1
MAX_BYTES = 20_000
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_IMPORTED = ("purelib/", "platlib/")
_PROGRAMS = ("bin", "Scripts")
_KEYS = {"version", "distribution", "release", "file", "sha256", "publisher", "verified"}


class PublisherFacts(NamedTuple):
    """The verified facts of a distribution.

    `file` is the wheel, `sha256` its digest (hexadecimal), and `verified` the day, `2026-11-23`.
    """

    distribution: str
    release: str
    file: str
    sha256: str
    publisher: Publisher
    verified: str


def record_digest(name: str, scan: Scan) -> str | None:
    """Return the digest of the files in the RECORD of an installed distribution, `sha256:...`.

    Two installations of one wheel have the same. It is None if the distribution is editable or has no RECORD.
    """
    copies = scan.records.get(name)
    return digest_of_record(copies[0][1]) if copies else None


def record_digest_of_wheel(dist_info: str, *, is_mixed: bool = False) -> str | None:
    """Return the digest that a wheel will have when it is installed, from its unpacked `*.dist-info`.

    A wheel's own RECORD lists files of other schemes below `NAME.data/`; files that no import reaches are no part of
    it.

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


def publisher_of(name: str, scan: Scan, environ: Mapping[str, str] | None = None) -> Publisher | None:
    """Return the publisher of an installed distribution that was verified on this machine; None is unknown."""
    published = read_publisher_facts(name, scan, environ)
    return published.publisher if published is not None else None


def read_publisher_facts(name: str, scan: Scan, environ: Mapping[str, str] | None = None) -> PublisherFacts | None:
    """Return the verified facts of an installed distribution, by the digest of its RECORD; None if there are none."""
    folder = _folder(environ)
    if folder is None or not os.path.isdir(folder):  # most machines: nothing is read for them
        return None
    digest = record_digest(name, scan)
    if digest is None:
        return None
    try:
        return _read(read_start(os.path.join(folder, _file_name(digest)), MAX_BYTES + 1), name)
    except (OSError, ValueError, RecursionError):
        return None  # an unreadable file counts as absent, and unknown is never safe


def write_publisher_facts(digest: str, published: PublisherFacts, environ: Mapping[str, str] | None = None) -> None:
    """Write the verified facts of a distribution, by the digest of its RECORD.

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


def remove_publisher_facts(digest: str, environ: Mapping[str, str] | None = None) -> None:
    """Remove the verified facts of a distribution, if there are any.

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
    match = _DIGEST.fullmatch(digest)
    if match is None:
        raise ValueError("not a digest")
    return f"{match[1]}.json"


def _read(raw: bytes, name: str) -> PublisherFacts:
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
    return PublisherFacts(publisher=publisher_from(document["publisher"]), **texts)


# The origin of an installed tool: how it was installed, into which directory, and its file and line.


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
    copies = catalog.scan.records.get(record.distribution)
    if not copies:  # adopted, and uninstalled since
        return Provenance("unknown", "path", record.path)
    dist_info = copies[0][1]
    origin = _origin(dist_info, record.path)
    file, line = find_definition(record, catalog.scan.listings)
    return Provenance(
        install=origin.install,
        place=_kind_of_site(record.path),
        site=record.path,
        url=origin.url,
        commit=origin.commit,
        installer=(read_text(dist_info, "INSTALLER", MAX_ORIGIN_BYTES) or "").strip() or None,
        file=file,
        line=line,
        shadowed=tuple(copy for _, copy in copies[1:]),
        publisher=publisher_of(record.distribution, catalog.scan),
    )


def find_sources(record: ToolRecord, catalog: Catalog) -> frozenset[str]:
    """Return how and where a tool is installed, as the sources of a policy rule; it reads one small file.

    A wheel without a recorded origin has the source `index`; a tool with an unreadable origin has `unknown`.
    """
    sources = set(sources_of(record.distribution, catalog.scan))
    if record.adopted is not None:
        sources.add("adopted")
    if record.registered_by is not None and catalog.scan.records.get(record.distribution):
        sources.add("hook")
    return frozenset(sources)


def sources_of(distribution: str, scan: Scan) -> frozenset[str]:
    """Return how and where a distribution is installed, as the sources of a policy rule; it reads one small file."""
    copies = scan.records.get(distribution)
    if not copies:
        return frozenset({"unknown"})
    directory, dist_info = copies[0]
    install = _origin(dist_info, directory).install
    literal = _kind_of_site(directory)
    sources = {"index" if install == "wheel" else install}
    return frozenset(sources | ({literal} if literal in ("user-site", "PYTHONPATH") else set()))


def _origin(dist_info: str, directory: str) -> Origin:
    return Origin("zip") if os.path.isfile(directory) else read_origin(dist_info)


def _kind_of_site(directory: str) -> Place:
    real = os.path.realpath(directory)
    if real == os.path.realpath(site.getusersitepackages()):
        return "user-site"
    # Site directories first: PYTHONPATH may name one of them again.
    if real in {os.path.realpath(getsitepackage) for getsitepackage in site.getsitepackages()}:
        return "site"
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return "PYTHONPATH" if real in {os.path.realpath(entry) for entry in entries if entry} else "path"
