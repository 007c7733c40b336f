"""The Python files of an installed distribution, with the names by which they are imported."""

# Strings and os.path, as the catalog has them.
# ruff: noqa: PTH118, PTH119, PTH120
from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from strands_cli.catalog.distributions.dist_info import read_origin, read_record, read_text
from strands_cli.catalog.distributions.entry_points import Scan
from strands_cli.catalog.distributions.module_files import find_package
from strands_cli.catalog.import_files import CACHE

MAX_MODULES = 2_000
MAX_TOP_LEVEL = 65_536
# A folder that a distribution has for its own tests, and what runs as a program.
_NOT_TOOLS = frozenset({"tests", "test", "testing", "conftest", "__main__", "setup"})


class PythonFile(NamedTuple):
    """A module: its dotted name, its path, and its path below the directory of `sys.path`, with `/`."""

    module: str
    path: str
    name: str


def python_files(distribution: str, seen: Scan) -> list[PythonFile]:
    """Return up to `MAX_MODULES` + 1 modules of an installed distribution, sorted by name, without its tests."""
    directory, record = seen.records[distribution][0]
    rows = [row.path for row in read_record(record) or ()]
    found = list(_recorded(rows, directory))
    if read_origin(record).install == "editable":
        found = [*found, *_elsewhere(distribution, record, seen)]
    unique = {file.module: file for file in reversed(found)}
    return [unique[module] for module in sorted(unique)][: MAX_MODULES + 1]


def _recorded(rows: list[str], directory: str) -> Iterator[PythonFile]:
    for name in rows:
        module = _module(name)
        if module is not None:
            yield PythonFile(module, os.path.join(directory, *name.split("/")), name)


def _module(name: str) -> str | None:
    """Return the dotted name of a file below a directory of `sys.path`; None if it has none, or is a test."""
    if not name.endswith(".py") or name.startswith("/"):
        return None
    parts = name[: -len(".py")].split("/")
    if not all(part.isidentifier() for part in parts) or CACHE in parts or _NOT_TOOLS.intersection(parts):
        return None
    if parts[-1].startswith("test_"):
        return None
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _elsewhere(distribution: str, record: str, seen: Scan) -> Iterator[PythonFile]:
    """Yield the modules of an editable installation, whose packages are in another folder."""
    listed = (read_text(record, "top_level.txt", MAX_TOP_LEVEL) or "").split()
    tops = [name for name in listed if name.isidentifier()] or [distribution.replace("-", "_")]
    for top in tops[:50]:
        package = find_package(top, seen.listings)
        if package is None:
            continue
        if package.directory is None:
            if package.file and package.file.endswith(".py"):
                yield PythonFile(top, package.file, os.path.basename(package.file))
            continue
        root = os.path.dirname(package.directory)
        yield from islice(_below(package.directory, root), MAX_MODULES + 1)


def _below(folder: str, root: str) -> Iterator[PythonFile]:
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(inner for inner in folders if inner.isidentifier())
        for file in sorted(files):
            full = os.path.join(path, file)
            name = os.path.relpath(full, root).replace(os.sep, "/")
            module = _module(name)
            if module is not None:
                yield PythonFile(module, full, name)
