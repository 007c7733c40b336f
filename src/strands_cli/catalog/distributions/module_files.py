"""Find a module's files without importing anything, not even its parents."""

# Strings and os.path: a listing handles thousands of names, and Path costs it several times more.
# ruff: noqa: PTH113, PTH116, PTH118
from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from importlib.machinery import EXTENSION_SUFFIXES, BuiltinImporter, FrozenImporter, PathFinder

from strands_cli.quick_dataclass import dataclass

_CHUNK = 65_536
# O_NONBLOCK: opening a named pipe must not wait for a writer.
READ_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NONBLOCK"))
_ABSENT = (FileNotFoundError, NotADirectoryError)
_SUFFIXES = (".py", *EXTENSION_SUFFIXES, ".pyc")


@dataclass(frozen=True, slots=True)
class Package:
    """A top-level package or module.

    Attributes:
        name: Its import name.
        directory: Its folder; None for a single file.
        file: Its `__init__` or its single file; None for a namespace package.
    """

    name: str
    directory: str | None
    file: str | None


def find_package(name: str, listings: Mapping[str, frozenset[str]], home: str | None = None) -> Package | None:
    """Find a top-level package as the import system does, in these directories.

    Args:
        name: Without dots: a dotted name would import the parent.
        listings: Directory -> names in it, in path order.
        home: The directory whose part of a namespace package is preferred.

    Returns:
        The first regular package or module on the path, else the namespace package, else the result of other finders
        (those of editable installs), else None.
    """
    namespace: str | None = None
    for directory, names in listings.items():
        folder = f"{directory}{os.sep}{name}"
        if name in names:
            init = _first_file(f"{folder}{os.sep}__init__")
            if init:
                return Package(name, folder, init)
        for suffix in _SUFFIXES:
            if name + suffix in names:
                return Package(name, None, folder + suffix)
        if name in names and (namespace is None or directory == home) and is_directory(folder):
            namespace = folder
    return Package(name, namespace, None) if namespace else _ask_finders(name)


def _ask_finders(name: str) -> Package | None:
    for finder in sys.meta_path:
        if finder in (BuiltinImporter, FrozenImporter, PathFinder):
            continue  # these search the same directories, or worse, the current directory
        try:
            spec = finder.find_spec(name, None)
        except Exception:  # noqa: BLE001, S112 - another package's finder that raises has not found it
            continue
        if spec is None:
            continue
        folders = list(spec.submodule_search_locations or ())
        file = spec.origin if spec.has_location else None
        if folders or file:
            return Package(name, folders[0] if folders else None, file)
    return None


def module_file(package: Package, module: str) -> str | None:
    """Return the file of a dotted module inside its package; None if it does not exist."""
    parts = module.split(".")[1:]
    if not parts:
        return package.file
    if package.directory is None:
        return None
    stem = os.sep.join((package.directory, *parts))
    # A package takes precedence over a module with the same name; most modules have no folder, so one check saves many.
    init = _first_file(os.path.join(stem, "__init__")) if is_directory(stem) else None
    return init or _first_file(stem)


def manifest_directory(package: Package, module: str) -> str | None:
    """Return the folder of the module's manifest: its outermost regular package."""
    folder = package.directory
    if folder is None or package.file is not None:
        return folder
    for part in module.split(".")[1:]:
        folder = os.path.join(folder, part)
        if _first_file(os.path.join(folder, "__init__")):
            return folder
    return package.directory


def read_file(path: str, limit: int) -> bytes | None:
    """Return up to `limit + 1` bytes of a file, also of one inside a zip archive; None if it does not exist.

    Raises:
        OSError: It exists and cannot be read.
    """
    try:
        return read_start(path, limit + 1)
    except _ABSENT:
        return _read_zipped(path, limit)


def read_start(path: str, count: int) -> bytes:
    """Return the first `count` bytes of a file on disk.

    It reads small blocks from the descriptor: a buffered file, or one large read, takes several times as long.

    Raises:
        OSError: It cannot be read.
    """
    descriptor = os.open(path, READ_FLAGS)
    try:
        start = chunk = os.read(descriptor, min(count, _CHUNK))
        while len(chunk) == _CHUNK and len(start) < count:
            chunk = os.read(descriptor, min(count - len(start), _CHUNK))
            start += chunk
    finally:
        os.close(descriptor)
    return start


def is_directory(path: str) -> bool:
    """Return whether the path is a folder, on disk or in a zip archive."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except _ABSENT as error:
        return _may_be_zipped(error) and any(name.startswith(inner + "/") for inner, name in _zipped_names(path))
    except OSError:
        return False


def is_file(path: str) -> bool:
    """Return whether the path is a file, on disk or in a zip archive."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except _ABSENT as error:
        return _may_be_zipped(error) and any(name == inner for inner, name in _zipped_names(path))
    except OSError:
        return False


def _may_be_zipped(error: OSError) -> bool:
    # "Not a directory" means that a parent is a file; Windows does not distinguish the two errors.
    return isinstance(error, NotADirectoryError) or os.name == "nt"


def _first_file(stem: str) -> str | None:
    for suffix in _SUFFIXES:
        if is_file(stem + suffix):
            return stem + suffix
    return None


def _archive_of(path: str) -> tuple[str, str] | None:
    archive, inner = path, ""
    while not os.path.lexists(archive):
        archive, tail = os.path.split(archive)
        if not tail:
            return None
        inner = f"{tail}/{inner}" if inner else tail
    return (archive, inner) if inner and os.path.isfile(archive) else None


def _zipped_names(path: str) -> list[tuple[str, str]]:
    split = _archive_of(path)
    if split is None:
        return []
    import zipfile  # few paths have archives

    try:
        with zipfile.ZipFile(split[0]) as opened:
            return [(split[1], name) for name in opened.namelist()]
    except (OSError, zipfile.BadZipFile):
        return []


def _read_zipped(path: str, limit: int) -> bytes | None:
    split = _archive_of(path)
    if split is None:
        return None
    import zipfile  # few paths have archives

    try:
        with zipfile.ZipFile(split[0]) as opened, opened.open(split[1]) as stream:
            return stream.read(limit + 1)
    except (KeyError, zipfile.BadZipFile):
        return None
