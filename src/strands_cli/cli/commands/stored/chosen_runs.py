"""The stored runs that a command is about: those since some time, the newest first."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from strands_cli.cli.commands.ages import age_in_seconds

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore, StoredRun

SINCE = Annotated[
    str | None, typer.Option("--since", metavar="AGE", help="Only runs that began within this time: 12h, 7d, 4w.")
]


def runs_since(store: RunStore, since: str | None) -> tuple[list[StoredRun], list[str]]:
    """Return runs, with the rows of batches and without batches, and the problems of journals that cannot be read.

    Raises:
        UsageError: `since` is not an age.
        RunRecordError: The store cannot be read.
    """
    oldest = None if since is None else time.time() - age_in_seconds(since, "--since")
    from strands_cli.engine.journal.batch_ids import BATCH

    runs, problems = store.runs()
    chosen = [run for run in runs if run.pattern != BATCH and (oldest is None or run.started_at >= oldest)]
    return chosen, problems
