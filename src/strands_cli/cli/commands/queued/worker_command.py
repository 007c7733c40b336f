"""The commands `worker`, which works on the runs of queues, and `workers`, which lists who does."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands.ages import age_in_seconds
from strands_cli.cli.commands.command_options import JSON, POLICY, STORE, Log, with_run_options
from strands_cli.cli.commands.queued.queue_names import note_on_new_queue
from strands_cli.cli.output.messages import logs_json, say, write_log
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import table
from strands_cli.cli.text_layout import one_line
from strands_cli.errors import ExitCode, UsageError
from strands_cli.queues.queue_port import DEFAULT_QUEUE
from strands_cli.queues.queue_words import require_queue_name

if TYPE_CHECKING:
    from strands_cli.queues.queue_port import WorkerState
    from strands_cli.store_place import StorePlace
    from strands_cli.workers.worker import WorkerChoices
    from strands_cli.workers.worker_events import WorkerEvent

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
        typer.Option("--workspace", metavar="DIR", help="The folder that runs work in; by default each has a new one."),
    ] = None
    health_file: Annotated[
        Path | None,
        typer.Option("--health-file", metavar="FILE", help="Written every second while the worker is well."),
    ] = None

    connect_timeout: Annotated[
        str,
        typer.Option("--connect-timeout", metavar="AGE", help="How long the store may be unreachable until it ends."),
    ] = "5m"
    frozen_after: Annotated[
        str,
        typer.Option("--frozen-after", metavar="AGE", help="After how long without a sign others take its runs over."),
    ] = "2m"
    no_yes: Annotated[
        bool, typer.Option("--no-yes", help="Ignore approvals that runs were submitted with (--yes, --allow).")
    ] = False

    def choices(self, policy: Path | None) -> WorkerChoices:
        """Return what was chosen.

        Raises:
            UsageError: The workspace is not a directory, the time is not one, a queue cannot have its name, or the
                health file cannot be written.
        """
        from strands_cli.workers.worker import WorkerChoices, default_name

        return WorkerChoices(
            name=self.name or default_name(),
            queues=tuple(dict.fromkeys(map(require_queue_name, self.queue or [DEFAULT_QUEUE]))),
            concurrency=self.concurrency,
            workspace=_workspace(self.workspace),
            policy=None if policy is None else policy.absolute(),
            drains=self.drain,
            drain_timeout_s=age_in_seconds(self.drain_timeout, "--drain-timeout"),
            health_file=None if self.health_file is None else _health_file(self.health_file.absolute()),
            connect_timeout_s=age_in_seconds(self.connect_timeout, "--connect-timeout"),
            frozen_after_s=_frozen_after(self.frozen_after),
            takes_approvals=not self.no_yes,
        )


@with_run_options()
def worker(
    *,
    how: WorkerOptions,
    policy: POLICY = None,
    dev: Annotated[
        bool, typer.Option("--dev", help="Work with a Postgres that starts here, to try it; it ends with its workers.")
    ] = False,
    store: STORE = None,
    log: Annotated[Log, typer.Option("--log", help="Format of stderr: text, or json, one object a line.")] = Log.TEXT,
) -> int:
    """Work on submitted runs until Ctrl-C or SIGTERM, which let the runs that it works on end.

    Example: strands worker --concurrency 8 --store postgresql://strands@db/strands
    """
    from contextlib import nullcontext

    from strands_cli.cli.commands.queued.dev_store import dev_store
    from strands_cli.cli.terminal.log_view import json_stderr
    from strands_cli.planning.store_choice import chosen_place

    if dev and store is not None:
        raise UsageError("--dev starts a store, and --store names one", fix="omit one of them")
    choices = how.choices(policy)
    _require_policy(policy)
    with json_stderr() if log is Log.JSON else nullcontext():
        if not dev:
            return _work(chosen_place(None, store), choices)
        with dev_store() as place:
            _show(place)
            return _work(place, choices)


def _show(place: StorePlace) -> None:
    """Write how other commands name the store; its address has no password."""
    from shlex import quote

    if logs_json():
        write_log(f"the store is {place}", level="info", event="store", address=place.address)
    else:
        say(f"for other commands: export STRANDS_STORE={quote(place.address)}")


def _workspace(folder: Path | None) -> Any:
    import os

    from strands_cli.config import user_data_dir
    from strands_cli.workers.planned_runs import Workspace

    if folder is not None and not folder.is_dir():
        raise UsageError(f"--workspace {folder} is not a directory", fix="make it first, or omit it")
    return Workspace(None if folder is None else folder.absolute(), user_data_dir(os.environ) / "worker")


def _frozen_after(age: str) -> float:
    found = age_in_seconds(age, "--frozen-after")
    if not found:
        raise UsageError("--frozen-after 0 would take the runs of every worker", fix="write two minutes: 2m")
    return found


def _health_file(file: Path) -> Path:
    import os

    if file.is_dir() or not file.parent.is_dir() or not os.access(file.parent, os.W_OK | os.X_OK):
        fix = f"name a file in a directory that exists and can be written, not {file.parent}"
        raise UsageError(f"--health-file {file} cannot be written", fix=fix)
    return file


def _require_policy(named: Path | None) -> None:
    """Check the policy files of this machine before anything is taken, since with a wrong one every run is refused.

    Raises:
        Denied: One cannot be read, or is wrong.
    """
    from strands_cli.config import load_settings
    from strands_cli.user_files.policy_files import load_policy

    load_policy(load_settings(), None, named)


def _work(place: StorePlace, choices: WorkerChoices) -> int:
    import asyncio
    from contextlib import closing
    from functools import partial

    from strands_cli.cli.commands.end_notice import EndNotice
    from strands_cli.cli.foreign_output import reserved_streams
    from strands_cli.engine.stored_runs.opened_store import store_at
    from strands_cli.queues.engine_choice import engine_of
    from strands_cli.workers.patience import reached
    from strands_cli.workers.worker import WorkPlace, work
    from strands_cli.workers.worker_events import WorkerEvent

    engine, address = engine_of(place)

    def tell(line: str) -> None:
        report(WorkerEvent("warning", line))

    with closing(reached(lambda: engine.open(place, address), choices.connect_timeout_s, tell)) as queue:
        for note in filter(None, (note_on_new_queue(name, queue) for name in choices.queues)):
            tell(note)
    notice = EndNotice(watched=False)
    opened = reached(lambda: store_at(place), choices.connect_timeout_s, tell)
    with closing(opened) as store, reserved_streams(_tool_line, _error_line):
        notify = partial(notice.send, place)
        asyncio.run(work(WorkPlace(store, engine, address, report, notify), choices))
    return ExitCode.OK


def _tool_line(text: str) -> None:
    """Write a line that a tool has printed, marked so that it does not look like one of ours."""
    if logs_json():
        write_log(text, level="info", source="stdout")
    else:
        say(f"  | {text}")


def _error_line(text: str) -> None:
    """Write a line that a tool, or what it uses, has written to stderr or logged."""
    if logs_json():
        write_log(text, level="warning", source="stderr")
    else:
        say(text)


def report(event: WorkerEvent) -> None:
    """Write what has happened at the worker to stderr."""
    if logs_json():
        level = "warning" if event.name in _WARNINGS else "info"
        facts = {"run": event.run_id, **event.facts} if event.run_id else dict(event.facts)
        write_log(one_line(event.text), level=level, event=event.name, **facts)
    else:
        say(one_line(f"{time.strftime('%H:%M:%S')} {event.text}"))


@with_run_options()
def workers(store: STORE = None, as_json: JSON = False) -> None:
    """List the workers of a store: who is alive, and on what they work.

    Example: strands workers --store postgresql://strands@db/strands
    """
    from contextlib import closing

    from strands_cli.planning.store_choice import chosen_place
    from strands_cli.queues.engine_choice import queue_at

    with closing(queue_at(chosen_place(None, store))) as queue:
        found = queue.workers()
    if as_json:
        print_json({"workers": [_document(one) for one in found]})
    elif not found:
        say("no workers")
    else:
        heads = ("ID", "MACHINE", "SINCE", "QUEUES", "STATE", "HEARTBEAT", "RUNS")
        print_result("\n".join(table([heads, *map(_cells, found)])))


def _state(one: WorkerState) -> str:
    if not one.is_held:
        return "gone"
    return "frozen" if one.is_frozen else "draining" if one.is_draining else "alive"


def _cells(one: WorkerState) -> tuple[str, ...]:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.since))
    works_on = f"{len(one.runs)}/{one.concurrency} {' '.join(one.runs)}".rstrip()
    beat = f"{one.beat_s:.0f}s ago"
    return (one.id, f"{one.machine}:{one.pid}", since, ",".join(one.queues), _state(one), beat, works_on)


def _document(one: WorkerState) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "state": _state(one),
        "machine": one.machine,
        "pid": one.pid,
        "since": round(one.since, 3),
        "queues": list(one.queues),
        "concurrency": one.concurrency,
        "version": one.version,
        "runs": list(one.runs),
        "heartbeat_s": round(one.beat_s, 3),
        "frozen_after_s": one.frozen_after_s,
    }
