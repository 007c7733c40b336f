"""The page of one run: the report, live, with forms to answer, continue and end it; and the inside of each effect."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from strands_cli.api import Branch
from strands_cli_ui.frame.ui_forms import form
from strands_cli_ui.frame.ui_frame import page_response
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.pages.effect_parts import effect_html
from strands_cli_ui.pages.html_text import escape
from strands_cli_ui.pages.run_page import run_page_of
from strands_cli_ui.pages.run_parts import run_body
from strands_cli_ui.pages.safe_markdown import markdown_html
from strands_cli_ui.views.question_forms import question_forms

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli_ui.pages.run_page import RunPage


# The most effects that the page lists; the first load stays under 100 kB.
EFFECTS = 24
# The most keys below an effect that its page lists.
BELOW = 200
# In these a process works on the run, or may begin to, so that the page follows it.
_FOLLOWED = ("running", "waiting", "interrupted", "needs-decision")


def show_run(ui: Ui, request: Any) -> Response:
    """Return the page of a run."""
    begun = time.perf_counter()
    page: RunPage = _page(ui, request)
    run = page.summary.run
    tree = short_tree(page.branches, EFFECTS)
    short = dataclasses.replace(page, branches=tree)
    questions, actions = question_forms(page, request), _actions(page, request)
    answer = f"/runs/{quote(run.id)}/response"
    link = partial(effect_address, run.id)
    report = run_body(short, effect_link=link, answer_link=answer, first=questions, actions=actions)
    left_out = len(page.summary.effects) - sum(branch.effect is not None for top in tree for branch in top.walk())
    if left_out > 0:
        where = f'<a href="/runs/{quote(run.id)}/keys">all effects</a>'
        report += f'<p class="cut">The list has the latest effects; {left_out:,} more are among {where}.</p>'
    events = f' data-events="/runs/{quote(run.id)}/events"' if run.status in _FOLLOWED else ""
    body = f'<div id="live"{events}>{report}</div>'
    ui.hub.note_cost(run.id, time.perf_counter() - begun)
    return page_response(f"{page.plain(run.workflow)}: {run.status} ({run.id})", body, under="Runs")


def _page(ui: Ui, request: Any) -> RunPage:
    """Return the value of a run's page; the run is read again when its journal has changed."""
    with ui.opened() as runs:
        run = runs.find(request.path_params["run"])

        def read() -> RunPage:
            with runs.open(run) as opened:
                return run_page_of(opened, most_whole=0)

        page: RunPage = ui.known_pages.get(run, runs.state(run), read)
        return page


def show_response(ui: Ui, request: Any) -> Response:
    """Return the answer of a run, which its own page cuts."""
    with ui.opened() as runs, runs.open(request.path_params["run"]) as run:
        text = run.response()
    link = f'<p><a href="/runs/{quote(run.id)}">The run</a></p>'
    title = f"Answer of {run.id}"
    return page_response(title, f"<h1>{escape(title)}</h1>{link}{markdown_html(text, level=2)}")


def show_effect(ui: Ui, request: Any) -> Response:
    """Return the page of one effect: its request, its calls and its answer."""
    key = request.query_params.get("key", "")
    with ui.opened() as runs, runs.open(request.path_params["run"]) as run:
        below: Sequence[str] = () if run.has_effect(key) else run.effect_keys(below=key)
        # A place with effects below it need not have one itself.
        whole = None if below else run.effect(key)
    link = f'<p><a href="/runs/{quote(run.id)}">The run</a></p>'
    content, below = (effect_html(whole), whole.below) if whole else ("", below)
    inside = f'<div id="inside">{content}{_below(run.id, key, below)}</div>'
    return page_response(f"{key} of {run.id}", f"<h1><bdi>{escape(key)}</bdi></h1>{link}{inside}")


