"""The files that a workflow may name: those of its project, after links are followed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from strands_cli.errors import Finding, Where
from strands_cli.system.protected_names import secret_in
from strands_cli.workflow.findings import BAD_PATH
from strands_cli.workflow.packaged.packaged_source import PACKAGE, packaged_file
from strands_cli.workflow.packaged.project_folder import project_root
from strands_cli.yaml_files.file_source import FileSnapshot, stored_name

# The file that makes a folder a skill.
ENTRY = "SKILL.md"


def named_file(
    name: str,
    beside: Path,
    folder: Path,
    where: Where,
    snapshot: FileSnapshot,
    kind: Literal["workflow", "agent", "skill"] | None = None,
) -> Path | Finding:
    """Return what a path leads to, or why a workflow may not name it.

    Args:
        beside: The folder that the path starts from.
        folder: The folder of the workflow.
        snapshot: The files that a run has stored; it was checked when it began.
        kind: What may be named of an installed distribution, as `package:DIST/NAME`; None for nothing.
    """
    if kind is not None and name.startswith(PACKAGE):
        return packaged_file(name, where, snapshot, kind)
    own = folder.resolve()
    try:
        path = (beside / name).resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a loop of links, or a NUL in the path
        return Finding(BAD_PATH, f"{name!r} is not a usable path: {error}", where, "name a file or a folder")
    is_stored = any(stored_name(one) in snapshot.texts for one in (path, path / ENTRY))
    if is_stored or path.is_relative_to(own):
        return path
    if snapshot.packaged:
        message = f"{name!r} is outside the folder of {snapshot.packaged}; a packaged file reads nothing else"
        return Finding(BAD_PATH, message, where, "report it to the author of the distribution")
    if not path.is_relative_to(root := project_root(own)):
        message = f"{name!r} is outside the project of the workflow"
        elsewhere = ", or begin in a working directory above both" if root == own else ""
        return Finding(BAD_PATH, message, where, f"move it below {root}{elsewhere}")
    if secret := secret_in(path.relative_to(os.path.commonpath((own, path))).parts):
        message = f"{name!r} leads to {secret!r}, which may hold credentials"
        return Finding(BAD_PATH, message, where, "name another file")
    return path
