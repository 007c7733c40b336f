"""Where a stored run was worked on: the machine, the folder, and the worker."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.engine.store_port import StoredJournal


@dataclass(frozen=True, slots=True)
class WorkedOn:
    """Where a run was worked on last.

    Attributes:
        machine: The name of the machine.
        folder: The folder that the paths of the run's files start from.
        worker: The id of the worker; empty for a run that no worker has worked on.
    """

    machine: str
    folder: str
    worker: str = ""

    @property
    def is_here(self) -> bool:
        """Whether that was this machine."""
        return self.machine == platform.node()

    @property
    def is_known(self) -> bool:
        """Whether a person of this machine knows it already: the run was started here, in a terminal."""
        return self.is_here and not self.worker

    @property
    def words(self) -> str:
        """The place for a person."""
        return f"{self.machine}, in {self.folder}" + (f", by the worker {self.worker}" if self.worker else "")


def place_facts(folder: Path, worker: str) -> dict[str, Any]:
    """Return the fact that says where this process works on a run."""
    return {"worked_on": {"host": platform.node(), "folder": str(folder.absolute()), "worker": worker}}


def worked_on(journal: StoredJournal) -> WorkedOn | None:
    """Return where a run was worked on; None for one that no process has worked on.

    Raises:
        AttributeError: The fact is damaged.
    """
    facts: Mapping[str, Any] = journal.get("worked_on") or {}
    host, folder, worker = (str(facts.get(name) or "") for name in ("host", "folder", "worker"))
    return WorkedOn(host, folder, worker) if host and folder else None
