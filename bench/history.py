"""Keeps measured figures in `bench/results.jsonl`: one line for each row of each run, with its commit and machine."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.measure import Figure

CLONE = Path(__file__).resolve().parent.parent
RESULTS = CLONE / "bench" / "results.jsonl"


@dataclass(frozen=True)
class Measured:
    """One figure of one row.

    Attributes:
        date: The day, in UTC.
        commit: The short name of the commit; empty outside a clone.
        dirty: Whether the clone had other changes than the figures.
        machine: System, processor and the number of cores, in words.
        load: The load average of a minute for each core; above 1 others were waiting for the processor.
        ms: CPU milliseconds; they are the machine's.
        ratio: The median of the paired ratios, and `mb` the peak; with their budgets.
    """

    date: str
    commit: str
    dirty: bool
    python: str
    machine: str
    load: float
    row: str
    pairs: int
    ms: float
    ratio: float | None = None
    ratio_budget: float | None = None
    mb: float | None = None
    mb_budget: float | None = None


@dataclass(frozen=True)
class History:
    """Where figures are kept; the commit is that of the start of the bench."""

    file: Path
    commit: str
    dirty: bool

    @classmethod
    def of_clone(cls, file: Path = RESULTS) -> History:
        """Return the history of the clone."""
        changed = [line for line in _git("status", "--porcelain").splitlines() if not line.endswith(RESULTS.name)]
        return cls(file, _git("rev-parse", "--short", "HEAD").strip(), bool(changed))

    def keep(self, row: str, figure: Figure, budgets: tuple[float | None, float | None], pairs: int) -> None:
        """Append a figure; `budgets` are the bounds of its ratio and of its memory."""
        line = Measured(
            date=datetime.datetime.now(datetime.UTC).date().isoformat(),
            commit=self.commit,
            dirty=self.dirty,
            python=platform.python_version(),
            machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            load=round(os.getloadavg()[0] / (os.cpu_count() or 1), 1),
            row=row,
            pairs=pairs,
            ms=_rounded(figure.ms) or 0.0,
            ratio=_rounded(figure.ratio),
            ratio_budget=budgets[0],
            mb=_rounded(figure.mb),
            mb_budget=budgets[1],
        )
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(line)) + "\n")


def read_history(file: Path = RESULTS) -> list[Measured]:
    """Return all figures, the oldest first."""
    if not file.exists():
        return []
    return [Measured(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines() if line]


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(["git", *arguments], cwd=CLONE, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
