"""Digests of the files that importing a distribution can run, computed from the files themselves."""

# Strings and os.path: a check handles many names, and Path costs it several times more.
# ruff: noqa: PTH112, PTH113, PTH117, PTH118, PTH119
from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence

from strands_cli.catalog.distributions.dist_info import read_record
from strands_cli.catalog.distributions.module_files import READ_FLAGS
from strands_cli.catalog.import_files import CACHE, files_to_import, modules_of, unlisted_beside

UNREADABLE = "unreadable"
# Installers write these; they differ between two installations of one wheel.
_OF_INSTALLER = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json"}
_CHUNK = 262_144
INITS = ("__init__.py", "__init__.pyc")


def files_of(
    site: str, dist_info: str, locations: Iterable[str], path: Sequence[str] = (), modules: Iterable[str] = ()
) -> tuple[dict[str, str], bool]:
    """Return the digests of a distribution's files by path, and whether it is editable.

    Paths are relative to `site`; those of its `.dist-info` begin with `dist-info/`. Files outside `site` are left out:
    scripts, which name the interpreter of one machine, and data. A file that RECORD does not list is included, and so
    is what Python would import in place of a listed file or beside it: of another portion of a namespace package, for
    example, if no other distribution lists it.

    Args:
        site: The directory or zip archive of `sys.path` that contains it.
        dist_info: Its `*.dist-info`.
        locations: The folders or single files of the packages that contain its tools.
        path: The directories of `sys.path`, in order; without them no file elsewhere is looked for.
    """
    locations = sorted(set(locations))
    if os.path.isfile(site):
        modules = set(modules)
        beside, instead = _beside(modules, path), _imported(modules, path, site)
        return _digests(beside) | _zipped(site, locations) | _digests(instead), False
    editable = any(not _is_below(location, site) for location in locations)
    found = {} if editable else _recorded(site, dist_info)
    for top in sorted({name.partition("/")[0] for name in found if "/" in name and name[:10] != "dist-info/"}):
        found |= _unrecorded(site, top, found)
    for location in locations:
        found |= dict(_package(location))
    own = {name for name in found if not name.startswith("dist-info/")}
    modules = {*modules_of(own), *modules}
    found = _beside(modules, path) | found | _imported(modules, path)
    return _digests(found), editable


def _digests(paths: Mapping[str, str]) -> dict[str, str]:
    return {name: digest for name, path in paths.items() if (digest := digest_of_file(path)) is not None}


def _imported(modules: Iterable[str], path: Sequence[str], archive: str = "") -> dict[str, str]:
    """Return the files that importing modules would run, except those inside an archive."""
    found = {name: file for module in modules for name, file in files_to_import(module, path)} if path else {}
    return {name: file for name, file in found.items() if not (archive and _is_below(file, archive))}


def _beside(modules: Iterable[str], path: Sequence[str]) -> dict[str, str]:
    """Return the files that importing modules could run, since they are in the same namespace packages."""
    return dict(reversed([*unlisted_beside(modules, path)]))


def digest_of_file(path: str) -> str | None:
    """Return the digest of a file; None if the file is missing, `UNREADABLE` if it cannot be read."""
    try:
        descriptor = os.open(path, READ_FLAGS)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a ValueError: the name has a NUL character
        return None
    except OSError:
        return UNREADABLE
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return UNREADABLE
        digest = hashlib.sha256()
        while chunk := os.read(descriptor, _CHUNK):
            digest.update(chunk)
    except OSError:
        return UNREADABLE
    finally:
        os.close(descriptor)
    return f"sha256:{digest.hexdigest()}"


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip(os.sep) + os.sep)


def _recorded(site: str, dist_info: str) -> dict[str, str]:
    folder = os.path.basename(dist_info) + "/"
    names = [row.path for row in read_record(dist_info) or () if is_locked(row.path, folder)]
    return {lock_path(name, folder): f"{site}{os.sep}{name}" for name in names}


def lock_path(name: str, folder: str) -> str:
    """Return a path of RECORD as a lock has it: without the version in the name of the `.dist-info`."""
    return f"dist-info/{name[len(folder) :]}" if name.startswith(folder) else name


def is_locked(name: str, dist_info: str) -> bool:
    """Return whether a path of RECORD is a file that two installations of one wheel share."""
    parts = name.split("/")
    if os.path.isabs(name) or ".." in parts or CACHE in parts:
        return False
    return not (name.startswith(dist_info) and parts[-1] in _OF_INSTALLER)


def _unrecorded(site: str, top: str, recorded: dict[str, str]) -> dict[str, str]:
    """Return every file of a regular package; of a namespace package, the files of the parts that RECORD lists."""
    folder = os.path.join(site, *top.split("/"))
    if any(os.path.lexists(os.path.join(folder, init)) for init in INITS):
        return dict(_walk(folder, top))
    found: dict[str, str] = {}
    depth = top.count("/") + 1
    below = {name.split("/")[depth] for name in recorded if name.startswith(f"{top}/") and name.count("/") > depth}
    for part in below:
        found |= _unrecorded(site, f"{top}/{part}", recorded)
    return found


def _package(location: str) -> Iterator[tuple[str, str]]:
    name = os.path.basename(location)
    if not os.path.isdir(location):
        yield name, location
    elif any(os.path.lexists(os.path.join(location, init)) for init in INITS):
        yield from _walk(location, name)


def _walk(folder: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the files below a folder by their relative path; links are followed, as an import follows them."""
    waiting, seen = [(folder, name)], set()
    while waiting:
        path, relative = waiting.pop()
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        try:
            entries = list(os.scandir(path))
        except OSError:
            yield relative, path  # reading it as a file fails too, so it is reported as unreadable
            continue
        for entry in entries:
            if entry.is_dir():
                waiting += [] if entry.name == CACHE else [(entry.path, f"{relative}/{entry.name}")]
            else:
                yield f"{relative}/{entry.name}", entry.path


def _zipped(archive: str, locations: Iterable[str]) -> dict[str, str]:
    import zipfile  # few paths have archives

    tops = {os.path.relpath(location, archive).replace(os.sep, "/").partition("/")[0] for location in locations}
    try:
        with zipfile.ZipFile(archive) as opened:
            return {
                name: f"sha256:{hashlib.sha256(opened.read(name)).hexdigest()}"
                for name in opened.namelist()
                if name.partition("/")[0] in tops and not name.endswith("/") and CACHE not in name.split("/")
            }
    except (OSError, zipfile.BadZipFile):
        return {os.path.basename(archive): UNREADABLE}
