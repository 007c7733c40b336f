"""Commands on stored runs: runs list, show, cancel, delete, prune."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.ages import age_in_seconds
from strands_cli.cli.commands.command_options import JSON, with_run_options
from strands_cli.cli.commands.help_group import group
from strands_cli.cli.commands.opened_stores import DEFAULT_STORE, StoreOptions
from strands_cli.cli.commands.plugin_commands import OpenGroup
from strands_cli.cli.commands.run_lines.summary_lines import run_document, run_lines
from strands_cli.cli.commands.run_lines.tree_lines import result_columns
from strands_cli.cli.commands.stored.artifacts import fetch_artifacts
from strands_cli.cli.commands.stored.listed_inputs import inputs_of
from strands_cli.cli.commands.stored.show import show_run
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.errors import ExitCode, NotEquipped, RunRecordError, UsageError, suggest
from strands_cli.events import RunStatus
from strands_cli.texts.phrases import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strands_cli.engine.ports.store_port import RunStore, StoredRun

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
# What a queue has and no process works on.
UNSTARTED = ("queued", "scheduled")
# Parts of runs in these states are listed, since a person has to do something for them.
ASKING = ("waiting", "needs-decision")


@with_run_options()
def list_runs(
    status: STATUS = [],  # noqa: B006 - Typer reads the default
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Show at most N runs.")] = None,
    parts: Annotated[
        str | None,
        typer.Option(
            "--parts",
            metavar="RUN",
            help="List the runs of which a run such as a batch consists.",
            autocompletion=completions.wholes,
        ),
    ] = None,
    where: StoreOptions = DEFAULT_STORE,
    as_json: JSON = False,
) -> None:
    """List stored runs, the newest first; those of which another consists only with --parts, or where they wait.

    Example: strands runs list --status waiting --status interrupted
    """
    with where.opened() as opened:
        chosen, problems, hidden = _listed(opened, status, parts)
        chosen = chosen[:limit]
        inputs = {} if as_json else inputs_of(opened, chosen)
    if as_json:
        print_json({"runs": [run_document(run) for run in chosen], "problems": problems, "hidden_parts": hidden})
        return
    for problem in problems:
        say(f"warning: {problem}")
    if chosen:
        print_result("\n".join(run_lines(chosen, inputs, result_columns())))
    elif not hidden:
        say("no runs")
    if hidden:
        say(f"{counted(hidden, 'run')} not shown, of which others consist; those of one: strands runs list --parts RUN")


@with_run_options()
def cancel_runs(runs: RUNS, where: StoreOptions = DEFAULT_STORE, as_json: JSON = False) -> None:
    """Stop runs for good: a process that works on one is asked to end, and the run cannot be resumed.

    Example: strands runs cancel 20261121-033012-a1b2c3
    """
    from strands_cli.engine.ports.clock import SystemClock
    from strands_cli.engine.stored_runs.cancelling import cancel_run

    with where.opened() as opened:
        names = [opened.find(run) for run in runs]
        for run in names:
            _require_own_process(opened, run)
            if (command := opened.read(run).command) is not None:
                raise UsageError(f"{run} consists of other runs", fix=f"strands {command} cancel {run}")
            cancel_run(opened, run, SystemClock())
            _leave_owner(opened, run)
            say(f"{run}: cancelled")
    if as_json:
        print_json({"cancelled": names})


def _leave_owner(store: RunStore, run_id: str) -> None:
    """Take a run that was cancelled from what it belongs to, if that is installed; it leaves such a run alone too."""
    from strands_cli.engine.stored_runs.run_owners import BELONGS_TO, run_owner

    with contextlib.closing(store.open(run_id, hold=False)) as journal:
        name = journal.get(BELONGS_TO)
    if name is not None:
        with contextlib.suppress(NotEquipped):
            run_owner(str(name)).leave(store, run_id)


@with_run_options()
def delete_runs(runs: RUNS, where: StoreOptions = DEFAULT_STORE, as_json: JSON = False) -> None:
    """Delete the journals of runs, with those of which they consist; files that the runs have written stay.

    Example: strands runs delete 20261121-033012-a1b2c3
    """
    with where.opened() as opened:
        names = [opened.find(run) for run in runs]
        for run in names:
            say(f"{run}: deleted{_delete(opened, run)}")
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
        chosen, own, problems = _chosen(opened, status or ENDED)
        # Parts go with their whole.
        old = (run for run in chosen if run.started_at <= before and run.status != "running" and run.id in own)
        for run in old:
            try:
                if not dry_run:
                    _delete(opened, run.id)
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


def _listed(store: RunStore, statuses: Sequence[str], whole: str | None) -> tuple[list[StoredRun], list[str], int]:
    """Return the runs to list, the problems of journals that cannot be read, and how many parts are left out.

    Args:
        whole: The run whose parts are listed; without one, parts are listed where the status that is asked for is
            theirs alone: that they wait for a person.
    """
    chosen, own, problems = _chosen(store, statuses)
    if whole is not None:
        name = store.find(whole)
        return [run for run in chosen if run.whole == name], problems, 0
    shown = [run for run in chosen if run.id in own or (statuses and run.status in ASKING)]
    return shown, problems, len(chosen) - len(shown)


def _delete(store: RunStore, run: str) -> str:
    """Delete a run with its parts; return what went with it, in words.

    Raises:
        RunRecordError: A process works on it or on a part, so that not all of it is deleted.
    """
    try:
        found = store.read(run)
    except RunRecordError:  # what cannot be read is deleted too
        store.delete(run)
        return ""
    if found.command is None:
        if found.status in UNSTARTED:  # or it would count as waiting when it is gone
            _leave_owner(store, run)
        store.delete(run)
        return ""
    parts = [part.id for part in store.runs()[0] if part.whole == run]
    store.open(run).close()  # refused while a process works on it
    for name in (*parts, run):
        store.delete(name)
    return f", with {counted(len(parts), 'run')}"


def _require_own_process(store: RunStore, run: str) -> None:
    """Check that the process that works on a run works on nothing else.

    Raises:
        UsageError: The run is a part of one that is running: its process works on all of them.
    """
    from strands_cli.engine.journal.run_parts import whole_of

    whole = whole_of(run)
    if whole is None or store.read(run).status != "running":
        return
    with contextlib.suppress(RunRecordError):  # there is no such run any more
        around = store.read(whole)
        if around.status == "running" and around.command is not None:
            raise UsageError(f"{run} is a part of a run that goes on", fix=f"strands {around.command} cancel {whole}")


def _chosen(store: RunStore, statuses: Sequence[str]) -> tuple[list[StoredRun], set[str], list[str]]:
    """Return the runs of these statuses, the ids of all that are not parts of another, and problems of journals."""
    from strands_cli.engine.journal.run_parts import without_parts

    known = get_args(RunStatus)
    for status in statuses:
        if status not in known:
            fix = suggest(status, known, f"there are: {', '.join(known)}")
            raise UsageError(f"there is no status '{status}'", fix=fix)
    runs, problems = store.runs()
    chosen = [run for run in runs if not statuses or run.status in statuses]
    return chosen, {run.id for run in without_parts(runs)}, problems


ABOUT = "Look at stored runs, fetch their files, cancel and delete them.\n\nExample: strands runs list --status waiting"
_VERBS: dict[str, Callable[..., Any]] = {
    "list": list_runs,
    "show": show_run,
    "cancel": cancel_runs,
    "delete": delete_runs,
    "prune": prune_runs,
    "artifacts": fetch_artifacts,
}
runs_app = group(ABOUT, _VERBS, cls=OpenGroup)
