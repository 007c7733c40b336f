"""Describe a package of workflows, agents and skills as a value of a lock: its files, and its YAML content."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.distributions.entry_points import Scan, find_package
from strands_cli.catalog.distributions.scan import search_path
from strands_cli.catalog.installed_files import UNREADABLE, digest_of_file, files_of, files_to_import
from strands_cli.catalog.packaged_files import PackagedFolder
from strands_cli.catalog.publisher_records import pin_of, publisher_of
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import NotEquipped, StrandsCliError
from strands_cli.lock.lock_reader import LockedDistribution, LockedDocument, LockedModule, LockedTool
from strands_cli.toolref import ToolRef

# Describe installed distributions as values of a lock, from metadata and files, without importing a plugin.


_NOTHING: Mapping[str, Iterable[str]] = MappingProxyType({})
_FIELDS = ("description", "input_schema", "output_schema", "annotations", "strands_cli", "entry")


def lock_distributions(
    used: Iterable[ToolRecord], catalog: Catalog, required: Mapping[str, Iterable[str]] = _NOTHING
) -> dict[str, LockedDistribution]:
    """Return the distributions of the used tools, each with all of its tools.

    Args:
        required: The names of the distributions to pin with each one; none by default.
    """
    records: dict[str, list[ToolRecord]] = {}
    for record in used:
        records.setdefault(record.distribution, []).append(record)
    for record in catalog.tools:
        if record.distribution in records and record.status != "broken":
            records[record.distribution].append(record)
    locked = {name: _distribution(name, its, catalog) for name, its in sorted(records.items())}
    return {
        name: distribution._replace(requires=_pins(required.get(name, ()), catalog.scan))
        for name, distribution in locked.items()
    }


def lock_modules(name: str, modules: Iterable[str], scan: Scan, required: Iterable[str]) -> LockedDistribution:
    """Return an installed distribution used for these modules, not for tools: one of hook plugins."""
    site, dist_info = scan.records[name][0]
    modules = set(modules)
    packages = [find_package(module.partition(".")[0], scan.listings, site) for module in modules]
    locations = [location for package in packages if package and (location := package.directory or package.file)]
    files, editable = files_of(site, dist_info, locations, list(scan.listings), modules)
    pins = _pins(required, scan)
    return LockedDistribution(name, scan.version(name), files, {}, editable, pins, publisher_of(name, scan))


def _pins(names: Iterable[str], scan: Scan) -> dict[str, str]:
    return {name: pin for name in names if (pin := pin_of(name, scan)) is not None}


def _distribution(name: str, records: Sequence[ToolRecord], catalog: Catalog) -> LockedDistribution:
    site = records[0].path
    copies = catalog.scan.records.get(name, [])
    dist_info = next((record for directory, record in copies if directory == site), "")
    locations = [record.location for record in records if record.location]
    path = list(catalog.scan.listings)
    files, editable = files_of(site, dist_info, locations, path, {record.module for record in records})
    tools = {tool.name: tool for record in records for tool in _tools(record)}
    publisher = publisher_of(name, catalog.scan)
    return LockedDistribution(name, records[0].version, files, tools, editable, publisher=publisher)


def _tools(record: ToolRecord) -> Iterator[LockedTool]:
    for member in record.members or (record,):
        fields = {name: value for name in _FIELDS if (value := _plain(getattr(member, name)))}
        unknown = member.kind == "unknown" or member.status == "unknown" or member.members is None
        yield LockedTool.of(member.ref_name, {"name": member.ref_name, **fields}, after_load=unknown)


def _plain(value: Any) -> Any:
    """Return a value as JSON; a TOOL_SPEC read from source may contain any Python literal."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else repr(value)


def lock_module(ref: ToolRef, folder: Path, python_path: Sequence[str]) -> LockedModule:
    """Return custom Python with its file and the `__init__` files of its parent packages, without importing it.

    `sys.path` is searched before the folders, as when the module is loaded.

    Args:
        python_path: Folders for custom Python, relative to `folder`.
    """
    path = [*search_path(), *(str((folder / name).resolve()) for name in python_path)]
    digests = {name: digest_of_file(file) for name, file in files_to_import(ref.module or "", path)}
    return LockedModule(ref.canonical, {name: digest for name, digest in digests.items() if digest})


