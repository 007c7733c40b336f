"""Describe a package of workflows, agents and skills as a value of a lock: its files, and what its YAML files say."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from strands_cli.catalog.distributions.entry_points import Scan
from strands_cli.catalog.distributions.module_files import find_package
from strands_cli.catalog.packaged_folders import PackagedFolder
from strands_cli.errors import StrandsCliError
from strands_cli.lock.format.lock_model import LockedDistribution, LockedDocument
from strands_cli.lock.installed_lock import lock_modules
from strands_cli.secrets.credential_texts import credentials_in

# What a lock stores of the files, so that it stays a file that a person can read.
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
    seen: Scan,
    required: Iterable[str] = (),
    known: LockedDistribution | None = None,
) -> LockedDistribution:
    """Return an installed distribution that is used for its workflows, agents or skills.

    Args:
        folders: Those that it declares.
        required: The names of the distributions to pin with it.
        known: What a lock has of it. With the same files its documents are taken over: their digests are the same.
    """
    folders = tuple(folders)
    now = lock_modules(name, {folder.package for folder in folders}, seen, required)
    if known is not None and known.files == now.files:
        return now._replace(documents=known.documents)
    return now._replace(documents=documents_of(folders, seen))


def documents_of(folders: Iterable[PackagedFolder], seen: Scan) -> dict[str, LockedDocument]:
    """Return what the YAML and JSON files of folders say, by the path that the lock has for each file.

    Recordings, texts and files beyond the limits are left out: of those the lock has the digest alone.
    """
    found: dict[str, LockedDocument] = {}
    for folder in folders:
        site = seen.records[folder.distribution][0][0]
        package = find_package(folder.package.partition(".")[0], seen.listings, site)
        if package is None or package.directory is None:
            continue
        above = Path(os.path.realpath(package.directory)).parent
        for path in _files_below(Path(folder.folder)):
            file = path.relative_to(above).as_posix() if path.is_relative_to(above) else ""
            if file and file not in found and len(found) < MAX_DOCUMENTS and (fields := fields_of(path)):
                found[file] = LockedDocument.of(file, fields)
    return found


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
    """Return what a file says, without long texts and what may be secret; None for what a lock does not store."""
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
    if next(credentials_in(text), None) or (_SECRET_KEY.search(key) and not _PLAIN.fullmatch(text)):
        return NOT_STORED
    if len(text) <= MAX_TEXT:
        return text
    import hashlib

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:_START]}... ({len(text):,} characters, sha256:{digest[:16]})"
