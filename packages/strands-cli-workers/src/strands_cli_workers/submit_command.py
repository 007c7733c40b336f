"""The command `workers submit`: store a run and put it in a queue, for a worker."""

from __future__ import annotations

import datetime
import shlex
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from strands_cli.api import (
    DEFAULT_STORE,
    SPEC,
    Chosen,
    Handover,
    UsageError,
    print_json,
    print_result,
    say,
    say_findings,
    with_run_options,
)
from strands_cli_workers.command_parts import JSON, one_line
from strands_cli_workers.names import note_on_new_queue, require_queue_name
from strands_cli_workers.queue_values import DEFAULT_PRIORITY, DEFAULT_QUEUE, OWNER, Schedule, Ticket

if TYPE_CHECKING:
    from strands_cli_workers.submission import SubmittedRun


UTC = "UTC"


@dataclass(frozen=True, slots=True)
class WaitOptions:
    """Where and how long a submitted run waits."""

    HEADING: ClassVar[str] = "Queue"
    queue: Annotated[str, typer.Option("--queue", metavar="NAME", help="The queue that it waits in.")] = DEFAULT_QUEUE
    priority: Annotated[int, typer.Option("--priority", min=1, max=2**31 - 1, metavar="N", help="1 goes first.")] = (
        DEFAULT_PRIORITY
    )
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="Not before, e.g. 2026-12-01T06:00; local time.")
    ] = None
    every: Annotated[
        str | None, typer.Option("--every", metavar="CRON", help="Again and again, e.g. '0 6 * * 1-5'.")
    ] = None
    timezone: Annotated[str, typer.Option("--timezone", metavar="ZONE", help="The zone of --every.")] = UTC
    run_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The run's id; submitted twice, it is one run.")
    ] = None

    def ticket(self) -> Ticket:
        """Return the ticket of the run.

        Raises:
            UsageError: The time is not one, or there are two; or a zone is of no schedule.
        """
        if self.timezone != UTC and self.every is None:
            raise UsageError(
                "--timezone is the zone of --every", fix="write --at with its zone: 2026-12-01T06:00+01:00"
            )
        if self.at is not None and self.every is not None:
            raise UsageError("--at starts one run, and --every many", fix="omit one of them")
        at = None if self.at is None else moment_of(self.at)
        return Ticket(self.run_id or "", require_queue_name(self.queue), self.priority, at=at)


# Options without effect on a submitted run: nothing of it is on this machine, and its questions always wait.
_WITHOUT = ("record", "runs_dir", "detach", "no_plugins", "trace_hooks")


@with_run_options(without=_WITHOUT)
def submit(
    *,
    spec: SPEC,
    waiting: WaitOptions,
    chosen: Chosen,
    as_json: JSON = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")] = False,
) -> None:
    """Store a run in a database and let it wait for a worker.

    Example: strands workers submit report.yaml --var topic=bees --store postgresql://strands@db/strands
    """
    from strands_cli.api import require_trust

    ticket, request = waiting.ticket(), chosen.request()
    run = Handover.of(spec, request, OWNER)
    require_trust(run.planned)
    if not quiet:
        say_findings(run.planned.findings)
        for line in run.missing():
            say(one_line(f"warning: a worker needs this in its --workspace: {line}"))
        if ticket.at is not None and ticket.at <= time.time():
            say(one_line(f"warning: the time of --at {waiting.at} has passed: the run waits for a worker at once"))
    submitted = _submitted(run, ticket, waiting, quiet=quiet)
    if as_json:
        print_json(_document(submitted, ticket, waiting.every))
        return
    if not quiet:
        say(one_line(_line(submitted, ticket, waiting.every)))
        if run.planned.spec.outputs.artifacts and waiting.every is None:
            store_place = run.planned.store
            words = ["strands", "runs", "artifacts", submitted.run_id, "-o", "DIR"]
            words += [] if DEFAULT_STORE.place == store_place else store_place.words
            say(f"its files, when it is complete: {shlex.join(words)}")
    print_result(submitted.run_id)


def _submitted(run: Handover, ticket: Ticket, waiting: WaitOptions, *, quiet: bool) -> SubmittedRun:
    from strands_cli_workers.open_queue import opened_queue
    from strands_cli_workers.submission import Submission

    with opened_queue(run.planned.store) as (store, queue):
        submission = Submission(store, queue)
        if not quiet and (note := note_on_new_queue(ticket.queue, queue)):
            say(one_line(note))
        if waiting.every is None:
            return submission.submit(run, ticket)
        schedule = Schedule(ticket.run_id or run.planned.spec.name, waiting.every, waiting.timezone)
        return submission.repeat(run, ticket, schedule)


def _line(submitted: SubmittedRun, ticket: Ticket, every: str | None) -> str:
    if not submitted.is_new and every is None:
        return f"it was submitted already, and is {submitted.status}"
    if every is not None:
        return f"each run of the schedule {submitted.run_id} waits in the queue {ticket.queue} for a worker"
    start = shlex.join(["strands", "workers", "start", "--queue", ticket.queue])
    return f"it waits in the queue {ticket.queue} for a worker: {start}"


def _document(submitted: SubmittedRun, ticket: Ticket, every: str | None) -> dict[str, Any]:
    return {
        "run": submitted.run_id,
        "status": submitted.status,
        "new": submitted.is_new,
        "queue": ticket.queue,
        "priority": ticket.priority,
        "at": ticket.at,
        "every": every,
    }


def moment_of(text: str) -> float:
    """Return the seconds since the epoch of a time as ISO 8601 has it; without a zone it is local time.

    Raises:
        UsageError: It is not a time.
    """
    try:
        return datetime.datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError, OSError) as error:
        fix = "write it as 2026-12-01T06:00 or 2026-12-01T06:00+01:00"
        raise UsageError(f"--at {text!r} is not a time: {error}", fix=fix) from error
