"""The output of `batch status`, and of `runs show` for a batch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from strands_cli.api import duration, print_json, print_result
from strands_cli_batch.batch_report import (
    larger_limits,
    next_lines,
    summary_lines,
    tally_document,
    waiting_lines,
)
from strands_cli_batch.command_parts import one_line

if TYPE_CHECKING:
    from strands_cli.api import RunStore, StoredRun, StorePlace
    from strands_cli_batch.batch_view import BatchView


def print_status(store: RunStore, batch: str, *, as_json: bool) -> None:
    """Print the result of a batch."""
    from strands_cli_batch.batch_view import view_of

    batch_view = view_of(store, batch)
    if as_json:
        print_json(status_document(batch_view))
    else:
        print_result("\n".join(status_lines(batch_view, store.place)))


def status_document(view: BatchView) -> dict[str, Any]:
    """Return a batch as JSON."""
    document = tally_document(view.tally, view.distinct, view.choices)
    choices = view.choices.to_stored()
    return {
        "batch": view.run.id,
        **_run_document(view.run),
        "rows_file": view.source,
        **document,
        "choices": {
            **choices,
            "concurrency": view.choices.at_a_time,
            "limits": list(choices["limits"]),
            "budget": dict(choices["budget"]),
        },
        "waiting": [{"run": row["run"], "questions": list(row["questions"])} for row in view.waiting],
    }


def _run_document(run: StoredRun) -> dict[str, Any]:
    ended = run.ended_at
    return {
        **{name: getattr(run, name) for name in ("id", "workflow", "status")},
        "started_at": _moment(run.started_at),
        "ended_at": None if ended is None else _moment(ended),
        "pattern": run.command,
        **{name: getattr(run, name) for name in ("file", "reason", "record")},
    }


def _moment(seconds: float) -> str:
    """Return seconds since the epoch as ISO 8601 in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def status_lines(view: BatchView, place: StorePlace) -> Iterator[str]:
    """Yield the result of a batch, its questions, and how it goes on."""
    run = view.run
    worked = f", {duration(run.worked_s)} of work" if run.worked_s else ""
    yield one_line(f"batch {run.id} of {run.file}: {run.status}{worked}")
    if run.reason:
        yield one_line(f"  {run.reason}")
    for line in (*summary_lines(view.tally), *waiting_lines(view.waiting, view.tally.waiting)):
        yield one_line(line)
    if view.choices.out != "-":
        yield one_line(f"results {view.choices.out}")
    if run.status == "cancelled":
        yield "to run all rows in a new batch: begin it with --again, and with another -o FILE or --force"
    elif run.status != "running":
        larger = larger_limits(view.choices.budget, view.tally, run.worked_s)
        yield from (one_line(line) for line in next_lines(run.id, view.tally, place, larger, is_status=True))
