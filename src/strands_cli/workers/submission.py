"""Submit a run: its journal is stored as `queued`, with everything that a worker needs, then its id is put in a queue."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from strands_cli import app
from strands_cli.engine.journal import FORMAT
from strands_cli.engine.run_start import create_journal, new_run_id
from strands_cli.engine.ports import SystemClock
from strands_cli.errors import Finding, RunRecordError, StrandsCliError, UsageError, has_errors
from strands_cli.planning import require_runnable
from strands_cli.workers.moved_workflow import facts_to_move, moved_request, moved_workflow

if TYPE_CHECKING:
    from strands_cli.engine.ports import RunStore
    from strands_cli.planning import RunRequest
    from strands_cli.planning.plan import Plan
    from strands_cli.queues import RunQueue, Ticket

# What the machine that submits may lack: the one that works must have it. Secrets do not travel.
OF_THE_WORKER = frozenset(
    {"missing-api-key", "missing-extra", "missing-secret", "missing-mount", "no-exporter", "unknown-price"}
)
VERSION = str(FORMAT)


def submittable(planned: Plan, request: RunRequest) -> Plan:
    """Return a plan whose findings about keys and extras of this machine are warnings.

    Raises:
        StrandsCliError: It cannot run anywhere.
        UsageError: Its artifacts would go to a place that only this machine has.
    """
    findings = tuple(
        dataclasses.replace(found, severity="warning") if found.code in OF_THE_WORKER else found
        for found in planned.findings
    )
    planned = dataclasses.replace(planned, findings=findings)
    require_runnable(planned)
    out = PurePath(request.out_dir)
    if out.is_absolute() or ".." in out.parts:
        raise UsageError(
            f"--out {request.out_dir} is a place of this machine, and a worker writes in a folder of its own",
            fix=f"name a folder below it: --out {out.name or 'artifacts'}",
        )
    return planned


def what_stays_here(planned: Plan, request: RunRequest) -> Iterator[str]:
    """Yield what the workflow needs and a worker has only in its `--workspace`: what no journal stores."""
    facts = {**_facts(planned, request), "id": ""}
    base = Path(planned.base_dir) / ".strands-nowhere"
    try:
        moved = app.plan(moved_workflow(_Stored(facts), base), moved_request(_Stored(facts), base, {}))
    except StrandsCliError as error:
        yield from (finding.message for finding in error.findings)
        return
    known = {(found.code, found.message) for found in planned.findings}
    yield from (
        found.message
        for found in moved.findings
        if found.severity == "error" and found.code not in OF_THE_WORKER and (found.code, found.message) not in known
    )


def _facts(planned: Plan, request: RunRequest) -> dict[str, Any]:
    return {
        "file": planned.file,
        "text": planned.text,
        "files": dict(planned.files),
        "base_dir": str(planned.base_dir),
        "packaged": planned.packaged,
        "inputs": dict(planned.inputs),
        "options": request.to_stored(),
        **facts_to_move(planned, request),
    }


class _Stored:
    """Facts that are in no journal yet."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts

    def get(self, name: str) -> Any:
        """Return one fact, or None."""
        return self._facts.get(name)


def submit(store: RunStore, queue: RunQueue, planned: Plan, request: RunRequest, ticket: Ticket) -> tuple[str, bool]:
    """Store a run and put it in its queue; the same id with the same plan is the same run.

    Args:
        ticket: Where it waits; without a `run_id` it gets one.

    Returns:
        The id of the run, and whether it is a new one.

    Raises:
        UsageError: The id is that of another run.
        RunRecordError: The store or the queue cannot be written.
    """
    run_id = ticket.run_id or new_run_id(SystemClock())
    ticket = dataclasses.replace(ticket, run_id=run_id, version=VERSION)
    facts = {**facts_to_move(planned, request), "status": "queued", "ticket": ticket.as_dict()}
    try:
        create_journal(store, planned, request, None, run_id, facts=facts).close()
        is_new = True
    except RunRecordError:
        if not ticket.run_id or not _is_same(store, planned, run_id):
            raise
        is_new = False
    if is_new or not queue.live([run_id]):
        # The attempt is a number: a second submission of the id is the same ticket.
        queue.put(dataclasses.replace(ticket, attempt=1))
    return run_id, is_new


def _is_same(store: RunStore, planned: Plan, run_id: str) -> bool:
    """Return whether a stored run has this plan.

    Raises:
        UsageError: It has another one.
    """
    with contextlib.suppress(RunRecordError), contextlib.closing(store.open(run_id, hold=False)) as journal:
        if journal.get("plan_digest") == planned.digest and journal.get("ticket") is not None:
            return True
        raise UsageError(f"the run {run_id} exists and is another one", fix="choose another id, or omit --id")
    return False


def requeue(store: RunStore, queue: RunQueue, run_id: str) -> None:
    """Let a submitted run wait for a worker again; it must not be held.

    Raises:
        RunRecordError: The run is held, or was not submitted.
    """


def has_no_errors(findings: tuple[Finding, ...]) -> bool:
    """Return whether nothing prevents a plan."""
    return not has_errors(findings)
