"""Commands on stored runs: runs list, show, cancel, delete, prune."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.ages import age_in_seconds
from strands_cli.cli.commands.command_options import JSON, RUN, with_run_options
from strands_cli.cli.commands.opened_stores import DEFAULT_STORE, StoreOptions
from strands_cli.cli.commands.run_lines.summary_lines import run_document, run_lines
from strands_cli.cli.commands.run_lines.tree_lines import result_columns
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json, print_response, print_result
from strands_cli.cli.terminal_text import one_line, table
from strands_cli.errors import ExitCode, NotEquipped, RunRecordError, UsageError, suggest
from strands_cli.events import RunStatus
from strands_cli.texts.phrases import counted, short_json, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strands_cli.engine.store_port import RunStore, StoredJournal, StoredRun
    from strands_cli.run_views.fetched_artifacts import RunArtifacts, StoredArtifact


# `strands runs show`: one run as a tree, one effect of it as a whole, or the progress of a running one.


KEY = Annotated[
    str | None,
    typer.Argument(
        metavar="[KEY]",
        help="One effect, as a whole: `steps.0`, `steps.0/model.0`.",
        show_default=False,
        autocompletion=completions.keys,
    ),
]


@with_run_options()
def show_run(
    run: RUN,
    key: KEY = None,
    full: Annotated[bool, typer.Option("--full", help="Show every effect, all requests and answers.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow a run until it ends or waits.")] = False,
    where: StoreOptions = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document; with --follow one a line.")] = False,
) -> None:
    """Show a run as a tree: steps, model turns, tool calls, decisions, costs, why it stopped, its answer.

    Example: strands runs show last --full
    """
    if key is not None and (follow or full):
        raise UsageError(
            f"an effect is shown whole and once, without {'--follow' if follow else '--full'}",
            fix=f"strands runs show {shlex.join([run, key])}",
        )
    with where.opened() as runs:
        run_id = runs.find(run)
        if key is not None:
            _show_effect(runs, run_id, key, as_json=as_json)
        elif follow:
            from strands_cli.cli.commands.stored.follow import follow_run

            follow_run(runs, run_id, full=full, as_json=as_json)
        else:
            _show_run(runs, run_id, full=full, as_json=as_json)


def _show_run(store: RunStore, run: str, *, full: bool, as_json: bool) -> None:
    from strands_cli.cli.commands.run_lines.summary_lines import effects_lines, end_lines, fact_lines, summary_document
    from strands_cli.cli.commands.run_lines.tree_lines import result_columns
    from strands_cli.engine.journal.journal_rows import command_of
    from strands_cli.engine.stored_runs.described import run_of
    from strands_cli.engine.stored_runs.summary import summary_of

    with contextlib.closing(store.open(run, hold=False)) as journal:
        if (name := command_of(journal.get("pattern"))) is not None:
            _show_parts(store, run_of(journal), name, as_json=as_json)
            return
        summary = summary_of(journal)
        if as_json:
            from strands_cli.run_views.open_questions import questions_of

            print_json({**summary_document(summary, full=full), "questions": questions_of(journal)})
            return
        lines = [*fact_lines(summary), *effects_lines(summary, columns=result_columns(), full=full)]
        lines += end_lines(summary, journal, full=full)
    print_result("\n".join(lines))


def _show_parts(store: RunStore, run: StoredRun, name: str, *, as_json: bool) -> None:
    """Show a run that consists of others: how many there are by their status, and the commands that tell more."""
    from strands_cli.cli.commands.run_lines.summary_lines import run_document
    from strands_cli.cli.terminal_text import one_line
    from strands_cli.run_views.open_questions import command
    from strands_cli.texts.phrases import counted

    parts = Counter(part.status for part in store.runs()[0] if part.whole == run.id)
    if as_json:
        print_json({**run_document(run), "parts": dict(parts), "command": name})
        return
    of_status = ", ".join(f"{number} {status}" for status, number in sorted(parts.items()))
    lines = [
        f"{run.id} of {run.file}: {run.status}{f', {run.reason}' if run.reason else ''}",
        f"{counted(parts.total(), 'run')}{f': {of_status}' if of_status else ''}",
        f"each of them: {command('runs', 'list', '--parts', run.id, store=store.place)}",
        f"how far it is, and how it goes on: {command(name, 'status', run.id, store=store.place)}",
    ]
    print_result("\n".join(map(one_line, lines)))


def _show_effect(store: RunStore, run: str, key: str, *, as_json: bool) -> None:
    from strands_cli.cli.commands.run_lines.one_effect_lines import effect_lines, whole_effect_document
    from strands_cli.run_views.open_questions import answer_commands
    from strands_cli.run_views.whole_effect import effect_of

    with contextlib.closing(store.open(run, hold=False)) as journal:
        effect = effect_of(journal, key)
        waits = effect.status == "waiting"
        ways = answer_commands(journal) if waits else []
    if as_json:
        print_json(whole_effect_document(run, effect))
        return
    own = [way for way in ways if effect.key in shlex.split(way)]
    print_result("\n".join([*effect_lines(effect), *([""] if own else []), *own]))


# One file of a run as the cells of a table and as JSON.


def artifact_cells(artifact: StoredArtifact) -> tuple[str, ...]:
    """Return the cells of a table: its path, its size, its digest, and where its text is."""
    return (
        one_line(artifact.path),
        str(artifact.size),
        artifact.digest,
        "in the store" if artifact.stored else "in the file only",
    )


def artifact_document(artifact: StoredArtifact) -> dict[str, Any]:
    """Return it as JSON, without its text."""
    return {"path": artifact.path, "size": artifact.size, "digest": artifact.digest, "stored": artifact.stored}


# The command `runs artifacts`: the files of a run, listed, printed, or written here from wherever the run was.


@with_run_options()
def fetch_artifacts(
    run: RUN,
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="[PATH]",
            help="One file, to be printed to stdout.",
            show_default=False,
            autocompletion=completions.artifacts,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Write the files below this directory.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    where: StoreOptions = DEFAULT_STORE,
    as_json: JSON = False,
) -> None:
    """List the files of a complete run, print one of them, or write them here.

    A store in a database has their texts, so that they need not be on this machine.

    Example: strands runs artifacts last -o fetched
    """
    from strands_cli.run_views.fetched_artifacts import artifacts_of

    if force and out is None:
        raise UsageError("--force is about files that are written", fix="name where: --out DIR, or omit --force")
    if out == Path("-"):
        fix = f"one file goes to stdout: {shlex.join(['strands', 'runs', 'artifacts', run])} {path or 'PATH'}"
        raise UsageError("--out names a directory, and - is none", fix=fix)
    with where.opened() as opened:
        name = opened.find(run)
        with contextlib.closing(opened.open(name, hold=False)) as journal:
            artifacts = artifacts_of(journal, with_texts=path is not None or out is not None)
    if out is not None:
        _write(artifacts, path, out, force=force, as_json=as_json)
    elif path is not None:
        _print(artifacts, path, as_json=as_json)
    else:
        _list(artifacts, as_json=as_json)


def _write(artifacts: RunArtifacts, path: str | None, out: Path, *, force: bool, as_json: bool) -> None:
    from strands_cli.run_views.fetched_artifacts import write_artifacts

    written = write_artifacts(artifacts.chosen([path] if path is not None else []), out, force=force)
    if as_json:
        print_json({"run": artifacts.run_id, "written": written})
        return
    for entry in written:
        say(one_line(f"wrote {entry['path']} ({entry['size']} bytes)"))


def _print(artifacts: RunArtifacts, path: str, *, as_json: bool) -> None:
    (chosen,) = artifacts.chosen([path])
    if as_json:
        print_json({"run": artifacts.run_id, **artifact_document(chosen), "text": chosen.read()})
    else:
        print_response(chosen.read(), is_file=True)


def _list(artifacts: RunArtifacts, *, as_json: bool) -> None:
    if as_json:
        worked_on = None if artifacts.worked_on is None else dataclasses.asdict(artifacts.worked_on)
        print_json(
            {
                "run": artifacts.run_id,
                "worked_on": worked_on,
                "artifacts": [artifact_document(file) for file in artifacts.files],
            }
        )
        return
    if not artifacts.files:
        say(f"the workflow of the run {artifacts.run_id} has no artifacts")
        return
    print_result("\n".join(table([("PATH", "BYTES", "SHA-256", "TEXT"), *map(artifact_cells, artifacts.files)])))
    if artifacts.worked_on is not None:
        say(one_line(f"written on {artifacts.worked_on.words}"))


# The inputs of listed runs, short, by which a person tells runs of one workflow apart.


# The journals of so many runs are opened for a list; a list of more has no inputs of the older ones.
MOST_RUNS = 40
_VALUE, _ALL = 40, 120
# The journal of a run that hides values names the hidden ones.
_HIDING = ("secret_variables", "secret_files", "hides_personal_data")


def inputs_of(store: RunStore, runs: Sequence[StoredRun]) -> dict[str, str]:
    """Return the inputs of the first runs by the id of the run, of each workflow that hides nothing."""
    from strands_cli.engine.stored_runs.many_journals import journals_of

    first = [run.id for run in runs[:MOST_RUNS]]
    inputs: dict[str, str] = {}
    for run, journal in zip(first, journals_of(store, first), strict=True):
        if isinstance(journal, RunRecordError):
            continue
        with contextlib.closing(journal), contextlib.suppress(RunRecordError):
            inputs[run] = _inputs_in(journal)
    return inputs


def _inputs_in(journal: StoredJournal) -> str:
    inputs = journal.get("inputs")
    if any(journal.get(name) for name in _HIDING) or not isinstance(inputs, Mapping):
        return ""
    return shortened(", ".join(f"{name}={_shown(value)}" for name, value in inputs.items()), _ALL)


def _shown(value: Any) -> str:
    return shortened(one_line(value), _VALUE) if isinstance(value, str) else short_json(value, _VALUE)


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

# The statuses that `prune` deletes by default: runs that cannot be resumed by mistake.
ENDED = ["completed", "failed", "cancelled"]
# Runs in a queue that no process works on.
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
            help="List the parts of a run such as a batch.",
            autocompletion=completions.wholes,
        ),
    ] = None,
    where: StoreOptions = DEFAULT_STORE,
    as_json: JSON = False,
) -> None:
    """List stored runs, the newest first; parts of others only with --parts, or where they wait.

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
    """Stop runs for good: they cannot be resumed.

    Example: strands runs cancel 20261121-033012-a1b2c3
    """
    from strands_cli.engine.ports import SystemClock
    from strands_cli.engine.stored_runs.run_owners import cancel_run

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
    """Take a cancelled run from its owner, if that is installed; the owner leaves such a run alone too."""
    from strands_cli.engine.stored_runs.run_owners import BELONGS_TO, run_owner

    with contextlib.closing(store.open(run_id, hold=False)) as journal:
        name = journal.get(BELONGS_TO)
    if name is not None:
        with contextlib.suppress(NotEquipped):
            run_owner(str(name)).leave(store, run_id)


