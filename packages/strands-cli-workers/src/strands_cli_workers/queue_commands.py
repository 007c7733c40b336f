"""The commands under `queue`: the waiting runs in queues, their limits, and their schedules."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.api import (
    Chosen,
    Rate,
    UsageError,
    counted,
    duration,
    print_json,
    print_result,
    say,
    table,
    with_run_options,
)
from strands_cli_workers.command_parts import JSON, one_line, place_of
from strands_cli_workers.names import require_queue, require_queue_name
from strands_cli_workers.open_queue import opened_queue
from strands_cli_workers.queue_values import QueueLimits

if TYPE_CHECKING:
    from strands_cli_workers.queue_values import QueueState, Schedule

MOST_REFUSED = 20
NAME = Annotated[str, typer.Argument(metavar="NAME", help="The queue.")]
_NOTHING = "none"


@with_run_options(only=("store",))
def status_of_queues(chosen: Chosen, as_json: JSON = False) -> None:
    """Show what waits in each queue, the schedules, and the runs that workers have refused.

    Example: strands workers queue status --json
    """
    with opened_queue(place_of(chosen)) as (_, queue):
        states, schedules, refused = queue.states(), queue.schedules(), queue.refused(MOST_REFUSED)
    if as_json:
        print_json(
            {
                "queues": [_document(state) for state in states],
                "schedules": [_schedule_document(schedule) for schedule in schedules],
                "refused": [
                    {"run": refused_run.run_id, "queue": refused_run.queue, "refusals": dict(refused_run.refusals)}
                    for refused_run in refused
                ],
            }
        )
        return
    if not states:
        say("no queues")
        return
    heads = ("QUEUE", "WAITING", "RUNNING", "DELAYED", "OLDEST", "LIMITS")
    lines = table([heads, *map(_cells, states)])
    lines += [f"schedule {schedule.name}: {schedule.cron} ({schedule.timezone})" for schedule in schedules]
    lines += [
        one_line(f"refused {refused_run.run_id} by {who}: {why}")
        for refused_run in refused
        for who, why in refused_run.refusals.items()
    ]
    print_result("\n".join(lines))


@with_run_options(only=("store",))
def limit_queue(
    name: NAME,
    concurrency: Annotated[
        str | None, typer.Option(metavar="N", help="Runs at once over all workers; 'none' for no limit.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Runs that start in a time, e.g. 60/m; 'none' for no limit.")
    ] = None,
    is_new: Annotated[bool, typer.Option("--new", help="Make the queue if it does not exist.")] = False,
    *,
    chosen: Chosen,
    as_json: JSON = False,
) -> None:
    """Limit the runs of a queue, for all its workers together.

    Example: strands workers queue limit default --concurrency 20 --rate 60/m
    """
    if concurrency is None and rate is None:
        raise UsageError(
            "neither --concurrency nor --rate is given", fix="strands workers queue status shows the limits"
        )
    require_queue_name(name)
    with opened_queue(place_of(chosen)) as (_, queue):
        if not is_new:
            require_queue(name, queue)
        limits = next((state.limits for state in queue.states() if state.name == name), QueueLimits())
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


@with_run_options(only=("store",))
def cancel_schedule(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The schedule.")],
    chosen: Chosen,
    as_json: JSON = False,
) -> None:
    """End a schedule; runs that it has started stay.

    Example: strands workers queue cancel daily-report
    """
    from strands_cli_workers.submission import SCHEDULED

    with opened_queue(place_of(chosen)) as (store, queue):
        names = [schedule.name for schedule in queue.schedules()]
        if not queue.unschedule(name):
            fix = f"there are: {', '.join(names)}" if names else "there are no schedules"
            raise UsageError(f"there is no schedule {name!r}", fix=fix)
        if name in store.with_status(SCHEDULED):
            with closing(store.open(name)) as journal:
                journal.put(status="cancelled", reason="a person cancelled it", ended_at=time.time())
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


def _cells(queue: QueueState) -> tuple[str, ...]:
    return (
        *(queue.name, str(queue.waiting), str(queue.running), str(queue.delayed)),
        *(duration(queue.oldest_s), _limits(queue.limits)),
    )


def _limits(limits: QueueLimits) -> str:
    parts = []
    if limits.concurrency is not None:
        parts.append(f"{counted(limits.concurrency, 'run')} at once")
    if limits.rate is not None:
        parts.append(str(Rate(limits.rate, round(limits.rate_s or 1))))
    return ", ".join(parts)


def _limits_document(limits: QueueLimits) -> dict[str, Any]:
    return {"concurrency": limits.concurrency, "rate": limits.rate, "rate_s": limits.rate_s}


def _document(queue: QueueState) -> dict[str, Any]:
    return {
        "name": queue.name,
        "waiting": queue.waiting,
        "running": queue.running,
        "delayed": queue.delayed,
        "oldest_s": None if queue.oldest_s is None else round(queue.oldest_s, 3),
        "versions": dict(queue.versions),
        "limits": _limits_document(queue.limits),
    }


def _schedule_document(schedule: Schedule) -> dict[str, Any]:
    return {
        "name": schedule.name,
        "every": schedule.cron,
        "timezone": schedule.timezone,
        "last_fired": schedule.last_fired or None,
    }


ABOUT = "Look at the queues of a store, limit them, and end schedules.\n\nExample: strands workers queue status"
queue_app = typer.Typer(help=ABOUT)
for _name, _command in {"status": status_of_queues, "limit": limit_queue, "cancel": cancel_schedule}.items():
    queue_app.command(_name)(_command)
