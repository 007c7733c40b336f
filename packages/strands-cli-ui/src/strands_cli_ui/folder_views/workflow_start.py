"""Starts a workflow of the folder, and stores that a person allows it; both only as the page has shown it."""

from __future__ import annotations

import contextlib
import json
import platform
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from strands_cli.api import RunRecordError, StrandsCliError
from strands_cli_ui.folder_views.workflow_pages import inputs_of, refusal, seen_workflow
from strands_cli_ui.frame.ui_frame import failure, go_to, page_response
from strands_cli_ui.frame.ui_state import Ui, store_words
from strands_cli_ui.security.request_guard import form_of

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli.api import WorkflowPreview

_CHANGED = "The workflow, or what it starts and opens, has changed since this page was made: read it again."
# Among so many of the newest runs is one just started.
NEWEST = 50


def trust(ui: Ui, request: Any) -> Response:
    """Store that a person allows the workflow as the page has shown it."""
    name = request.path_params["name"]
    preview = _as_shown(ui, request)
    if preview is None:
        return refusal("Nothing was allowed", [_CHANGED], name)
    preview.allow()
    return go_to(f"/workflows/{quote(name, safe='')}")


def start(ui: Ui, request: Any) -> Response:
    """Start a run in a process of its own, which reads its inputs from stdin."""
    name = request.path_params["name"]
    preview = _as_shown(ui, request)
    if preview is None:
        return refusal("Nothing was started", [_CHANGED], name)
    values, faults = inputs_of(preview.plan.spec.inputs.declared(), form_of(request))
    if faults:
        return refusal("Nothing was started", faults, name)
    force = ["--force"] if form_of(request).get("force") else []
    words = ["run", "--detach", *force, "--vars-file", "-", *store_words(ui.place), "--", name]
    child = ui.children.start(words, json.dumps(values))
    return go_to(f"/started/{child.number}")


def show_started(ui: Ui, request: Any) -> Response:
    """Go to the run that a command line has started; until it has begun the page loads itself again."""
    number = request.path_params["number"]
    child = ui.children.get(number)
    if child is None:
        raise RunRecordError(f"nothing was started as number {number}", fix="see the list of runs")
    child.wait(1.0)
    if run := _run_of(ui, child.pid):
        return go_to(f"/runs/{quote(run)}")
    if child.code is not None:
        return failure("", child)
    response = page_response("Starting", "<h1>Starting</h1><p>The tools are being loaded.</p>")
    response.headers["refresh"] = "1"
    return response


def _as_shown(ui: Ui, request: Any) -> WorkflowPreview | None:
    """Return the workflow; None if it has changed since the person saw it."""
    preview = seen_workflow(ui, request.path_params["name"])
    return preview if form_of(request).get("seen") == [preview.digest] else None


def _run_of(ui: Ui, pid: int) -> str | None:
    """Return the run of a process of this machine."""
    with ui.opened() as runs:
        for run in runs.all()[0][:NEWEST]:
            with contextlib.suppress(StrandsCliError), runs.open(run.id) as opened:
                if opened.journal.get("pid") == pid and opened.journal.get("host") == platform.node():
                    return run.id
    return None
