"""Workflows, agents and skills of installed distributions, by the names that commands and workflows use."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.errors import Finding, UsageError, Where
from strands_cli.yaml_files.file_source import FILE_NOT_READ, FileSnapshot

if TYPE_CHECKING:
    from strands_cli.catalog.packaged_files import PackagedFile
    from strands_cli.catalog.packaged_folders import PackagedKind

# How a file of a workflow names one: `$ref: package:strands-flow-your-triage/reader`.
PACKAGE = "package:"


def located(source: str | Path, *kinds: PackagedKind) -> tuple[str | Path, FileSnapshot | None]:
    """Return the file that a name means: of `DIST/NAME` that of the distribution, with what says so.

    A file or folder of that path wins.

    Args:
        source: What a person typed: a path, `-`, or `DIST/NAME`.
        kinds: What is looked for, in this order; a workflow by default.

    Raises:
        UsageError: It has the form of such a name, and nothing has it.
    """
    name = str(source)
    if "/" not in name or os.path.lexists(name):
        return source, None
    from strands_cli.catalog.packaged_files import is_installed, is_packaged_name

    if not is_packaged_name(name):
        return source, None
    found = _first(name, kinds or ("workflow",))
    if isinstance(found, Finding):
        if Path(name).parent.is_dir() and not is_installed(name):  # a mistyped path
            return source, None
        finding = replace(found, message=f"there is no file {name!r}, and {found.message}")
        raise UsageError(finding.message, findings=[finding])
    return found.path, FileSnapshot(Path(found.path).parent, packaged=found.ref)


def _first(name: str, kinds: tuple[PackagedKind, ...]) -> PackagedFile | Finding:
    from strands_cli.catalog.packaged_files import find_packaged

    answers = [find_packaged(name, kind) for kind in kinds]
    return next((one for one in answers if not isinstance(one, Finding)), answers[0])


def packaged_file(name: str, where: Where, snapshot: FileSnapshot, kind: PackagedKind) -> Path | Finding:
    """Return the file, or the folder of a skill, that `package:DIST/NAME` names; a run has stored which it was."""
    if (stored := snapshot.texts.get(name)) is not None:
        return Path(stored)
    if snapshot.is_all:
        return Finding(FILE_NOT_READ, f"'{name}' is not read here", where, severity="warning")
    from strands_cli.catalog.packaged_files import find_packaged

    found = find_packaged(name.removeprefix(PACKAGE), kind)
    return replace(found, where=where) if isinstance(found, Finding) else Path(found.path)
