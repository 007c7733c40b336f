"""The commands `workers start`, which works on the runs of queues, and `workers list`, which lists who does."""

from __future__ import annotations

import os
import platform
import shlex
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from strands_cli.api import (
    Chosen,
    ExitCode,
    ShownFlags,
    UsageError,
    age_in_seconds,
    print_json,
    print_result,
    say,
    table,
    with_run_options,
)
from strands_cli_workers.command_parts import JSON, one_line, place_of
from strands_cli_workers.names import note_on_new_queue, require_queue_name
from strands_cli_workers.queue_values import DEFAULT_QUEUE, WorkerChoices

if TYPE_CHECKING:
    from strands_cli.api import StorePlace
    from strands_cli_workers.dispatching import WorkerEvent
    from strands_cli_workers.queue_values import WorkerState

_WARNINGS = ("warning", "refused", "returned", "recovered", "lost")


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker works: each field is an option."""

    queue: Annotated[list[str], typer.Option("--queue", metavar="NAME", help="A queue; may be repeated.")] = field(
        default_factory=list
    )
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, max=1000, metavar="N", help="How many runs at once.")
    ] = 4
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Its name for people, if not that of the machine.")
    ] = None
    drain: Annotated[bool, typer.Option("--drain", help="End when the queues are empty.")] = False
    drain_timeout: Annotated[
        str, typer.Option("--drain-timeout", metavar="AGE", help="How long runs may go on after SIGTERM.")
    ] = "30s"
    workspace: Annotated[
        Path | None,
        typer.Option("--workspace", metavar="DIR", help="The folder of the runs; by default each has a new one."),
    ] = None
    health_file: Annotated[
        Path | None,
        typer.Option("--health-file", metavar="FILE", help="Written every second while the worker is well."),
    ] = None

    connect_timeout: Annotated[
        str,
        typer.Option("--connect-timeout", metavar="AGE", help="End when the store is unreachable for so long."),
    ] = "5m"
    frozen_after: Annotated[
        str,
        typer.Option("--frozen-after", metavar="AGE", help="Others take its runs over after so long without a sign."),
    ] = "2m"
    no_yes: Annotated[
        bool, typer.Option("--no-yes", help="Ignore approvals that runs were submitted with (--yes, --allow).")
    ] = False

    def choices(self, policy: Path | None) -> WorkerChoices:
        """Return the options as values.

        Raises:
            UsageError: The workspace is not a directory, the time is not one, a queue cannot have its name, or the
                health file cannot be written.
        """
        folder = self.workspace
        if folder is not None and not folder.is_dir():
            raise UsageError(f"--workspace {folder} is not a directory", fix="make it first, or omit it")
        return WorkerChoices(
            name=self.name or platform.node() or "worker",
            queues=tuple(dict.fromkeys(map(require_queue_name, self.queue or [DEFAULT_QUEUE]))),
            concurrency=self.concurrency,
            folder=None if folder is None else folder.absolute(),
            policy=None if policy is None else policy.absolute(),
            drains=self.drain,
            drain_timeout_s=age_in_seconds(self.drain_timeout, "--drain-timeout"),
            health_file=None if self.health_file is None else _health_file(self.health_file.absolute()),
            connect_timeout_s=age_in_seconds(self.connect_timeout, "--connect-timeout"),
            frozen_after_s=_frozen_after(self.frozen_after),
            takes_approvals=not self.no_yes,
        )


@dataclass(frozen=True, slots=True)
class WorkerLog(ShownFlags):
    """The form of the worker's log."""

    HEADING = ""
    log: Annotated[
        Literal["text", "json"],
        typer.Option("--log", help="Format of stderr: `text` for a person, `json` one object a line."),
    ] = "text"


@with_run_options(only=("policy", "store"))
def start(
    *,
    how: WorkerOptions,
    chosen: Chosen,
    dev: Annotated[
        bool, typer.Option("--dev", help="Try it with a Postgres that starts here and ends with its workers.")
    ] = False,
    flags: WorkerLog,
) -> int:
    """Work on submitted runs until Ctrl-C or SIGTERM, which let the runs that it works on end.

    Example: strands workers start --concurrency 8 --store postgresql://strands@db/strands
    """
    from strands_cli_workers.dev_store import dev_store

    if dev and chosen.typed["store"] is not None:
        raise UsageError("--dev starts a store, and --store names one", fix="omit one of them")
    choices = how.choices(chosen.typed["policy"])
    if not dev:
        return _work(place_of(chosen), choices)
    with dev_store() as store_place:
        # How other commands name the store; its address has no password.
        text = f"for other commands: export STRANDS_STORE={shlex.quote(store_place.address)}"
        say(
            text,
            log={
                "message": f"the store is {store_place}",
                "level": "info",
                "event": "store",
                "address": store_place.address,
            },
        )
        return _work(store_place, choices)


