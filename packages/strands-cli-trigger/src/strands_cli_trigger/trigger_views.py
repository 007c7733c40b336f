"""The commands `trigger list` and `trigger show`: triggers, their next times, and their last occurrences."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.api import (
    DEFAULT_STORE,
    Runs,
    StoreOptions,
    print_json,
    print_result,
    say,
    table,
    with_run_options,
)
from strands_cli_trigger.run_command import FILE, JSON, NAME
from strands_cli_trigger.trigger_file import DEFAULT_FILE

if TYPE_CHECKING:
    from strands_cli.api import StoredRun
    from strands_cli_trigger.trigger_file import Trigger

MOST = 10


@with_run_options()
def list_triggers(
    *, file: FILE = Path(DEFAULT_FILE), where: StoreOptions = DEFAULT_STORE, as_json: JSON = False
) -> None:
    """List the triggers of a file, with the next time and the last run of each.

    Example: strands trigger list
    """
    from strands_cli_trigger.trigger_file import read_triggers

    triggers = read_triggers(file)
    with Runs(where.place) as runs:
        last = {name: runs_of(trigger, runs) for name, trigger in triggers.items()}
    if as_json:
        print_json({"triggers": [trigger_document(trigger, last[name][:1]) for name, trigger in triggers.items()]})
        return
    if not triggers:
        say("no triggers")
        return
    heads = ("TRIGGER", "WORKFLOW", "SCHEDULE", "NEXT", "LAST RUN", "STATUS")
    rows = [
        (
            name,
            trigger.workflow,
            f"{trigger.schedule} {trigger.zone}" if trigger.schedule else "",
            _next_of(trigger) or "",
            *((last[name][0].id, last[name][0].status) if last[name] else ("", "")),
        )
        for name, trigger in triggers.items()
    ]
    print_result("\n".join(table([heads, *rows])))


@with_run_options()
def show_trigger(
    *, name: NAME, file: FILE = Path(DEFAULT_FILE), where: StoreOptions = DEFAULT_STORE, as_json: JSON = False
) -> None:
    """Show one trigger and its last occurrences.

    Example: strands trigger show nightly
    """
    from strands_cli_trigger.trigger_file import trigger_named

    trigger = trigger_named(name, file)
    with Runs(where.place) as runs:
        document = trigger_document(trigger, runs_of(trigger, runs)[:MOST])
    if as_json:
        print_json(document)
        return
    lines = [f"{label:12}{value}" for label, value in document.items() if label != "runs" and value not in (None, {})]
    heads = ("RUN", "STATUS", "REASON")
    rows = [(run["run"], run["status"], run["reason"] or "") for run in document["runs"]]
    print_result("\n".join([*lines, "", *(table([heads, *rows]) if rows else ["no runs"])]))


def runs_of(trigger: Trigger, runs: Runs) -> list[StoredRun]:
    """Return the runs of a trigger, that of the latest occurrence first."""
    from strands_cli_trigger.occurrences import prefix_of

    own = [run for run in runs.all()[0] if run.id.startswith(prefix_of(trigger.name))]
    return sorted(own, key=lambda run: run.id, reverse=True)


def trigger_document(trigger: Trigger, runs: list[StoredRun]) -> dict[str, Any]:
    """Return a trigger as JSON, with some of its runs."""
    return {
        "name": trigger.name,
        "workflow": trigger.workflow,
        "inputs": dict(trigger.inputs),
        "schedule": trigger.schedule,
        "timezone": str(trigger.zone),
        "overlap": trigger.overlap,
        "stale_after": trigger.stale_text or None,
        "next": _next_of(trigger),
        "runs": [{"run": run.id, "status": run.status, "reason": run.reason} for run in runs],
    }


def _next_of(trigger: Trigger) -> str | None:
    from strands_cli_trigger.occurrences import following

    return following(trigger, datetime.datetime.now(datetime.UTC)).isoformat() if trigger.schedule else None
