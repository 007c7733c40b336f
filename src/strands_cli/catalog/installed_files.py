"""Digests of the files that importing a distribution can run, computed from the files themselves."""

# Strings and os.path, as the catalog has them.
# ruff: noqa: PTH112, PTH113, PTH117, PTH118, PTH119, PTH120, PTH208
from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder

from strands_cli.catalog.distributions.dist_info import read_record
from strands_cli.catalog.distributions.entry_points import READ_FLAGS, find_package

# Ask Python's own finder which files importing a module would run, or could, without importing anything.


CACHE = "__pycache__"
_MODULES = (".py", ".pyc", *EXTENSION_SUFFIXES)
_DIST_INFO = ".dist-info"


def files_to_import(module: str, path: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the files that importing a module would run, those of its parents first, each with its name below the path.

    `nsroot/part/tool.py` is the name of a module in a namespace package, whichever of its portions has the file.

    Args:
        path: The directories of `sys.path`, in order.
    """
    parts = module.split(".")
    search: Sequence[str] = path
    for depth, part in enumerate(parts):
        file, search = _file_of_module(part, search, is_top=depth == 0)
        if file:
            folder = parts[: depth + 1] if search else parts[:depth]
            yield "/".join([*folder, os.path.basename(file)]), file
        if not search:
            return


def unlisted_beside(modules: Iterable[str], path: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the files of Python in the namespace packages of modules that no distribution lists, with their names.

    The code beside them can import these, and one that was absent before is imported as soon as it is there.
    """
    for top in sorted({module.partition(".")[0] for module in modules} if path else ()):
        file, portions = _file_of_module(top, path, is_top=True)
        for portion in () if file else portions:
            inside = dict(_python_in(portion, top))
            listed = _listed(os.path.dirname(portion)) if inside else set()
            yield from ((name, file_inside) for name, file_inside in inside.items() if name not in listed)


def _python_in(folder: str, name: str) -> Iterator[tuple[str, str]]:
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(inner for inner in folders if inner != CACHE)
        below = os.path.relpath(path, folder).replace(os.sep, "/")
        start = name if below == "." else f"{name}/{below}"
        yield from ((f"{start}/{file}", os.path.join(path, file)) for file in sorted(files) if file.endswith(_MODULES))


def _listed(site: str) -> set[str]:
    infos = [os.path.join(site, name) for name in os.listdir(site) if name.endswith(_DIST_INFO)]
    return {row.path for info in infos for row in read_record(info) or ()}


def _file_of_module(name: str, path: Sequence[str], *, is_top: bool) -> tuple[str | None, Sequence[str]]:
    """Return the file of a module, and the folders of its submodules."""
    try:
        # Without the parents' names: the finder would look for those among the imported modules.
        spec = PathFinder.find_spec(name, path)
    except Exception:  # noqa: BLE001 - a path hook of another package that raises has not found it
        spec = None
    if spec is not None:
        return spec.origin if spec.has_location else None, list(spec.submodule_search_locations or ())
    package = find_package(name, {}) if is_top else None  # by the finders of editable installs
    return (package.file, [package.directory] if package.directory else []) if package else (None, [])


def modules_of(files: Collection[str]) -> set[str]:
    """Return the dotted names that decide the imports: outermost regular packages, and modules outside of them.

    Args:
        files: Paths below an entry of the path, with `/`.
    """
    folders: set[str] = set()
    for name in files:
        folder, slash, _ = name.partition("/")
        while slash and folder not in folders and f"{folder}/__init__.py" not in files:
            folder, slash, _ = _deeper(folder, name)
        if slash:
            folders.add(folder)
        elif name.endswith(_MODULES):
            folders.add(folder.partition(".")[0])
    return {name.replace("/", ".") for name in folders if all(part.isidentifier() for part in name.split("/"))}


def _deeper(folder: str, name: str) -> tuple[str, str, str]:
    """Return the folder one level below on the way to a file, as `str.partition` does."""
    below, slash, rest = name[len(folder) + 1 :].partition("/")
    return f"{folder}/{below}", slash, rest


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
    scripts, which name the interpreter of one machine, and data. A file missing from RECORD is included, and so are
    files that Python would import in place of a listed one or beside it: of another portion of a namespace package, for
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
    files = {} if editable else _recorded(site, dist_info)
    for top in sorted({name.partition("/")[0] for name in files if "/" in name and name[:10] != "dist-info/"}):
        files |= _unrecorded(site, top, files)
    for location in locations:
        files |= dict(_package(location))
    own = {name for name in files if not name.startswith("dist-info/")}
    modules = {*modules_of(own), *modules}
    files = _beside(modules, path) | files | _imported(modules, path)
    return _digests(files), editable


def _digests(paths: Mapping[str, str]) -> dict[str, str]:
    return {name: digest for name, path in paths.items() if (digest := digest_of_file(path)) is not None}


def _imported(modules: Iterable[str], path: Sequence[str], archive: str = "") -> dict[str, str]:
    """Return the files that importing modules would run, except those inside an archive."""
    files = {name: file for module in modules for name, file in files_to_import(module, path)} if path else {}
    return {name: file for name, file in files.items() if not (archive and _is_below(file, archive))}


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
    files: dict[str, str] = {}
    depth = top.count("/") + 1
    below = {name.split("/")[depth] for name in recorded if name.startswith(f"{top}/") and name.count("/") > depth}
    for part in below:
        files |= _unrecorded(site, f"{top}/{part}", recorded)
    return files


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
