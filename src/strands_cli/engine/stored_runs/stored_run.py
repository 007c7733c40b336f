"""One stored run as a list of runs has it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from strands_cli.events import RunStatus


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run as its journal describes it; times are seconds since the epoch."""

    id: str
    directory: Path
    workflow: str
    pattern: str
    file: str
    status: RunStatus
    started_at: float
    ended_at: float | None = None
    reason: str | None = None
    worked_s: float | None = None
