"""Removes the folders of runs that are not in the store any more: they were deleted, and their files go with them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore
    from strands_cli.workers.planned_runs import Workspace


def remove_left_folders(store: RunStore, workspace: Workspace) -> tuple[list[str], list[str]]:
    """Remove the folders of runs that were deleted, and return the ids of these runs, and why others cannot be removed.

    A folder that all runs share stays.

    Raises:
        RunRecordError: The store cannot be reached.
    """
    # These first: a run is in the store before it has a folder.
    left = workspace.left()
    if not left:
        return [], []
    runs, unreadable = store.runs()
    if unreadable:  # one of the folders may be that of a run which cannot be read
        return [], []
    known = {run.id for run in runs}
    removed, problems = [], []
    for folder in left:
        if folder.name in known:
            continue
        try:
            shutil.rmtree(folder)
            removed.append(folder.name)
        except OSError as error:
            problems.append(f"{folder} cannot be removed: {error.strerror or error}")
    return removed, problems
