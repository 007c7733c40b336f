"""The Python files of an installed distribution, with the names by which they are imported."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import posixpath
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, distributions
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from packaging.utils import canonicalize_name

MAX_MODULES = 2_000
# A folder that a distribution has for its own tests, and modules that run as a program.
_NOT_TOOLS = frozenset({"tests", "test", "testing", "conftest", "__main__", "setup", "__pycache__"})


class PythonFile(NamedTuple):
    """A module: its dotted name, and its path."""

    module: str
    path: str


def find_distribution(name: str, path: Sequence[str] | None = None) -> Distribution | None:
    """Return the installed distribution that Python imports by a normalised name; None if there is none.

    Args:
        path: The directories to search; by default `sys.path`.
    """
    installed = distributions() if path is None else distributions(path=[*path])
    return next(
        (distribution for distribution in installed if canonicalize_name(distribution.name or "") == name), None
    )


def python_files(distribution: Distribution) -> list[PythonFile]:
    """Return up to `MAX_MODULES` + 1 modules of an installed distribution, sorted by name, without its tests."""
    files = list(_recorded(distribution))
    if _is_editable(distribution):
        files += _elsewhere(distribution)
    unique = {file.module: file for file in reversed(files)}
    return [unique[module] for module in sorted(unique)][: MAX_MODULES + 1]


def _recorded(distribution: Distribution) -> Iterator[PythonFile]:
    for row in csv.reader((distribution.read_text("RECORD") or "").splitlines()):
        name = posixpath.normpath(row[0]) if row else ""
        module = _module(name)
        if module is not None:
            yield PythonFile(module, str(distribution.locate_file(name)))


def _is_editable(distribution: Distribution) -> bool:
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        return bool(origin["dir_info"]["editable"])
    except (ValueError, LookupError, TypeError):
        # `setup.py develop` leaves an egg-info beside its package.
        return distribution.read_text("PKG-INFO") is not None


def _module(name: str) -> str | None:
    """Return the dotted name of a file below a directory of `sys.path`; None if it has none, or is a test."""
    if not name.endswith(".py") or name.startswith("/"):
        return None
    parts = name[: -len(".py")].split("/")
    if not all(part.isidentifier() for part in parts) or _NOT_TOOLS.intersection(parts):
        return None
    if parts[-1].startswith("test_"):
        return None
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _elsewhere(distribution: Distribution) -> Iterator[PythonFile]:
    """Yield the modules of an editable installation, whose packages are in another folder."""
    listed = (distribution.read_text("top_level.txt") or "").split()
    tops = [name for name in listed if name.isidentifier()] or [canonicalize_name(distribution.name).replace("-", "_")]
    for top in tops[:50]:
        spec = importlib.util.find_spec(top)
        folders = list(spec.submodule_search_locations or ()) if spec else []
        if spec and spec.origin and not folders and spec.origin.endswith(".py"):
            yield PythonFile(top, spec.origin)
        for folder in folders[:1]:
            yield from islice(_below(folder), MAX_MODULES + 1)


def _below(folder: str) -> Iterator[PythonFile]:
    root = Path(folder).parent
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(inner for inner in folders if inner.isidentifier())
        for file in sorted(files):
            module = _module(Path(path, file).relative_to(root).as_posix())
            if module is not None:
                yield PythonFile(module, str(Path(path, file)))
