"""The only run of an occurrence: begun here, continued after a crash, or waited for where another process has it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from strands_cli.api import ExitCode, PlannedRows, RunEnd, RunParts, RunRecordError, RunStore, StoredRun, Unreachable
from strands_cli_trigger.occurrences import prefix_of
from strands_cli_trigger.trigger_file import Trigger

# How long is waited before it is looked again what another process does.
LOOK_S, PAUSE_S = 5.0, 0.1
# So often the store may refuse to begin a run that no process has.
MOST_REFUSALS = 20
ENDED = ("completed", "failed", "cancelled")
UNFINISHED = ("running", "queued", "waiting", "needs-decision")
AT_WORK = ("running", "queued")


def stored_run(store: RunStore, run_id: str) -> StoredRun | None:
    """Return a run, or None where there is none yet.

    Raises:
        Unreachable: The store does not answer.
    """
    try:
        return store.read(run_id)
    except Unreachable:
        raise
    except RunRecordError:
        return None


def end_of(store: RunStore, run_id: str) -> RunEnd:
    """Return how a run has ended, from its journal."""
    with contextlib.closing(store.open(run_id, hold=False)) as journal:
        end: RunEnd = RunEnd.of(journal)
        return end


def others_of(store: RunStore, trigger: Trigger, run_id: str, statuses: tuple[str, ...]) -> list[StoredRun]:
    """Return the other runs of a trigger with one of these statuses, the newest first."""
    prefix = prefix_of(trigger.name)
    return [run for run in store.runs()[0] if run.id.startswith(prefix) and run.id != run_id and run.status in statuses]


async def not_overlapping(store: RunStore, trigger: Trigger, run_id: str, tell: Callable[[str], None]) -> str | None:
    """Do as the trigger says while other runs of it are unfinished; return the one for which this is skipped."""
    if trigger.overlap == "skip":
        return next((run.id for run in others_of(store, trigger, run_id, UNFINISHED)), None)
    if trigger.overlap == "cancel_previous":
        for run in others_of(store, trigger, run_id, UNFINISHED):
            tell(f"cancels {run.id}")
            await asyncio.to_thread(RunParts.cancel, store, run.id)
    while trigger.overlap == "wait" and (others := others_of(store, trigger, run_id, AT_WORK)):
        tell(f"waits for the end of {others[0].id}")
        await _wait(store, others[0].id)
    return None


async def _wait(store: RunStore, run_id: str) -> None:
    """Wait until another process does not work on a run any more."""
    while (run := stored_run(store, run_id)) is not None and run.status in AT_WORK:
        seen = store.state(run_id)
        if (run := stored_run(store, run_id)) is not None and run.status in AT_WORK:
            await asyncio.to_thread(partial(store.wait, seen, run_id, wait_s=LOOK_S))


async def only_end(
    rows: PlannedRows, store: RunStore, run_id: str, inputs: Mapping[str, Any], tell: Callable[[str], None]
) -> RunEnd:
    """Return the end of the only run with an id, also of one that another process works on.

    Raises:
        StrandsCliError: Its tools cannot be loaded, or the store does not answer.
    """
    refusals, is_told = 0, False
    while True:
        run = stored_run(store, run_id)
        if run is not None and run.status in ENDED:
            return end_of(store, run_id)
        if run is not None and run.status in AT_WORK:
            if not is_told:
                tell(f"another process works on {run_id}; its end is waited for")
            refusals, is_told = 0, True
            await _wait(store, run_id)
            continue
        ends: list[RunEnd] = []
        async with rows.opened(store, tell) as runs:
            await runs.run(run_id, inputs, ends.append)
        refusals += 1
        # Another process may have been faster.
        if ends[0].exit_code != ExitCode.RUN_RECORD or refusals > MOST_REFUSALS:
            return ends[0]
        await asyncio.sleep(PAUSE_S)
