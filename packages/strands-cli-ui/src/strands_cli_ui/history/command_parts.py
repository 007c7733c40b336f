"""Parts that the commands about stored runs share: the runs since some time, and texts in their lines."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from strands_cli.api import Runs, StoredRun, age_in_seconds

SINCE = Annotated[
    str | None, typer.Option("--since", metavar="AGE", help="Only runs that began within this time: 12h, 7d, 4w.")
]


def runs_since(runs: Runs, since: str | None) -> tuple[list[StoredRun], list[str]]:
    """Return runs, with the parts of others and without these, and the problems of journals that cannot be read.

    Raises:
        UsageError: `since` is not an age.
        RunRecordError: The store cannot be read.
    """
    oldest = 0.0 if since is None else time.time() - age_in_seconds(since, "--since")
    every, problems = runs.all()
    return [run for run in every if run.command is None and run.started_at >= oldest], problems


def one_line(text: str) -> str:
    r"""Return a text of a run as a part of one line; a line end becomes `\\n`."""
    return text.replace("\n", "\\n")


def iso_time(seconds: float) -> str:
    """Return a time, in seconds since the epoch, as ISO 8601 in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