def show_keys(ui: Ui, request: Any) -> Response:
    """Return the keys of all effects at the top of a run, in pages; those below each are on its own page."""
    with ui.opened() as runs, runs.open(request.path_params["run"]) as run:
        keys = list(dict.fromkeys(key.partition("/")[0] for key in run.effect_keys()))
    number = request.query_params.get("page", "1")
    first = (int(number) - 1 if number.isdecimal() and len(number) < 9 else 0) * BELOW
    shown_keys = keys[max(0, first) : first + BELOW]
    links = [
        f'<a href="/runs/{quote(run.id)}/keys?page={page}">{page}</a>' for page in range(1, -(-len(keys) // BELOW) + 1)
    ]
    link = f'<p><a href="/runs/{quote(run.id)}">The run</a></p>'
    listed = _listed(run.id, shown_keys)
    body = f"<h1>Effects of <code>{escape(run.id)}</code></h1>{link}{listed}<p>Pages: {' '.join(links)}</p>"
    return page_response(f"Effects of {run.id}", body)


def _below(run: str, key: str, below: Sequence[str]) -> str:
    """Return the effects directly below one, each of which can be opened too."""
    direct = dict.fromkeys(f"{key}/{lower[len(key) + 1 :].partition('/')[0]}" for lower in below)
    if not direct:
        return ""
    more = f'<p class="cut">{len(direct) - BELOW:,} more</p>' if len(direct) > BELOW else ""
    return f"<p>Below it:</p>{_listed(run, list(direct)[:BELOW])}{more}"


def _listed(run: str, keys: Sequence[str]) -> str:
    items = "".join(
        f'<li><details data-effect="{escape(effect_address(run, key))}"><summary><bdi class="key">{escape(key)}</bdi>'
        f'</summary><div class="inside"><a href="{escape(effect_address(run, key))}">Open it</a></div></details></li>'
        for key in keys
    )
    return f'<ol class="effects">{items}</ol>'


def effect_address(run: str, key: str) -> str:
    """Return where the inside of an effect is."""
    return f"/runs/{quote(run)}/effects?{urlencode({'key': key})}"


def _actions(page: RunPage, request: Any) -> str:
    """Return the forms that continue the run, end it and compare it."""
    run = page.summary.run
    address = f"/runs/{quote(run.id)}"
    forms = []
    if run.status in ("interrupted", "failed", "waiting") and not page.questions:
        forms.append(form(request, f"{address}/resume", "<button>Resume</button>"))
    if run.status not in ("completed", "cancelled"):
        forms.append(form(request, f"{address}/cancel", "<button>Cancel</button>"))
    compared = (
        f'<form method="get" action="/compare"><input type="hidden" name="run" value="{escape(run.id)}">'
        '<label>Compare with <input name="run" required placeholder="RUN"></label> <button>Compare</button></form>'
    )
    again = f'<a href="{address}">Load again</a>'
    return f'<div class="actions">{"".join(forms)}{compared}{again}</div>'


def short_tree(branches: Sequence[Branch], most: int) -> tuple[Branch, ...]:
    """Return trees of about so many effects: the last ones at the top, then level by level those below.

    Omitted effects below one are listed where that one is opened.
    """
    tops = list(branches[-most:])
    left = most - len(tops)
    children_of: dict[str, tuple[Branch, ...]] = {}
    waiting = deque(reversed(tops))
    while waiting:
        branch = waiting.popleft()
        # A group has no page of its own, so a part of it is better than nothing.
        fits = len(branch.children) <= left or branch.effect is None
        children_of[branch.key] = branch.children[-max(left, 1) :] if fits else ()
        left = max(0, left - len(children_of[branch.key]))
        waiting += reversed(children_of[branch.key])
    return tuple(_with(branch, children_of) for branch in tops)


def _with(branch: Branch, children_of: dict[str, tuple[Branch, ...]]) -> Branch:
    return dataclasses.replace(
        branch, children=tuple(_with(child, children_of) for child in children_of.get(branch.key, ()))
    )
