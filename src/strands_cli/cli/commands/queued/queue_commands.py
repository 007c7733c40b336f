"""The commands under `queue`: what waits in queues, their limits, and their schedules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands.command_options import JSON, STORE, with_run_options
from strands_cli.cli.commands.help_group import group
from strands_cli.cli.commands.queued.queue_names import require_queue
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import table
from strands_cli.cli.text_layout import one_line
from strands_cli.engine.effects.rates import written_rate
from strands_cli.errors import UsageError
from strands_cli.texts.phrases import counted, duration

if TYPE_CHECKING:
    from strands_cli.queues.queue_port import QueueLimits, QueueState, RunQueue, Schedule

MOST_REFUSED = 20
NAME = Annotated[str, typer.Argument(metavar="NAME", help="The queue.")]
_NOTHING = "none"


@contextmanager
def _opened(store: str | None) -> Iterator[RunQueue]:
    from strands_cli.planning.store_choice import chosen_place
    from strands_cli.queues.engine_choice import queue_at

    with closing(queue_at(chosen_place(None, store))) as queue:
        yield queue


@with_run_options()
def status_of_queues(store: STORE = None, as_json: JSON = False) -> None:
    """Show what waits in each queue, the schedules, and the runs that workers have refused.

    Example: strands queue status --json
    """
    with _opened(store) as queue:
        states, schedules, refused = queue.states(), queue.schedules(), queue.refused(MOST_REFUSED)
    if as_json:
        print_json(
            {
                "queues": [_document(one) for one in states],
                "schedules": [_schedule_document(one) for one in schedules],
                "refused": [{"run": one.run_id, "queue": one.queue, "refusals": dict(one.refusals)} for one in refused],
            }
        )
        return
    if not states:
        say("no queues")
        return
    heads = ("QUEUE", "WAITING", "RUNNING", "DELAYED", "OLDEST", "LIMITS")
    lines = table([heads, *map(_cells, states)])
    lines += [f"schedule {one.name}: {one.cron} ({one.timezone})" for one in schedules]
    lines += [one_line(f"refused {one.run_id} by {who}: {why}") for one in refused for who, why in one.refusals.items()]
    print_result("\n".join(lines))


@with_run_options()
def limit_queue(
    name: NAME,
    concurrency: Annotated[
        str | None, typer.Option(metavar="N", help="Runs at once over all workers; 'none' for no limit.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Runs that start in a time, e.g. 60/m; 'none' for no limit.")
    ] = None,
    is_new: Annotated[bool, typer.Option("--new", help="Make the queue if it does not exist.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Limit the runs of a queue, for all its workers together; they follow at once.

    Example: strands queue limit default --concurrency 20 --rate 60/m
    """
    from dataclasses import replace

    from strands_cli.engine.effects.rates import Rate
    from strands_cli.queues.queue_port import QueueLimits
    from strands_cli.queues.queue_words import require_queue_name

    if concurrency is None and rate is None:
        raise UsageError("neither --concurrency nor --rate is given", fix="strands queue status shows the limits")
    require_queue_name(name)
    with _opened(store) as queue:
        if not is_new:
            require_queue(name, queue)
        limits = next((one.limits for one in queue.states() if one.name == name), QueueLimits())
        if concurrency is not None:
            limits = replace(limits, concurrency=_number(concurrency))
        if rate is not None:
            parsed = None if rate == _NOTHING else Rate.parse(rate)
            count, seconds = (parsed.count, float(parsed.period_s)) if parsed else (None, None)
            limits = replace(limits, rate=count, rate_s=seconds)
        queue.limit(name, limits)
    if as_json:
        print_json({"queue": name, "limits": _limits_document(limits)})
    else:
        say(one_line(f"{name}: {_limits(limits) or 'no limits'}"))


@with_run_options()
def cancel_schedule(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The schedule.")],
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """End a schedule; runs that it has started stay.

    Example: strands queue cancel daily-report
    """
    from strands_cli.engine.ports.clock import SystemClock
    from strands_cli.engine.stored_runs.cancelling import cancel_run
    from strands_cli.engine.stored_runs.opened_store import store_at
    from strands_cli.planning.store_choice import chosen_place
    from strands_cli.workers.submitted.scheduled_runs import SCHEDULED

    with _opened(store) as queue, closing(store_at(chosen_place(None, store))) as runs:
        known = [one.name for one in queue.schedules()]
        if not queue.unschedule(name):
            fix = f"there are: {', '.join(known)}" if known else "there are no schedules"
            raise UsageError(f"there is no schedule {name!r}", fix=fix)
        if name in runs.with_status(SCHEDULED):
            cancel_run(runs, name, SystemClock())
    if as_json:
        print_json({"cancelled": [name]})
    else:
        say(f"{name}: cancelled")


def _number(text: str) -> int | None:
    if text == _NOTHING:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"--concurrency {text!r} is not a number", fix="write a number from 1 on, or none")
    return int(text)


def _cells(one: QueueState) -> tuple[str, ...]:
    return (
        *(one.name, str(one.waiting), str(one.running), str(one.delayed)),
        *(duration(one.oldest_s), _limits(one.limits)),
    )


def _limits(limits: QueueLimits) -> str:
    parts = []
    if limits.concurrency is not None:
        parts.append(f"{counted(limits.concurrency, 'run')} at once")
    if limits.rate is not None:
        parts.append(written_rate(limits.rate, limits.rate_s or 1.0))
    return ", ".join(parts)


def _limits_document(limits: QueueLimits) -> dict[str, Any]:
    return {"concurrency": limits.concurrency, "rate": limits.rate, "rate_s": limits.rate_s}


def _document(one: QueueState) -> dict[str, Any]:
    return {
        "name": one.name,
        "waiting": one.waiting,
        "running": one.running,
        "delayed": one.delayed,
        "oldest_s": None if one.oldest_s is None else round(one.oldest_s, 3),
        "versions": dict(one.versions),
        "limits": _limits_document(one.limits),
    }


def _schedule_document(one: Schedule) -> dict[str, Any]:
    return {"name": one.name, "every": one.cron, "timezone": one.timezone, "last_fired": one.last_fired or None}


ABOUT = "Look at the queues of a store, limit them, and end schedules.\n\nExample: strands queue status"
queue_app = group(ABOUT, {"status": status_of_queues, "limit": limit_queue, "cancel": cancel_schedule})
