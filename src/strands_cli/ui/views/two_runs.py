"""The page that compares two runs: their totals, and what differs first and after that."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from strands_cli.engine.journal import SqliteJournal
from strands_cli.engine.stored_runs import find_run
from strands_cli.errors import UsageError
from strands_cli.pages import run_page_of
from strands_cli.pages.html_text import duration, isolated, money
from strands_cli.phrases import counted, shortened
from strands_cli.run_views import Change, RunSide, diff_of
from strands_cli.ui.frame import Ui, page_response, section, table

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli.pages import RunPage

# The most differences of effects that are listed, and the most characters of a value.
MOST, TEXT = 300, 2000


def show_comparison(ui: Ui, request: Any) -> Response:
    """Return the comparison of the two runs that were marked, the earlier one first."""
    names = [name.strip() for name in request.query_params.getlist("run") if name.strip()]
    if len(names) != 2:
        raise UsageError(f"{len(names)} runs are marked", fix="mark two runs in the list")
    before, after = sorted((_page_of(ui, name) for name in names), key=lambda page: page.summary.run.started_at)
    diff = diff_of(before.summary, after.summary)
    redactor = before.redactor.union(after.redactor)

    def row(change: Change) -> tuple[str, ...]:
        values = (redactor.text(_text(value)) for value in (change.before, change.after))
        return (change.key, change.what, *(shortened(value, TEXT) for value in values))

    heads = ("Where", "What", before.summary.run.id, after.summary.run.id)
    changes = [row(change) for pair in diff.changed for change in pair.changes]
    first = f"They differ first at {diff.first.key}." if diff.first else "No effect differs."
    more = f"<p>{counted(len(changes) - MOST, 'difference')} not shown.</p>" if len(changes) > MOST else ""
    of_run = table("Runs", heads, map(row, diff.of_run))
    parts = [
        f"<h1>Two runs of {isolated(before.plain(before.summary.run.workflow))}</h1><p>{isolated(first)}</p>",
        section("Totals", table("Totals", ("What", *heads[2:]), _totals(diff.before, diff.after))),
        section("Given and ended", of_run) if of_run else "",
        section("Effects", f"{table('Effects', heads, changes[:MOST])}{more}") if changes else "",
    ]
    return page_response("Two runs", "".join(parts))


def _page_of(ui: Ui, name: str) -> RunPage:
    directory = find_run(ui.runs_dir, name)
    with contextlib.closing(SqliteJournal.open(directory, hold=False)) as journal:
        return run_page_of(directory, journal, most_whole=0)


def _totals(*sides: RunSide) -> Iterator[tuple[str, ...]]:
    yield ("status", *(side.status for side in sides))
    yield ("worked", *(duration(side.seconds) for side in sides))
    yield ("tokens", *(f"{side.usage.input_tokens:,} in, {side.usage.output_tokens:,} out" for side in sides))
    yield ("cost", *(money(side.cost) for side in sides))
    yield ("calls", *(f"{side.model_calls} of models, {side.tool_calls} of tools" for side in sides))
    yield ("effects", *(f"{side.effects:,}" for side in sides))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
