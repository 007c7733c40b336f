"""The page of one run, live: what waits or stopped it, its answer, its steps with one of them beside, and its tabs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from strands_cli.api import OpenedRun, RunRecordError, WholeEffect
from strands_cli_ui.frame.ui_forms import EVERYONE, form, own_forms
from strands_cli_ui.frame.ui_frame import page_response
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.pages.effect_parts import effect_html
from strands_cli_ui.pages.effect_rows import linked_rows
from strands_cli_ui.pages.html_text import ago, current, escape, preformatted, short_id
from strands_cli_ui.pages.run_page import RunPage, run_page_of
from strands_cli_ui.pages.run_parts import (
    about,
    answer,
    cause_of,
    later_parts,
    numbers,
    section,
    stopped,
    title_html,
    top_html,
)
from strands_cli_ui.pages.run_remarks import warnings
from strands_cli_ui.pages.safe_markdown import markdown_html
from strands_cli_ui.views.question_forms import question_forms

if TYPE_CHECKING:
    from starlette.responses import Response


# How many rows of the waterfall one page has; the first load stays under 100 kB.
ROWS = 60
# The most characters of a text beside the waterfall, and the most turns and calls of a step there.
TEXT, BELOW = 6000, 16
# How long a page of one state is shown, whose ages pass, in seconds.
STALE_S = 30
# In these a process works on the run, or may begin to, so that the page follows it.
_FOLLOWED = ("running", "waiting", "interrupted", "needs-decision")


@dataclass(frozen=True, slots=True)
class _View:
    """What a person has chosen on the page of a run.

    Attributes:
        tab: The lower-case title of a part; empty for the steps.
        effect: The key of the effect beside the steps.
        first: The row at which the steps begin.
        only: `problems` for those rows alone.
    """

    run: str
    tab: str
    effect: str
    first: int | None
    only: str

    def address(self, **changes: object) -> str:
        """Return the address of the page with other choices."""
        chosen = {"tab": self.tab, "effect": self.effect, "from": self.first, "only": self.only, **changes}
        words = {name: value for name, value in chosen.items() if value not in ("", None)}
        return f"/runs/{quote(self.run)}" + (f"?{urlencode(words)}" if words else "")

    def effect_address(self, key: str) -> str:
        """Return the address of the page with an effect beside the steps."""
        first = self.first if not self.tab else None
        return self.address(tab="", effect=key, **{"from": first}) + "#effect"


def show_run(ui: Ui, request: Any) -> Response:
    """Return the page of a run, made once for all who see the same part of it in the same state."""
    begun = time.thread_time()
    asked = request.query_params
    first = asked.get("from", "")
    with ui.opened() as runs:
        run_id = runs.find(request.path_params["run"])
        state = runs.state(run_id)
        view = _View(
            run_id,
            asked.get("tab", ""),
            asked.get("effect", ""),
            int(first) if first.isdecimal() and len(first) < 9 else None,
            asked.get("only", ""),
        )

        def read() -> RunPage:
            with runs.open(run_id) as opened:
                return run_page_of(opened, most_whole=0)

        def make() -> tuple[str, str]:
            page: RunPage = ui.known_pages.get(run_id, state, read)
            with runs.open(run_id) as opened:
                body = _body(page, view, opened)
            return f"{page.plain(page.summary.run.workflow)}: {page.summary.run.status} ({run_id})", body

        title, body = ui.known_bodies.get(str(view), (state, int(time.time() / STALE_S)), make)
    ui.hub.note_cost(run_id, time.thread_time() - begun)
    return page_response(title, own_forms(body, request), under="Runs")


def _body(page: RunPage, view: _View, opened: OpenedRun) -> str:
    """Return the content of the page, whose forms are those of every session."""
    others: dict[str, Callable[[], str]] = {**later_parts(page, view.effect_address), "Raw": partial(_raw, page)}
    make = others.get(view.tab.capitalize())
    chosen = f'<div class="card">{make()}</div>' if make is not None else _steps(page, view, opened)
    run = page.summary.run
    parts = [
        title_html(page, _actions(page, EVERYONE)),
        top_html(
            question_forms(run, page.questions, EVERYONE, _next_steps(page))
            + stopped(page, view.effect_address, _parts(page) + _resume(page, EVERYONE))
            + section("Answer", answer(page, f"/runs/{quote(run.id)}/response")),
            numbers(page, ago(run.started_at), short_id(run.id)),
            warnings(page, view.effect_address),
        ),
        _tabs(page, view, list(others)),
        f'<div class="tab">{chosen}</div>',
    ]
    events = f' data-events="/runs/{quote(run.id)}/events"' if run.status in _FOLLOWED else ""
    return f'<div id="live"{events}>{"".join(parts)}</div>'


def _parts(page: RunPage) -> str:
    """Return where the parts of a run of other runs are, with how many have which status; empty for other runs."""
    run = page.summary.run
    if run.command is None:
        return ""
    counts = Counter(branch.status for _, branch in page.waterfall.rows if branch.key.startswith("rows."))
    words = ", ".join(f"{number} {status}" for status, number in counts.most_common())
    rows = f'<a href="/?{escape(urlencode({"open": run.id}))}#r-{escape(run.id)}">The rows of this run</a>'
    inbox = ' Questions are in the <a href="/inbox">inbox</a>.' if counts["waiting"] else ""
    return f"<p>{rows}: {words}.{inbox}</p>"


def _raw(page: RunPage) -> str:
    source = f"<h3>Workflow</h3>{preformatted(page.summary.workflow_text)}" if page.summary.workflow_text else ""
    return about(page) + source


def _next_steps(page: RunPage) -> dict[str, str]:
    """Return the steps that may follow each step, in words."""
    graph = page.pictures.pattern
    names = {node.id: f"{node.name} ({node.who})" for node in graph.nodes} if graph else {}
    following: dict[str, list[str]] = {}
    for edge in graph.edges if graph else ():
        following.setdefault(edge.before, []).append(names[edge.after])
    return {key: " or ".join(dict.fromkeys(after)) for key, after in following.items()}


def _tabs(page: RunPage, view: _View, titles: Sequence[str]) -> str:
    counts = {"Artifacts": len(page.summary.artifacts)}
    links = "".join(
        f'<a href="{escape(view.address(tab=title.lower(), effect="", only="", **{"from": None}))}"'
        f"{current(title.lower() == view.tab)}>{title}{f' <b>{counts[title]}</b>' if title in counts else ''}</a>"
        for title in titles
    )
    steps = escape(view.address(tab=""))
    is_steps = view.tab.capitalize() not in titles
    return (
        f'<nav class="tabs" aria-label="Parts of the run"><a href="{steps}"{current(is_steps)}>Steps</a>{links}</nav>'
    )


def _steps(page: RunPage, view: _View, opened: OpenedRun) -> str:
    """Return a part of the waterfall, and the chosen effect beside it."""
    problems = page.waterfall.problems()
    rows = problems if view.only == "problems" else list(page.waterfall.rows)
    if not rows:
        return '<p class="card none">Nothing has been done yet.</p>'
    keys = [branch.key for _, branch in rows]
    effect = view.effect or cause_of(page) or ""
    first = view.first
    if first is None or first >= len(rows):
        place = keys.index(effect) if effect in keys else len(rows) - 1 if page.summary.run.status == "running" else 0
        first = place // ROWS * ROWS
    effect = effect or keys[first]
    listed = linked_rows(page, rows[first : first + ROWS], view.effect_address, effect)
    chips = ""
    if problems and (len(problems) < len(page.waterfall.rows)):
        worst = "failed" if any(branch.status == "failed" for _, branch in problems) else "waiting"
        all_of, bad = (escape(view.address(only=only, **{"from": None})) for only in ("", "problems"))
        chips = (
            f'<nav class="chips" aria-label="Rows"><a href="{all_of}"{current(view.only != "problems")}>all '
            f'<b>{len(page.waterfall.rows):,}</b></a><a href="{bad}" class="{worst}"{current(view.only == "problems")}>'
            f"needs a look <b>{len(problems):,}</b></a></nav>"
        )
    beside = f'<aside class="card" id="effect" aria-label="Selected step">{_effect(page, effect, opened)}</aside>'
    return (
        f'<div class="run-grid"><div class="card">{chips}{listed}{_paging(view, first, len(rows))}</div>{beside}</div>'
    )


def _paging(view: _View, first: int, total: int) -> str:
    if total <= ROWS:
        return ""
    links = [
        f'<a href="{escape(view.address(**{"from": max(0, place)}))}" rel="{rel}">{title}</a>'
        for place, rel, title in ((first - ROWS, "prev", "Earlier"), (first + ROWS, "next", "Later"))
        if -ROWS < place < total
    ]
    return f'<p class="paging">{first + 1:,} to {min(first + ROWS, total):,} of {total:,} {" ".join(links)}</p>'


def _effect(page: RunPage, key: str, opened: OpenedRun) -> str:
    """Return one effect; of a step with its turns and calls as one conversation."""
    title = f'<h2 id="effect-title"><bdi class="key">{page.text(key)}</bdi></h2>'
    try:
        whole = opened.effect(key)
    except RunRecordError as error:
        return f'{title}<p class="soft">{escape(error.message)}</p>'
    below: list[WholeEffect] = []
    if whole.kind == "step":
        direct = [lower for lower in whole.below if lower.count("/") == whole.key.count("/") + 1]
        below = [opened.effect(lower) for lower in direct[:BELOW]]
    inside = effect_html(whole, limit=TEXT, below=below)
    link = f"/runs/{quote(page.summary.run.id)}/effects?{urlencode({'key': key})}"
    return f'{title}{inside}<p><a href="{escape(link)}">On a page of its own</a></p>'


def show_response(ui: Ui, request: Any) -> Response:
    """Return the answer of a run, which its own page cuts."""
    with ui.opened() as runs, runs.open(request.path_params["run"]) as run:
        text = run.response()
    link = f'<p><a href="/runs/{quote(run.id)}">The run</a></p>'
    title = f"Answer of {run.id}"
    body = f'<h1>{escape(title)}</h1>{link}<div class="card">{markdown_html(text, level=2)}</div>'
    return page_response(title, body, under="Runs")


def show_effect(ui: Ui, request: Any) -> Response:
    """Return the page of one effect, with its whole texts."""
    key = request.query_params.get("key", "")
    with ui.opened() as runs, runs.open(request.path_params["run"]) as run:
        whole = run.effect(key)
    link = f'<p><a href="/runs/{quote(run.id)}?{escape(urlencode({"effect": key}))}#effect">In the run</a></p>'
    body = f'<h1><bdi class="key">{escape(key)}</bdi></h1>{link}<div class="card">{effect_html(whole)}</div>'
    return page_response(f"{key} of {run.id}", body, under="Runs")


def _resume(page: RunPage, request: Any) -> str:
    run = page.summary.run
    if run.status not in ("interrupted", "failed", "waiting") or page.questions:
        return ""
    return form(request, f"/runs/{quote(run.id)}/resume", '<button class="main">Resume</button>')


def _actions(page: RunPage, request: Any) -> str:
    """Return the forms that continue the run, end it and compare it."""
    run = page.summary.run
    address = f"/runs/{quote(run.id)}"
    cancel = ""
    if run.status not in ("completed", "cancelled"):
        cancel = form(request, f"{address}/cancel", "<button>Cancel</button>")
    compared = (
        f'<form method="get" action="/compare"><input type="hidden" name="run" value="{escape(run.id)}">'
        '<label>Compare with <input name="run" required placeholder="RUN" size="12"></label> '
        "<button>Compare</button></form>"
    )
    again = f'<a class="nojs" href="{address}">Load again</a>'
    more = f'<details class="more"><summary>More</summary><div class="card">{cancel}{compared}</div></details>'
    return f'<div class="actions">{again}{more}</div>'
