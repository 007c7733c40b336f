"""The stored runs that a command is about: those since some time, the newest first."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strands_cli.cli.commands.ages import age_in_seconds

if TYPE_CHECKING:
    from strands_cli.engine.stored_runs import StoredRun

SINCE = Annotated[
    str | None, typer.Option("--since", metavar="AGE", help="Only runs that began within this time: 12h, 7d, 4w.")
]


def runs_since(runs_dir: Path | None, since: str | None) -> tuple[list[StoredRun], list[str]]:
    """Return runs, and the problems of journals that cannot be read.

    Raises:
        UsageError: `since` is not an age.
        RunRecordError: The directory cannot be read.
    """
    from strands_cli.config import load_settings
    from strands_cli.engine.stored_runs import list_runs

    oldest = None if since is None else time.time() - age_in_seconds(since, "--since")
    runs, problems = list_runs(load_settings(runs_dir=runs_dir).runs_dir)
    return [run for run in runs if oldest is None or run.started_at >= oldest], problems
