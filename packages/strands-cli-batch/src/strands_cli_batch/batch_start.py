"""The command `batch run`: check the workflow and all rows, then run a row after another."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from strands_cli.api import SPEC, Chosen, counted, say, say_findings, with_run_options
from strands_cli_batch.batch_options import ROWS, STDIN, BatchFlags, RowChoices, RowsFormat
from strands_cli_batch.command_parts import place_of
from strands_cli_batch.row_queues import row_queues

if TYPE_CHECKING:
    from strands_cli.api import PlannedRows, RunRequest, RunStore
    from strands_cli_batch.batch_choices import BatchChoices
    from strands_cli_batch.batch_journal import BatchJournal
    from strands_cli_batch.checked_rows import CheckedRows


@dataclass(frozen=True, slots=True)
class NewBatch:
    """The name of a new batch, and the reading of its rows."""

    HEADING: ClassVar[str] = "Batch"
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the batch; else that of the workflow.")
    ] = None
    again: Annotated[bool, typer.Option("--again", help="Run all rows once more, as a new batch.")] = False
    format: Annotated[
        RowsFormat | None, typer.Option("--format", help="Format of ROWS, if its suffix does not say it.")
    ] = None
    ignored: Annotated[
        list[str], typer.Option("--ignore", metavar="COLUMN", help="A column that is not an input; may be repeated.")
    ] = field(default_factory=list)
    skip_bad_rows: Annotated[bool, typer.Option("--skip-bad-rows", help="Leave out rows that cannot be used.")] = False


@with_run_options(without=("record",))
def start(*, spec: SPEC, rows: ROWS, new: NewBatch, how: RowChoices, chosen: Chosen, flags: BatchFlags) -> int:
    """Run a workflow once for each row of a file; the same command again continues where it stopped.

    Example: strands batch run reviews.yaml reviews.csv -o results.jsonl --concurrency 8
    """
    from strands_cli.api import json_on_failure
    from strands_cli_batch.batch_choices import BatchChoices
    from strands_cli_batch.batch_execution import until_reachable
    from strands_cli_batch.batch_verbs import continue_batch

    typed = _TypedOptions(rows, BatchChoices().changed(how.changes()), new, flags)
    with json_on_failure(typed.document if flags.as_json else None):
        flags.require_one_result(typed.choices.out)
        request = chosen.request()

        def begin() -> int:
            # Rows that cannot be read twice, or would be one more batch, are in the store when it was lost.
            if (batch_id := typed.document["batch"]) is not None and (rows == STDIN or new.again):
                return continue_batch(batch_id, how, chosen, flags)
            return _start(spec, request, typed)

        store_place = place_of(request.runs_dir, request.store)
        return until_reachable(begin, store_place, quiet=flags.quiet) if typed.choices.engine else begin()


def _start(spec: str, request: RunRequest, typed: _TypedOptions) -> int:
    """Check a workflow with its rows, and work on them."""
    from strands_cli.api import ManyRunsView, PlannedRows, Runs, require_trust
    from strands_cli_batch.batch_identity import chosen_name
    from strands_cli_batch.batch_opening import require_runnable
    from strands_cli_batch.checked_rows import RowsFile, read_rows

    new, quiet = typed.new, typed.flags.quiet
    workflow = PlannedRows.of(spec, request)
    name = chosen_name(workflow, new.name)
    if typed.choices.engine:
        workflow = row_queues().require_submittable(workflow)
    planned = workflow.plan
    require_runnable(workflow, typed.choices)
    format_ = new.format.value if new.format is not None else None
    file = RowsFile(typed.rows, format_, new.ignored, new.skip_bad_rows)
    with read_rows(file, workflow) as read:
        say_findings([dataclasses.replace(finding, severity="warning") for finding in read.reported])
        require_trust(planned, may_ask=not request.detach)
        if not quiet:
            say_findings(planned.findings)
            ManyRunsView.warn_of_questions(workflow)
        with Runs(planned.store) as runs:
            return _begin(workflow, name, read, runs.store, typed)


@dataclass(frozen=True, slots=True)
class _TypedOptions:
    """The typed options; `document` gets the facts of the batch, for a JSON document that reports an error."""

    rows: str
    choices: BatchChoices
    new: NewBatch
    flags: BatchFlags
    document: dict[str, Any] = field(default_factory=lambda: {"batch": None, "status": "failed"})


def _begin(workflow: PlannedRows, name: str, read: CheckedRows, store: RunStore, typed: _TypedOptions) -> int:
    """Open the journal of the batch, or make it, and work on it."""
    from strands_cli_batch.batch_execution import BatchWork, work_on
    from strands_cli_batch.batch_identity import identified
    from strands_cli_batch.batch_opening import open_batch
    from strands_cli_batch.result_file import ResultFile

    rows, choices, quiet = typed.rows, typed.choices, typed.flags.quiet
    name, others = _named(workflow, name, store, typed.new, quiet=quiet)
    typed.document["batch"] = batch_id = identified(workflow, name)
    is_file = rows != STDIN
    file = ResultFile(choices.out)
    file.require_ours(batch_id, force=workflow.request.force, rows=Path(rows) if is_file else None)
    batch, is_new = open_batch(workflow, batch_id, store, choices)
    with contextlib.closing(batch.journal):
        if not quiet:
            _announce(batch, others, read, is_new=is_new)
        source = (read, rows if is_file else "<stdin>")
        work = BatchWork(workflow, store, batch, choices, source)
        return work_on(work, typed.flags, typed.document)


def _named(workflow: PlannedRows, name: str, store: RunStore, new: NewBatch, *, quiet: bool) -> tuple[str, list[str]]:
    """Return the name that a batch gets, and the earlier batches of that name."""
    from strands_cli_batch.batch_identity import batches_in, identified, name_of, unused_name

    batches = batches_in(store)
    if new.again:
        name = unused_name(name, batches)
        if not quiet:
            say(f"a new batch; to continue it: --name {name}")
    return name, [run.id for run in batches if name_of(run.id) == name and run.id != identified(workflow, name)]


def _announce(batch: BatchJournal, others: list[str], rows: CheckedRows, *, is_new: bool) -> None:
    """Tell which batch it is, and the one that it continues or not."""
    again = "" if is_new else "; rows that are done are not run again (--again)"
    left_out = f", {len(rows.left_out)} left out" if rows.left_out else ""
    say(f"batch {batch.id}: {counted(rows.count, 'row')}{left_out}{again}")
    if is_new and others:
        say(f"the workflow, its files or its options differ from those of {others[0]}: all rows are run")
