"""Commands on stored runs: runs list, show, cancel, delete, prune."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.ages import age_in_seconds
from strands_cli.cli.commands.command_options import JSON, RUNS_DIR
from strands_cli.cli.commands.help_group import group
from strands_cli.cli.commands.run_lines import cells_of, run_document
from strands_cli.cli.commands.stored.runs_diff import diff_runs
from strands_cli.cli.commands.stored.runs_report import report_run
from strands_cli.cli.commands.stored.runs_search import search_runs
from strands_cli.cli.commands.stored.runs_show import show_run
from strands_cli.cli.commands.stored.runs_stats import show_stats
from strands_cli.cli.output import print_json, print_result, say
from strands_cli.cli.text_layout import aligned
from strands_cli.errors import ExitCode, RunRecordError, UsageError, suggest
from strands_cli.events import RunStatus
from strands_cli.phrases import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strands_cli.engine.stored_runs import StoredRun

RUNS = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN...", help="The runs: ids, the start of ids, or `last`.", autocompletion=completions.runs
    ),
]
STATUS = Annotated[
    list[str],
    typer.Option(
        "--status", metavar="S", help="Only runs of this status; may be repeated.", autocompletion=completions.statuses
    ),
]

# What `prune` deletes by default: runs that cannot be resumed by mistake.
ENDED = ["completed", "failed", "cancelled"]


def list_runs(
    status: STATUS = [],  # noqa: B006 - Typer reads the default
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Show at most N runs.")] = None,
    runs_dir: RUNS_DIR = None,
    as_json: JSON = False,
) -> None:
    """List stored runs, the newest first.

    Example: strands runs list --status waiting --status interrupted
    """
    chosen, problems = _chosen(runs_dir, status)
    chosen = chosen[:limit]
    if as_json:
        print_json({"runs": [run_document(run) for run in chosen], "problems": problems})
        return
    for problem in problems:
        say(f"warning: {problem}")
    if not chosen:
        say("no runs")
        return
    print_result("\n".join(aligned(cells_of(chosen))))


def cancel_runs(runs: RUNS, runs_dir: RUNS_DIR = None, as_json: JSON = False) -> None:
    """Stop runs for good: a process that works on one is asked to end, and the run cannot be resumed.

    Example: strands runs cancel 20261121-033012-a1b2c3
    """
    from strands_cli.engine.ports import SystemClock
    from strands_cli.engine.stored_runs import cancel_run, find_run

    directories = [find_run(_runs_dir(runs_dir), run) for run in runs]
    for directory in directories:
        cancel_run(directory, SystemClock())
        say(f"{directory.name}: cancelled")
    if as_json:
        print_json({"cancelled": [directory.name for directory in directories]})


def delete_runs(runs: RUNS, runs_dir: RUNS_DIR = None, as_json: JSON = False) -> None:
    """Delete the journals of runs; files that the runs have written stay.

    Example: strands runs delete 20261121-033012-a1b2c3
    """
    from strands_cli.engine.stored_runs import delete_run, find_run

    directories = [find_run(_runs_dir(runs_dir), run) for run in runs]
    for directory in directories:
        delete_run(directory)
        say(f"{directory.name}: deleted")
    if as_json:
        print_json({"deleted": [directory.name for directory in directories]})


def prune_runs(
    older_than: Annotated[str, typer.Option(metavar="AGE", help="Minimal age since the start: 12h, 30d, 4w.")] = "30d",
    status: STATUS = [],  # noqa: B006
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be deleted.")] = False,
    runs_dir: RUNS_DIR = None,
    as_json: JSON = False,
) -> int:
    """Delete the journals of old runs that have ended; of others only if --status names them.

    Example: strands runs prune --older-than 7d --status completed --dry-run
    """
    from strands_cli.engine.stored_runs import delete_run

    before = time.time() - age_in_seconds(older_than, "--older-than")
    chosen, problems = _chosen(runs_dir, status or ENDED)
    deleted = []
    for run in (run for run in chosen if run.started_at <= before and run.status != "running"):
        try:
            if not dry_run:
                delete_run(run.directory)
            deleted.append(run.id)
        except RunRecordError as error:
            problems.append(error.message)
    if as_json:
        print_json({"deleted": deleted, "dry_run": dry_run, "problems": problems})
    else:
        for problem in problems:
            say(f"warning: {problem}")
        verb = "would be deleted" if dry_run else "deleted"
        count = f"{counted(len(deleted), 'run')} {verb}"
        print_result("\n".join([*(f"{run}: {verb}" for run in deleted), count]))
    return ExitCode.RUN_RECORD if problems else ExitCode.OK


def _runs_dir(chosen: Path | None) -> Path:
    from strands_cli.config import load_settings

    return load_settings(runs_dir=chosen).runs_dir


def _chosen(runs_dir: Path | None, statuses: Sequence[str]) -> tuple[list[StoredRun], list[str]]:
    from strands_cli.engine.stored_runs import list_runs

    known = get_args(RunStatus)
    for status in statuses:
        if status not in known:
            fix = suggest(status, known, f"there are: {', '.join(known)}")
            raise UsageError(f"there is no status '{status}'", fix=fix)
    runs, problems = list_runs(_runs_dir(runs_dir))
    return [run for run in runs if not statuses or run.status in statuses], problems


ABOUT = (
    "Look at stored runs, compare, count and search them; report, cancel and delete them.\n\n"
    "Example: strands runs list --status waiting"
)
VERBS: dict[str, Callable[..., Any]] = {
    "list": list_runs,
    "show": show_run,
    "cancel": cancel_runs,
    "delete": delete_runs,
    "prune": prune_runs,
}
# `sessions` has none of them.
_NEWER: dict[str, Callable[..., Any]] = {
    "diff": diff_runs,
    "stats": show_stats,
    "search": search_runs,
    "report": report_run,
}
runs_app = group(ABOUT, {**VERBS, **_NEWER})
