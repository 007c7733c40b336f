"""The commands about a stored batch: batch status, resume, retry, cancel."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.api import DEFAULT_STORE, Chosen, StoreOptions, UsageError, counted, print_json, say, with_run_options
from strands_cli_batch.batch_execution import BatchWork, until_reachable, work_on
from strands_cli_batch.batch_options import BATCH, NO_DECISIONS, BatchFlags, CutOffRows, RowChoices
from strands_cli_batch.command_parts import JSON, place_of
from strands_cli_batch.row_queues import row_queues

if TYPE_CHECKING:
    from strands_cli.api import RunStore
    from strands_cli_batch.batch_journal import BatchJournal

AGAIN = ("allow", "yes", "deny", "fail_on_denied", "force", "runs_dir", "store", "policy", "no_plugins", "trace_hooks")


@with_run_options()
def show_status(batch: BATCH, where: StoreOptions = DEFAULT_STORE, as_json: JSON = False) -> None:
    """Show how far a batch is: its rows, questions, failures and cost.

    Example: strands batch status reviews
    """
    from strands_cli_batch.batch_identity import find_batch
    from strands_cli_batch.batch_status import print_status

    with where.opened() as store:
        print_status(store, find_batch(store, batch), as_json=as_json)


@with_run_options(again=True, only=AGAIN)
def resume_batch(*, batch: BATCH, calls: CutOffRows, how: RowChoices, chosen: Chosen, flags: BatchFlags) -> int:
    """Run the rows of a batch that have not ended, and collect those that were answered.

    Example: strands batch resume reviews --budget max_cost_usd=10
    """
    return continue_batch(batch, how, chosen, flags, calls=calls)


@with_run_options(again=True, only=AGAIN)
def retry_batch(
    *,
    batch: BATCH,
    failed: Annotated[bool, typer.Option("--failed", help="Run the rows that failed again.")] = False,
    how: RowChoices,
    chosen: Chosen,
    flags: BatchFlags,
) -> int:
    """Run the failed rows of a batch again, and those that have not ended.

    Example: strands batch retry reviews --failed
    """
    from strands_cli.api import json_on_failure

    with json_on_failure({"batch": batch, "status": "failed"} if flags.as_json and not failed else None):
        if not failed:
            raise UsageError("there is nothing to retry but failed rows", fix=f"strands batch retry {batch} --failed")
    return continue_batch(batch, how, chosen, flags, again=True)


def continue_batch(
    batch: str,
    how: RowChoices,
    chosen: Chosen,
    flags: BatchFlags,
    *,
    calls: CutOffRows = NO_DECISIONS,
    again: bool = False,
) -> int:
    """Run the unfinished rows of a stored batch, or with `again` the failed ones too."""
    from strands_cli.api import Runs, json_on_failure
    from strands_cli_batch.batch_identity import find_batch
    from strands_cli_batch.row_decisions import decide_rows

    changes, typed = chosen.changes(), how.changes()
    changes.pop("detach", None)  # waiting and denying is a part of the batch's identity
    store_place = place_of(changes["runs_dir"], changes["store"])
    document: dict[str, Any] = {"batch": batch, "status": "failed"}
    decisions: dict[str, Any] = {}  # those not stored yet

    def begin() -> int:
        with (
            Runs(store_place) as runs,
            _planned(runs.store, find_batch(runs.store, batch), typed, dict(changes), quiet=flags.quiet) as work,
        ):
            flags.require_one_result(work.choices.out)
            work.again = again
            if decisions:
                count = asyncio.run(decide_rows(runs.store, _undecided(work.batch, runs.store), decisions))
                decisions.clear()
                if not flags.quiet:
                    say(f"decided about {counted(count, 'call')} that were cut off")
            return work_on(work, flags, document)

    with json_on_failure(document if flags.as_json else None):
        decisions |= calls.decisions()
        # Of a batch in a directory nothing is unreachable.
        return begin() if store_place.directory is not None else until_reachable(begin, store_place, quiet=flags.quiet)


def _undecided(batch: BatchJournal, store: RunStore) -> list[str]:
    """Return the runs of rows that wait for a decision about calls that were cut off."""
    from strands_cli_batch.row_collection import current

    rows = (now for _, now in current((batch.row(digest) for digest in batch.order().distinct()), store))
    return [row.run_id for row in rows if row.outcome is not None and row.outcome.status == "needs-decision"]


@contextlib.contextmanager
def _planned(
    store: RunStore, name: str, how: dict[str, Any], changes: dict[str, Any], *, quiet: bool
) -> Iterator[BatchWork]:
    """Open a stored batch and plan its workflow, in the directory where it was started."""
    from strands_cli.api import ManyRunsView, PlannedRows
    from strands_cli_batch.batch_opening import open_stored, require_runnable
    from strands_cli_batch.result_file import ResultFile

    batch = open_stored(store, name)
    with contextlib.closing(batch.journal), ManyRunsView.in_directory_of(batch.journal, quiet=quiet):
        choices = batch.choices.changed(how)
        workflow = PlannedRows.stored(batch.journal, changes)
        if choices.engine:
            workflow = row_queues().require_submittable(workflow)
        require_runnable(workflow, choices)
        ResultFile(choices.out).require_ours(batch.id, force=workflow.request.force)
        batch.order()
        batch.put_choices(choices)
        yield BatchWork(workflow, store, batch, choices)


@with_run_options()
def cancel_batch(batch: BATCH, where: StoreOptions = DEFAULT_STORE, as_json: JSON = False) -> None:
    """Stop a batch for good; rows that have not ended are cancelled.

    Example: strands batch cancel reviews
    """
    from strands_cli_batch.batch_identity import find_batch
    from strands_cli_batch.batch_view import cancel

    with where.opened() as store:
        name = find_batch(store, batch)
        rows = cancel(store, name)
    if as_json:
        print_json({"batch": name, "status": "cancelled", "cancelled_rows": rows})
        return
    say(f"{name}: cancelled, with {counted(rows, 'row')} that had not ended")
