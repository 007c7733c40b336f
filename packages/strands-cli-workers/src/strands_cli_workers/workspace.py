"""The folders of this machine in which a worker's runs work."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from strands_cli.api import RunStore, StorePlace, user_data_dir
from strands_cli_workers.names import require_id


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where a worker's runs work.

    Attributes:
        folder: A folder that all runs share; None gives each its own.
        root: Below it are the folders of the runs, and those in place of the folders of their workflows.
    """

    folder: Path | None
    root: Path

    @classmethod
    def of_store(cls, folder: Path | None, place: StorePlace) -> Workspace:
        """Return that of the runs of one store: two stores may have runs of one id."""
        return cls(folder, user_data_dir(os.environ) / "worker" / name_of(place))

    def of_run(self, run_id: str) -> Path:
        """Return the folder in which a run works; it need not exist.

        Raises:
            UsageError: The id would lead out of the folder of all runs: `workers submit` did not store it.
        """
        require_id(run_id)
        return self.folder or self.root / "runs" / run_id

    def of_workflow(self, key: str) -> Path:
        """Return the folder that the paths of a workflow start from."""
        return self.folder or self.root / "workflows" / key.removeprefix("sha256:")

    def remove_left(self, store: RunStore) -> tuple[list[str], list[str]]:
        """Remove the folders of runs that were deleted: their files go with them. A folder that all share stays.

        Returns:
            The ids of these runs, and why others cannot be removed.

        Raises:
            RunRecordError: The store cannot be reached.
        """
        # These first: a run is in the store before it has a folder.
        left = self._left()
        if not left:
            return [], []
        runs, unreadable = store.runs()
        if unreadable:  # one of the folders may be that of a run which cannot be read
            return [], []
        stored = {run.id for run in runs}
        removed, problems = [], []
        for folder in left:
            if folder.name in stored:
                continue
            try:
                shutil.rmtree(folder)
                removed.append(folder.name)
            except OSError as error:
                problems.append(f"{folder} cannot be removed: {error.strerror or error}")
        return removed, problems

    def _left(self) -> list[Path]:
        """Return the folders that runs have left here, each with the id of its run as its name."""
        runs = self.root / "runs"
        if self.folder is not None or not runs.is_dir():
            return []
        return [folder for folder in runs.iterdir() if folder.is_dir() and not folder.is_symlink()]


def name_of(place: StorePlace) -> str:
    """Return the name of the folder with the runs of a store."""
    return hashlib.sha256(str(place).encode()).hexdigest()[:12]
