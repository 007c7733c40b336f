"""Commands on stored runs: runs list, show, cancel, delete, prune."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.ages import age_in_seconds
from strands_cli.cli.commands.command_options import JSON, with_run_options
from strands_cli.cli.commands.help_group import group
from strands_cli.cli.commands.opened_stores import DEFAULT_STORE, StoreOptions
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

    from strands_cli.engine.ports import RunStore, StoredRun

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


@with_run_options()
def list_runs(
    status: STATUS = [],  # noqa: B006 - Typer reads the default
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Show at most N runs.")] = None,
    where: StoreOptions = DEFAULT_STORE,
    as_json: JSON = False,
) -> None:
    """List stored runs, the newest first.

    Example: strands runs list --status waiting --status interrupted
    """
    with where.opened() as opened:
        chosen, problems = _chosen(opened, status)
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


@with_run_options()
def cancel_runs(runs: RUNS, where: StoreOptions = DEFAULT_STORE, as_json: JSON = False) -> None:
    """Stop runs for good: a process that works on one is asked to end, and the run cannot be resumed.

    Example: strands runs cancel 20261121-033012-a1b2c3
    """
    from strands_cli.engine.ports import SystemClock
    from strands_cli.engine.stored_runs import cancel_run

    with where.opened() as opened:
        names = [opened.find(run) for run in runs]
        for run in names:
            cancel_run(opened, run, SystemClock())
            say(f"{run}: cancelled")
    if as_json:
        print_json({"cancelled": names})


@with_run_options()
def delete_runs(runs: RUNS, where: StoreOptions = DEFAULT_STORE, as_json: JSON = False) -> None:
    """Delete the journals of runs; files that the runs have written stay.

    Example: strands runs delete 20261121-033012-a1b2c3
    """
    with where.opened() as opened:
        names = [opened.find(run) for run in runs]
        for run in names:
            opened.delete(run)
            say(f"{run}: deleted")
    if as_json:
        print_json({"deleted": names})


@with_run_options()
def prune_runs(
    older_than: Annotated[str, typer.Option(metavar="AGE", help="Minimal age since the start: 12h, 30d, 4w.")] = "30d",
    status: STATUS = [],  # noqa: B006
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be deleted.")] = False,
    where: StoreOptions = DEFAULT_STORE,
    as_json: JSON = False,
) -> int:
    """Delete the journals of old runs that have ended; of others only if --status names them.

    Example: strands runs prune --older-than 7d --status completed --dry-run
    """
    before = time.time() - age_in_seconds(older_than, "--older-than")
    deleted = []
    with where.opened() as opened:
        chosen, problems = _chosen(opened, status or ENDED)
        for run in (run for run in chosen if run.started_at <= before and run.status != "running"):
            try:
                if not dry_run:
                    opened.delete(run.id)
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


def _chosen(store: RunStore, statuses: Sequence[str]) -> tuple[list[StoredRun], list[str]]:
    known = get_args(RunStatus)
    for status in statuses:
        if status not in known:
            fix = suggest(status, known, f"there are: {', '.join(known)}")
            raise UsageError(f"there is no status '{status}'", fix=fix)
    runs, problems = store.runs()
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
