"""The files that define adopted tools, and their digests."""

# Strings and os.path: a listing handles thousands of names, and Path costs it several times more.
# ruff: noqa: PTH118, PTH120
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from strands_cli.catalog.distributions.entry_points import Scan
from strands_cli.catalog.distributions.module_files import Package, find_package, module_file
from strands_cli.catalog.installed_files import digest_of_file


def digests_of(modules: Iterable[str], distribution: str, seen: Scan, files: Iterable[str] = ()) -> dict[str, str]:
    """Return the `files` of an adopted distribution: those of its modules, and each `__init__` that is run before.

    Args:
        modules: The modules that adopted tools name.
        distribution: The normalised name of the installed distribution.
        seen: The scan that found it.
        files: Further files of the same packages: those in which `modules` only import a tool from.
    """
    home = home_of(distribution, seen)
    found: dict[str, str] = {}
    for module in modules:
        package = find_package(module.partition(".")[0], seen.listings, home)
        if package is None:
            continue
        root = root_of(package)
        paths = [*_on_the_way(package, module), *(file for file in files if file.startswith(root + os.sep))]
        for path in paths:
            if (digest := digest_of_file(path)) is not None:
                found[os.path.relpath(path, root).replace(os.sep, "/")] = digest
    return dict(sorted(found.items()))


def home_of(distribution: str, seen: Scan) -> str:
    """Return the directory of `sys.path` that contains an installed distribution; "" where it is not installed."""
    copies = seen.records.get(distribution)
    return copies[0][0] if copies else ""


def root_of(package: Package) -> str:
    """Return the folder below which `files` have their paths: the one that contains the top-level package."""
    return os.path.dirname(package.directory or package.file or "")


def _on_the_way(package: Package, module: str) -> Iterator[str]:
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        if file := module_file(package, ".".join(parts[:depth])):
            yield file


def changed_files(files: Mapping[str, str], roots: Mapping[str, str]) -> list[str]:
    """Return the paths whose files differ from their digests, or are missing, in order.

    Args:
        files: As in the file.
        roots: Name of a top-level package or module -> the folder that contains it.
    """
    changed = []
    for path, digest in files.items():
        top = path.partition("/")[0]
        root = roots.get(top) or roots.get(top.partition(".")[0])
        if root is None or digest_of_file(os.path.join(root, *path.split("/"))) != digest:
            changed.append(path)
    return changed
