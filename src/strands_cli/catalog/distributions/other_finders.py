"""Distributions outside directories: in zip archives and from other finders, read with `importlib.metadata`."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterable
from importlib.metadata import Distribution as InstalledDistribution
from importlib.metadata import DistributionFinder, MetadataPathFinder

from strands_cli.catalog.distributions.entry_points import (
    BAD_ENTRY_POINTS,
    UNREADABLE_DIRECTORY,
    Distribution,
    Scan,
    normalise,
    parse_entry_points,
)
from strands_cli.errors import Finding, Where


def scan_archive(archive: str, scan: Scan) -> None:
    """Scan a path entry of a file; other files than zip archives are ignored."""
    try:
        if not zipfile.is_zipfile(archive):
            return
        with zipfile.ZipFile(archive) as opened:
            scan.listings[archive] = frozenset(name.partition("/")[0] for name in opened.namelist())
        distributions = list(MetadataPathFinder.find_distributions(DistributionFinder.Context(path=[archive])))
    except Exception as error:  # noqa: BLE001 - a damaged archive must not hide other distributions
        message = f"{archive} cannot be read ({error})"
        scan.findings.append(Finding(UNREADABLE_DIRECTORY, message, Where(archive), severity="warning"))
        return
    _add_all(distributions, archive, scan)


def scan_finders(scan: Scan) -> None:
    """Scan with the finders on `sys.meta_path` that other packages installed, not with the standard library's."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_distributions", None)
        if find is None or _reads_the_path(finder):
            continue
        try:
            installed = list(find(DistributionFinder.Context()))
        except Exception as error:  # noqa: BLE001 - another package's finder may raise anything
            message = f"the finder {_label(finder)} cannot list distributions ({error})"
            scan.findings.append(Finding(UNREADABLE_DIRECTORY, message, severity="warning"))
            continue
        _add_all(installed, _label(finder), scan)


def _reads_the_path(finder: object) -> bool:
    module = getattr(finder, "__module__", "") or ""
    # The backport registers itself and searches the same directories again.
    return module.startswith(("importlib_metadata", "_frozen_importlib", "importlib.", "zipimport"))


def _label(finder: object) -> str:
    kind = finder if isinstance(finder, type) else type(finder)
    return f"{kind.__module__}.{kind.__qualname__}"


def _add_all(distributions: Iterable[InstalledDistribution], location: str, scan: Scan) -> None:
    for installed in distributions:
        try:
            _add(installed, location, scan)
        except Exception as error:  # noqa: BLE001 - one damaged record must not hide the others
            message = f"a distribution in {location} cannot be read ({error})"
            scan.findings.append(Finding(BAD_ENTRY_POINTS, message, Where(location)))


def _add(installed: InstalledDistribution, location: str, scan: Scan) -> None:
    name = normalise(installed.metadata["Name"])
    file = f"{location}{os.sep}{name}{os.sep}entry_points.txt"
    copies = scan.records.setdefault(name, [])
    copies.append((location, file))
    text = installed.read_text("entry_points.txt")
    if len(copies) > 1 or text is None:
        return
    entry_points = parse_entry_points(text.encode(), name, file, scan.findings)
    if entry_points:
        scan.distributions.append(Distribution(name, installed.version, location, file, entry_points))