@with_run_options()
def delete_runs(runs: RUNS, where: StoreOptions = DEFAULT_STORE, as_json: JSON = False) -> None:
    """Delete the journals of runs and of their parts; files that they have written stay.

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
        whole: The run whose parts are listed; without one, parts are listed where the wanted status is theirs alone:
            waiting for a person.
    """
    chosen, own, problems = _chosen(store, statuses)
    if whole is not None:
        name = store.find(whole)
        return [run for run in chosen if run.whole == name], problems, 0
    shown_runs = [run for run in chosen if run.id in own or (statuses and run.status in ASKING)]
    return shown_runs, problems, len(chosen) - len(shown_runs)


def _delete(store: RunStore, run: str) -> str:
    """Delete a run with its parts; return the other deleted things, in words.

    Raises:
        RunRecordError: A process works on it or on a part, so that not all of it is deleted.
    """
    try:
        stored_run = store.read(run)
    except RunRecordError:  # an unreadable run is deleted too
        store.delete(run)
        return ""
    if stored_run.command is None:
        if stored_run.status in UNSTARTED:  # or it would count as waiting when it is gone
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
        UsageError: The run is a part of a running one: its process works on all of them.
    """
    from strands_cli.engine.journal.journal_rows import whole_of

    whole = whole_of(run)
    if whole is None or store.read(run).status != "running":
        return
    with contextlib.suppress(RunRecordError):  # there is no such run any more
        around = store.read(whole)
        if around.status == "running" and around.command is not None:
            raise UsageError(f"{run} is a part of a run that goes on", fix=f"strands {around.command} cancel {whole}")


def _chosen(store: RunStore, statuses: Sequence[str]) -> tuple[list[StoredRun], set[str], list[str]]:
    """Return the runs of these statuses, the ids of all whole runs, and problems of journals."""
    from strands_cli.engine.journal.journal_rows import without_parts

    known_statuses = get_args(RunStatus)
    for status in statuses:
        if status not in known_statuses:
            fix = suggest(status, known_statuses, f"there are: {', '.join(known_statuses)}")
            raise UsageError(f"there is no status '{status}'", fix=fix)
    runs, problems = store.runs()
    chosen = [run for run in runs if not statuses or run.status in statuses]
    return chosen, {run.id for run in without_parts(runs)}, problems