def _frozen_after(age: str) -> float:
    seconds = age_in_seconds(age, "--frozen-after")
    if not seconds:
        raise UsageError("--frozen-after 0 would take the runs of every worker", fix="write two minutes: 2m")
    return seconds


def _health_file(file: Path) -> Path:
    if file.is_dir() or not file.parent.is_dir() or not os.access(file.parent, os.W_OK | os.X_OK):
        fix = f"name a file in a directory that exists and can be written, not {file.parent}"
        raise UsageError(f"--health-file {file} cannot be written", fix=fix)
    return file


def _work(place: StorePlace, choices: WorkerChoices) -> int:
    import asyncio

    from strands_cli.api import EndNotice, Runs, Takeover, reserved_streams
    from strands_cli_workers.dispatching import WorkerEvent
    from strands_cli_workers.open_queue import opened_queue
    from strands_cli_workers.patience import reached
    from strands_cli_workers.workspace import Workspace

    workspace = Workspace.of_store(choices.folder, place)
    takeover = Takeover(workspace, policy=choices.policy, takes_approvals=choices.takes_approvals)

    def tell(line: str) -> None:
        report(WorkerEvent("warning", line))

    def notes() -> list[str]:
        with opened_queue(place) as (_, queue):
            return [note for name in choices.queues if (note := note_on_new_queue(name, queue))]

    for note in reached(notes, choices.connect_timeout_s, tell):
        tell(note)
    from strands_cli_workers.worker import WorkPlace, work  # imports DBOS

    notice = EndNotice(watched=False)
    runs = reached(lambda: Runs(place), choices.connect_timeout_s, tell)
    with runs, reserved_streams(_tool_line, _error_line):
        notify = partial(notice.send, place)
        asyncio.run(work(WorkPlace(runs.store, workspace, takeover, report, notify), choices))
    return ExitCode.OK


def _tool_line(text: str) -> None:
    """Write a line that a tool has printed, marked so that it does not look like one of ours."""
    say(f"  | {text}", log={"message": text, "level": "info", "source": "stdout"})


def _error_line(text: str) -> None:
    """Write a line that a tool, or a library of it, has written to stderr or logged."""
    say(text, log={"level": "warning", "source": "stderr"})


def report(event: WorkerEvent) -> None:
    """Write an event of the worker to stderr."""
    facts = {"run": event.run_id, **event.facts} if event.run_id else dict(event.facts)
    level = "warning" if event.name in _WARNINGS else "info"
    text = one_line(event.text)
    say(f"{time.strftime('%H:%M:%S')} {text}", log={"message": text, "level": level, "event": event.name, **facts})


@with_run_options(only=("store",))
def list_workers(chosen: Chosen, as_json: JSON = False) -> None:
    """List the workers of a store: who is alive, and on what they work.

    Example: strands workers list --store postgresql://strands@db/strands
    """
    from strands_cli_workers.open_queue import opened_queue

    with opened_queue(place_of(chosen)) as (_, queue):
        states = queue.workers()
    if as_json:
        print_json({"workers": [_document(state) for state in states]})
    elif not states:
        say("no workers")
    else:
        heads = ("ID", "MACHINE", "SINCE", "QUEUES", "STATE", "HEARTBEAT", "RUNS")
        print_result("\n".join(table([heads, *map(_cells, states)])))


def _state(worker_state: WorkerState) -> str:
    if not worker_state.is_held:
        return "gone"
    return "frozen" if worker_state.is_frozen else "draining" if worker_state.is_draining else "alive"


def _cells(worker_state: WorkerState) -> tuple[str, ...]:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(worker_state.since))
    works_on = f"{len(worker_state.runs)}/{worker_state.concurrency} {' '.join(worker_state.runs)}".rstrip()
    beat = f"{worker_state.beat_s:.0f}s ago"
    return (
        worker_state.id,
        f"{worker_state.machine}:{worker_state.pid}",
        since,
        ",".join(worker_state.queues),
        _state(worker_state),
        beat,
        works_on,
    )


def _document(worker_state: WorkerState) -> dict[str, Any]:
    return {
        "id": worker_state.id,
        "name": worker_state.name,
        "state": _state(worker_state),
        "machine": worker_state.machine,
        "pid": worker_state.pid,
        "since": round(worker_state.since, 3),
        "queues": list(worker_state.queues),
        "concurrency": worker_state.concurrency,
        "version": worker_state.version,
        "runs": list(worker_state.runs),
        "heartbeat_s": round(worker_state.beat_s, 3),
        "frozen_after_s": worker_state.frozen_after_s,
    }
