"""Makes the records of many runs that have ended: copies of one, and the index that the first list of them leaves.

Usage: python -m bench.many_runs DIRECTORY    (called by the bench)
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from pathlib import Path

from strands_cli.engine.journal.sqlite_journal import DATABASE, SqliteJournal
from strands_cli.engine.stored_runs.folder_store import SETTLED_NS, FolderStore

RUNS = 5_000
FACTS = {"workflow": "bench", "pattern": "chain", "file": "bench.yaml", "status": "completed", "worked_s": 5.0}


def make(runs_dir: Path) -> None:
    """Make the records, and list them as if they had been written some time ago."""
    first = runs_dir / "20261101-000000-000000"
    with contextlib.closing(SqliteJournal.create(first)) as journal:
        journal.put(started_at=1.0, ended_at=6.0, **FACTS)
    for number in range(1, RUNS):
        clock = f"{number // 3600:02}{number // 60 % 60:02}{number % 60:02}"
        copy = runs_dir / f"20261101-{clock}-{number:06x}"
        copy.mkdir(mode=0o700)
        shutil.copyfile(first / DATABASE, copy / DATABASE)
    found, problems = FolderStore(runs_dir, lambda: time.time_ns() + SETTLED_NS).runs()
    if len(found) != RUNS or problems:
        raise RuntimeError(f"{len(found)} of {RUNS} runs are listed")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