def require_readable(name: str, files: Mapping[str, str]) -> None:
    """Refuse to lock files that cannot be read or named, or a distribution without files.

    Raises:
        NotEquipped: There is such a file, or there is no file.
    """
    bad = sorted(path for path, digest in files.items() if digest == UNREADABLE)
    if bad:
        raise NotEquipped(f"files of {name} cannot be read: {', '.join(bad[:5])}", fix="correct their permissions")
    if unnamed := sorted(path for path in files if path != path.encode("utf-8", "replace").decode()):
        names_text = ", ".join(map(ascii, unnamed[:5]))
        raise NotEquipped(f"files of {name} have names that are not UTF-8: {names_text}", fix="rename or remove them")
    if not files:
        raise NotEquipped(f"no file of {name} is found", fix="install it again, or correct the reference")


# The limits of a lock's entries for the files, so that a person can still read it.
MAX_DOCUMENTS = 100
MAX_FILE_BYTES = 256 * 1024
MAX_FIELDS_BYTES = 64 * 1024
MAX_TEXT = 200
_START = 80
_DEPTH = 30
_SUFFIXES = (".yaml", ".yml", ".json")
# Keys whose text may be a credential, unless it is the name of a variable or a reference to a secret.
_SECRET_KEY = re.compile(r"key|token|secret|passw|credential|auth|cookie", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Z][A-Z0-9_]*|[^$]*\$\{[^}]*\}.*", re.DOTALL)
NOT_STORED = "(not stored: it may be a credential)"


def lock_package(
    name: str,
    folders: Iterable[PackagedFolder],
    scan: Scan,
    required: Iterable[str] = (),
    locked: LockedDistribution | None = None,
) -> LockedDistribution:
    """Return an installed distribution used for its workflows, agents or skills.

    Args:
        folders: Those that it declares.
        required: The names of the distributions to pin with it.
        locked: Its entry in a lock. With the same files its documents are taken over: their digests are the same.
    """
    folders = tuple(folders)
    now = lock_modules(name, {folder.package for folder in folders}, scan, required)
    if locked is not None and locked.files == now.files:
        return now._replace(documents=locked.documents)
    return now._replace(documents=documents_of(folders, scan))


def documents_of(folders: Iterable[PackagedFolder], scan: Scan) -> dict[str, LockedDocument]:
    """Return the content of the YAML and JSON files of folders, by the path that the lock has for each file.

    Recordings, texts and files beyond the limits are left out: of those the lock has the digest alone.
    """
    documents: dict[str, LockedDocument] = {}
    for folder in folders:
        site = scan.records[folder.distribution][0][0]
        package = find_package(folder.package.partition(".")[0], scan.listings, site)
        if package is None or package.directory is None:
            continue
        above = Path(os.path.realpath(package.directory)).parent
        for path in _files_below(Path(folder.folder)):
            file = path.relative_to(above).as_posix() if path.is_relative_to(above) else ""
            if file and file not in documents and len(documents) < MAX_DOCUMENTS and (fields := fields_of(path)):
                documents[file] = LockedDocument.of(file, fields)
    return documents


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that may be documents; links are not followed, and no more is listed than needed."""
    left = 20 * MAX_DOCUMENTS
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        for name in sorted(names)[:left]:
            path = Path(above, name)
            if path.suffix in _SUFFIXES and not path.is_symlink() and path.is_file():
                yield path
        left -= len(names)
        if left <= 0:
            return


def fields_of(path: Path) -> Mapping[str, Any] | None:
    """Return the content of a file, without long texts and possible secrets; None for a file that no lock stores."""
    from strands_cli.yaml_files.document_reader import read_document

    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return None
        value = read_document(path).value
        if not isinstance(value, dict) or "recording" in value:
            return None
        fields = _shortened(value)
        return fields if len(json.dumps(fields).encode()) <= MAX_FIELDS_BYTES else None
    except (OSError, ValueError, StrandsCliError, RecursionError):
        return None


def _shortened(value: Any, key: str = "", depth: int = 0) -> Any:
    if depth > _DEPTH:
        return "..."
    if isinstance(value, dict):
        return {str(name): _shortened(inner, str(name), depth + 1) for name, inner in value.items()}
    if isinstance(value, list):
        return [_shortened(inner, key, depth + 1) for inner in value]
    return _shortened_text(value, key) if isinstance(value, str) else value


def _shortened_text(text: str, key: str) -> str:
    """Return a text as the lock stores it; the digest of a long one shows that its end has changed."""
    from strands_cli.secrets.secret_forms import credentials_in  # half of what a check of a lock may cost

    if next(credentials_in(text), None) or (_SECRET_KEY.search(key) and not _PLAIN.fullmatch(text)):
        return NOT_STORED
    if len(text) <= MAX_TEXT:
        return text
    import hashlib

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:_START]}... ({len(text):,} characters, sha256:{digest[:16]})"
