"""The page of all runs: the newest first, filtered, in pages, live; and the page that compares two of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import quote, urlencode

from strands_cli.api import Runs, RunStatus, UsageError, counted, duration
from strands_cli_ui.frame.ui_forms import option
from strands_cli_ui.frame.ui_frame import has_address, page_response
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.pages.comparison import comparison
from strands_cli_ui.pages.html_text import badge, escape, moment, table

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli.api import StoredRun


PER_PAGE = 50


def show_runs(ui: Ui, request: Any) -> Response:
    """Return the list of runs."""
    begun = time.perf_counter()
    parameters = request.query_params
    with ui.opened() as opened:
        runs, problems = opened.all()
    problems += [f"the name of the run {run.id} is not UTF-8" for run in runs if not has_address(run.id)]
    runs = [run for run in runs if has_address(run.id)]
    listed = _listed(runs, parameters)
    hidden, runs = len(runs) - len(listed), listed
    chosen = [run for run in runs if _fits(run, parameters)]
    last = max(1, -(-len(chosen) // PER_PAGE))
    number = min(max(1, _number(parameters.get("page"))), last)
    page_runs = chosen[(number - 1) * PER_PAGE : number * PER_PAGE]
    warned = "".join(f"<li><bdi>{escape(problem)}</bdi></li>" for problem in problems[:20])
    body = "".join(
        [
            "<h1>Runs</h1>",
            _filters(parameters, runs),
            '<div id="live" data-events="/events">',
            f"<p>{counted(len(chosen), 'run')}</p>",
            f"<p>{counted(hidden, 'part')} of other runs not shown: enter the id of such a run as the text.</p>"
            if hidden
            else "",
            _table(page_runs) if page_runs else "",
            _paging(parameters, number, last),
            f"<details><summary>{counted(len(problems), 'run')} cannot be read</summary><ul>{warned}</ul></details>"
            if problems
            else "",
            "</div>",
        ]
    )
    ui.hub.note_cost("", time.perf_counter() - begun)
    return page_response("Runs", body)


def _listed(runs: list[StoredRun], parameters: Any) -> list[StoredRun]:
    """Return runs without parts of others, unless these are asked for: by a text, or as those that wait."""
    is_asked = bool(parameters.get("text", "").strip()) or parameters.get("status") in ("waiting", "needs-decision")
    return runs if is_asked else Runs.without_parts(runs)


def _fits(run: StoredRun, parameters: Any) -> bool:
    text = parameters.get("text", "").strip().lower()
    return (
        parameters.get("status", "") in ("", run.status)
        and parameters.get("workflow", "") in ("", run.workflow)
        and (not text or any(text in part.lower() for part in (run.id, run.workflow, run.file, run.reason or "")))
    )


def _filters(parameters: Any, runs: Sequence[StoredRun]) -> str:
    """Return the form that chooses runs."""
    statuses = _options(get_args(RunStatus), parameters.get("status", ""))
    workflows = _options(sorted({run.workflow for run in runs})[:500], parameters.get("workflow", ""))
    return (
        '<form method="get" action="/" class="filters" role="search">'
        f'<label>Status <select name="status"><option value="">any</option>{statuses}</select></label> '
        f'<label>Workflow <select name="workflow"><option value="">any</option>{workflows}</select></label> '
        f'<label>Text <input type="search" name="text" value="{escape(parameters.get("text", ""))}"></label> '
        "<button>Show</button></form>"
    )


def _options(values: Sequence[str], chosen: str) -> str:
    return "".join(option(value, is_chosen=value == chosen) for value in values)


def _table(runs: Sequence[StoredRun]) -> str:
    """Return the runs, each with a box to compare it with another."""
    heads = ("Compare", "Run", "Workflow", "Status", "Started", "Worked")
    return (
        f'<form method="get" action="/compare">{table("Runs", heads, "".join(map(_row, runs)), classes="runs")}'
        "<p><button>Compare the two that are marked</button></p></form>"
    )


def _row(run: StoredRun) -> str:
    box = f'<input type="checkbox" name="run" value="{escape(run.id)}" aria-label="Compare {escape(run.id)}">'
    reason = f'<bdi class="soft">{escape(run.reason[:200])}</bdi>' if run.reason else ""
    return (
        f'<tr id="r-{escape(run.id)}"><td>{box}</td>'
        f'<td class="id"><a href="/runs/{quote(run.id)}"><code>{escape(run.id)}</code></a></td>'
        f'<td><bdi>{escape(run.workflow)}</bdi></td><td class="status">{badge(run.status)} {reason}</td>'
        f'<td class="number">{moment(run.started_at)}</td><td class="number">{duration(run.worked_s)}</td></tr>'
    )


def _paging(parameters: Any, number: int, last: int) -> str:
    if last == 1:
        return ""
    filters = {name: parameters[name] for name in ("status", "workflow", "text") if parameters.get(name)}
    links = [
        f'<a href="/?{escape(urlencode({**filters, "page": page}))}" rel="{rel}">{title}</a>'
        for page, rel, title in ((number - 1, "prev", "Newer"), (number + 1, "next", "Older"))
        if 1 <= page <= last
    ]
    return f'<p class="paging">Page {number} of {last} {" ".join(links)}</p>'


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else 1


def show_comparison(ui: Ui, request: Any) -> Response:
    """Return the comparison of the two runs that were marked, the earlier one first."""
    names = [name.strip() for name in request.query_params.getlist("run") if name.strip()]
    if len(names) != 2:
        raise UsageError(f"{len(names)} runs are marked", fix="mark two runs in the list")
    with ui.opened() as runs:
        first, second = sorted(names, key=lambda name: runs.get(name).started_at)
        with runs.open(first) as before, runs.open(second) as after:
            return page_response("Two runs", comparison(before, after)[1])
