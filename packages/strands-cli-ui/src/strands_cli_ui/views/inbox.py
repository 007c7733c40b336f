"""The inbox: every question that waits in a run, each with its form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from strands_cli.api import RunRecordError, StrandsCliError, counted
from strands_cli_ui.frame.ui_frame import has_address, page_response
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.pages.html_text import ago, escape, isolated, short_id
from strands_cli_ui.views.question_forms import question_forms

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli.api import OpenedRun, StoredRun

# The most runs whose questions one page shows.
SHOWN = 50
_NONE = '<p class="card none">No run waits for an answer. Questions of runs appear here by themselves.</p>'
_ASKING = ("waiting", "interrupted", "needs-decision")


def show_inbox(ui: Ui, request: Any) -> Response:
    """Return the questions of all runs."""
    with ui.opened() as runs:
        every, _ = runs.all()
        # A run of other runs that waits has no question: its parts have.
        asking = [run for run in every if run.status in _ASKING and run.command is None and has_address(run.id)]
        shown_runs = asking[:SHOWN]
        opened = runs.open_each(run.id for run in shown_runs)
        parts = [_questions_of(opened_run, run, request) for run, opened_run in zip(shown_runs, opened, strict=True)]
    more = f"<p>{counted(len(asking) - SHOWN, 'older run')} not shown.</p>" if len(asking) > SHOWN else ""
    body = f'<div id="live" data-events="/events"><h1>Inbox</h1>{"".join(parts) or _NONE}{more}</div>'
    return page_response("Inbox", body)


def _questions_of(opened: OpenedRun | RunRecordError, run: StoredRun, request: Any) -> str:
    """Return the questions of a run; empty where it has none, or has been deleted meanwhile."""
    if isinstance(opened, RunRecordError):
        return ""
    try:
        with opened:
            forms = question_forms(run, opened.questions(), request)
            name = isolated(opened.redactor.text(run.workflow))
    except StrandsCliError:
        return ""
    if not forms:
        return ""
    head = (
        f'<a href="/runs/{quote(run.id)}">{name}</a> <span class="kind">{short_id(run.id)} {ago(run.started_at)}</span>'
    )
    return f'<article id="r-{escape(run.id)}"><h2>{head}</h2>{forms}</article>'
