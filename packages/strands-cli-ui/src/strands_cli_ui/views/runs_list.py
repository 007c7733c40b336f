"""The page of all runs: a line for each, the newest first, filtered, in pages, live; and the page that compares two."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import quote, urlencode

from strands_cli.api import Runs, RunStatus, UsageError, counted, duration
from strands_cli_ui.frame.ui_forms import option
from strands_cli_ui.frame.ui_frame import has_address, page_response
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.pages.comparison import comparison
from strands_cli_ui.pages.html_text import ago, badge, current, escape, icon, isolated, money, short_id, table
from strands_cli_ui.views.run_lines import RunLine, lines_of

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli.api import StoredRun


PER_PAGE = 50
# The most parts of a run of other runs that its line opens to.
MOST_PARTS = 50
# Statuses that always have a link above the list, those that ask for something first; others have one where they occur.
_USUAL = ("waiting", "running", "failed", "completed")
_TELLING = ("failed", "needs-decision", "interrupted", "waiting", "running")
_HEADS = ('<span class="hidden">Compare</span>', "Status", "Workflow", "About", "Started", "Took", "Cost", "Run")


def show_runs(ui: Ui, request: Any) -> Response:
    """Return the list of runs."""
    begun = time.thread_time()
    asked = {name: value for name, value in request.query_params.items() if value}
    with ui.opened() as opened:
        every, problems = opened.all()
        problems += [f"the name of the run {run.id} is not UTF-8" for run in every if not has_address(run.id)]
        every = [run for run in every if has_address(run.id)]
        # Parts of other runs are below these; alone they are listed where a text asks for them.
        listed = every if asked.get("text") else Runs.without_parts(every)
        fitting = [run for run in listed if _fits(ui, run, asked)]
        chosen = [run for run in fitting if asked.get("status", run.status) == run.status]
        last = max(1, -(-len(chosen) // PER_PAGE))
        number = min(max(1, _number(asked.get("page"))), last)
        page_runs = chosen[(number - 1) * PER_PAGE : number * PER_PAGE]
        parts = _parts(every, asked.get("open"))
        shown = [*page_runs, *parts.get(asked.get("open", ""), ())[:MOST_PARTS]]
        lines = lines_of(ui, opened, shown)
    warned = "".join(f"<li>{isolated(problem)}</li>" for problem in problems[:20])
    again = "" if len(lines) == len(shown) else ' data-again="yes"'
    body = "".join(
        [
            f'<div id="live" data-events="/events"{again}>',
            "<h1>Runs</h1>",
            _filters(asked, fitting, {run.workflow for run in listed}) if every else _NONE,
            _table(page_runs, asked, parts, lines) if page_runs else _none_fit(every),
            _paging(asked, number, last),
            f"<details><summary>{counted(len(problems), 'run')} cannot be read</summary><ul>{warned}</ul></details>"
            if problems
            else "",
            "</div>",
        ]
    )
    ui.hub.note_cost("", time.thread_time() - begun)
    return page_response("Runs", body)


_NONE = (
    '<div class="card none"><h2>No runs yet</h2><p>Start one of <a href="/workflows">the workflows of this folder</a>,'
    " or in a terminal:</p><pre>strands run FLOW.yaml</pre><p>It appears here by itself.</p></div>"
)


def _none_fit(every: Sequence[StoredRun]) -> str:
    return '<p class="card none">No run fits. <a href="/">Show all runs</a></p>' if every else ""


def _fits(ui: Ui, run: StoredRun, asked: Mapping[str, str]) -> bool:
    text = asked.get("text", "").strip().lower()
    line = ui.lines[run.id][1] if text and run.id in ui.lines else RunLine()
    texts = (run.id, run.workflow, run.file, run.reason or "", line.about)
    return asked.get("workflow", run.workflow) == run.workflow and any(text in part.lower() for part in texts)


def _parts(runs: Iterable[StoredRun], opened: str | None) -> Mapping[str, Sequence[StoredRun]]:
    """Return the parts of each run of other runs; those of the opened one begin with the telling ones."""
    parts: defaultdict[str, list[StoredRun]] = defaultdict(list)
    for run in runs:
        if run.whole is not None:
            parts[run.whole].append(run)
    order = {status: number for number, status in enumerate(_TELLING)}
    parts[opened or ""].sort(key=lambda run: (order.get(run.status, len(order)), len(run.id), run.id))
    return parts


def _filters(asked: Mapping[str, str], fitting: Sequence[StoredRun], workflows: Iterable[str]) -> str:
    """Return the links and the form that choose runs; they act at once."""
    counts = Counter(run.status for run in fitting)
    statuses = [*_USUAL, *(status for status in get_args(RunStatus) if counts[status] and status not in _USUAL)]
    links = "".join(
        f'<a href="{_address(asked, status=status, page="")}"{current(asked.get("status", "") == status)}'
        f' class="{status}">{status or "all"} <b>{counts[status] if status else len(fitting)}</b></a>'
        for status in ("", *statuses)
    )
    options = "".join(option(name, is_chosen=name == asked.get("workflow")) for name in sorted(workflows)[:500])
    status = f'<input type="hidden" name="status" value="{escape(asked["status"])}">' if "status" in asked else ""
    text = escape(asked.get("text", ""))
    return (
        f'<div class="filters"><nav aria-label="Status" class="chips">{links}</nav>'
        f'<form method="get" action="/" role="search">{status}'
        f'<label><span class="hidden">Workflow</span><select name="workflow"><option value="">Every workflow</option>'
        f'{options}</select></label><label><span class="hidden">Text</span><input type="search" name="text"'
        f' placeholder="Search" value="{text}"></label><button class="nojs">Show</button></form></div>'
    )


def _address(asked: Mapping[str, str], **changes: str) -> str:
    """Return the address of the list with other words; an empty one is left out."""
    words = {name: value for name, value in {**asked, **changes}.items() if value}
    return escape(f"/?{urlencode(words)}" if words else "/")


def _table(
    runs: Sequence[StoredRun],
    asked: Mapping[str, str],
    parts: Mapping[str, Sequence[StoredRun]],
    lines: Mapping[str, RunLine],
) -> str:
    """Return the runs, each with a box to compare it with another."""
    rows = []
    for run in runs:
        own_parts = parts.get(run.id, ())
        is_open = asked.get("open") == run.id
        rows.append(_row(run, lines.get(run.id), _opener(run, own_parts, asked, is_open=is_open) if own_parts else ""))
        if is_open:
            rows += [_row(part, lines.get(part.id), classes=" part-of") for part in own_parts[:MOST_PARTS]]
        if is_open and len(own_parts) > MOST_PARTS:
            link = f'<a href="/?{escape(urlencode({"text": run.id}))}">all {len(own_parts):,}</a>'
            rows.append(f'<tr class="part-of"><td></td><td colspan="7">{MOST_PARTS} of them; {link}</td></tr>')
    return (
        f'<form method="get" action="/compare" class="list">{table("Runs", _HEADS, "".join(rows), classes="runs")}'
        '<p class="compare"><button>Compare the two that are marked</button></p></form>'
    )


def _opener(run: StoredRun, parts: Sequence[StoredRun], asked: Mapping[str, str], *, is_open: bool) -> str:
    """Return the link that opens a run of other runs, with how many of these have which status."""
    counts = ", ".join(f"{number} {status}" for status, number in Counter(part.status for part in parts).most_common())
    address = _address(asked, open="" if is_open else run.id)
    return (
        f'<a class="opener" href="{address}" aria-expanded="{str(is_open).lower()}">'
        f"{icon('open')}{counted(len(parts), 'row')}</a> {escape(counts)}"
    )


def _row(run: StoredRun, line: RunLine | None, opener: str = "", classes: str = "") -> str:
    name = escape(run.id)
    box = f'<input type="checkbox" name="run" value="{name}" aria-label="Compare {name}">'
    reason = (line.question if line else "") or run.reason or ""
    about = f"<span>{opener}</span> " if opener else f"<bdi>{escape(line.about)}</bdi> " if line and line.about else ""
    why = f'<bdi class="why" title="{escape(reason[:2000])}">{escape(reason[:300])}</bdi>' if reason else ""
    cost = money(line.cost) if line and line.cost else "?" if line and line.cost is None else ""
    return (
        f'<tr id="r-{name}" class="{escape(run.status)}{classes}"><td class="mark">{box}</td>'
        f"<td>{badge(run.status)}</td>"
        f'<th scope="row"><a href="/runs/{quote(run.id)}">{isolated(run.workflow)}</a></th>'
        f'<td class="about"><div>{about}{why}</div></td><td class="number">{ago(run.started_at)}</td>'
        f'<td class="number">{duration(run.worked_s)}</td><td class="number">{cost}</td>'
        f'<td class="id">{short_id(run.id)}</td></tr>'
    )


def _paging(asked: Mapping[str, str], number: int, last: int) -> str:
    links = [
        f'<a href="{_address(asked, page=str(page))}" rel="{rel}">{title}</a>'
        for page, rel, title in ((number - 1, "prev", "Newer"), (number + 1, "next", "Older"))
        if 1 <= page <= last
    ]
    return f'<p class="paging">Page {number} of {last} {" ".join(links)}</p>' if last > 1 else ""


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
            return page_response("Two runs", comparison(before, after)[1], under="Runs")
