"""The metadata of distributions and the folders of data that they name, read without an import."""

from __future__ import annotations

import os
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoints, PathDistribution
from pathlib import Path

from packaging.utils import canonicalize_name

_MAX_BYTES = 262_144
MAX_PACKAGED = 1_000
_SUFFIXES = (".yaml", ".yml")


def normalise(name: str) -> str:
    """Return the name of a distribution in the form of PEP 503."""
    return str(canonicalize_name(name))


def read_start(path: Path, count: int) -> bytes:
    """Return the first bytes of a file; a named pipe without a writer has none.

    Raises:
        OSError: It cannot be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as opened:
        return opened.read(count)


def read_header(dist_info: Path, header: str) -> str | None:
    """Return one header of METADATA or PKG-INFO; None if it is missing."""
    for file in ("METADATA", "PKG-INFO"):
        try:
            head = read_start(dist_info / file, _MAX_BYTES)
        except OSError:
            continue
        for line in head.decode("utf-8", "replace").split("\n\n")[0].splitlines():
            key, colon, value = line.partition(":")
            if colon and key.strip().lower() == header.lower():
                return value.strip()
    return None


def requires_of(dist_info: Path) -> list[str]:
    """Return the requirements that the metadata states."""
    return PathDistribution(dist_info).requires or []


def entry_points_of(dist_info: Path, group: str) -> EntryPoints:
    """Return the entry points of a group."""
    return PathDistribution(dist_info).entry_points.select(group=group)


def folder_parts(value: str) -> tuple[str, ...]:
    """Return the parts of the folder that an entry point names as `package:folder`; none of one that leaves it."""
    package, _, inner = "".join(value.split()).partition(":")
    parts = (*package.split("."), *(part for part in inner.split("/") if part))
    return parts if all(part.strip(".") and part.isprintable() for part in parts) else ()


def folder_of(value: str) -> Path | None:
    """Return the installed folder that an entry point names; None if it is not found without an import."""
    parts, search = folder_parts(value), None
    packages = value.partition(":")[0].strip().count(".") + 1
    for part in parts[:packages]:
        spec = PathFinder.find_spec(part, search)
        search = list(spec.submodule_search_locations or ()) if spec is not None else []
        if not search:
            return None
    return Path(search[0], *parts[packages:]) if search else None


def names_in(folder: Path, group: str) -> list[str]:
    """Return the names for a person in a folder of workflows, agents or skills."""
    if not folder.is_dir():
        return []
    if group == "skills":
        names = {path.parent.name for path in folder.glob("*/SKILL.md")}
        names |= {folder.name} if (folder / "SKILL.md").is_file() else set()
    else:
        names = {path.stem for path in folder.iterdir() if path.suffix in _SUFFIXES}
    return sorted(names)[:MAX_PACKAGED]
