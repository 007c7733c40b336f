"""Ask Python's own finder which files importing a module would run, or could, without importing anything."""

# Strings and os.path, as the catalog has them.
# ruff: noqa: PTH118, PTH119, PTH120, PTH208
from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder

from strands_cli.catalog.distributions.dist_info import read_record
from strands_cli.catalog.distributions.module_files import find_package

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
        file, search = _found(part, search, is_top=depth == 0)
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
        file, portions = _found(top, path, is_top=True)
        for portion in () if file else portions:
            inside = dict(_python_in(portion, top))
            listed = _listed(os.path.dirname(portion)) if inside else set()
            yield from ((name, found) for name, found in inside.items() if name not in listed)


def _python_in(folder: str, name: str) -> Iterator[tuple[str, str]]:
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(inner for inner in folders if inner != CACHE)
        below = os.path.relpath(path, folder).replace(os.sep, "/")
        start = name if below == "." else f"{name}/{below}"
        yield from ((f"{start}/{file}", os.path.join(path, file)) for file in sorted(files) if file.endswith(_MODULES))


def _listed(site: str) -> set[str]:
    infos = [os.path.join(site, name) for name in os.listdir(site) if name.endswith(_DIST_INFO)]
    return {row.path for info in infos for row in read_record(info) or ()}


def _found(name: str, path: Sequence[str], *, is_top: bool) -> tuple[str | None, Sequence[str]]:
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
    """Return the dotted names that decide what is imported: outermost regular packages, and modules outside of them.

    Args:
        files: Paths below an entry of the path, with `/`.
    """
    found: set[str] = set()
    for name in files:
        folder, slash, _ = name.partition("/")
        while slash and folder not in found and f"{folder}/__init__.py" not in files:
            folder, slash, _ = _deeper(folder, name)
        if slash:
            found.add(folder)
        elif name.endswith(_MODULES):
            found.add(folder.partition(".")[0])
    return {name.replace("/", ".") for name in found if all(part.isidentifier() for part in name.split("/"))}


def _deeper(folder: str, name: str) -> tuple[str, str, str]:
    """Return the folder one level below on the way to a file, as `str.partition` does."""
    below, slash, rest = name[len(folder) + 1 :].partition("/")
    return f"{folder}/{below}", slash, rest
