"""The pages by their addresses, and the page of an error."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from strands_cli.api import RunRecordError, StrandsCliError
from strands_cli_ui.folder_views.tool_pages import show_tool, show_tools
from strands_cli_ui.folder_views.workflow_pages import show_workflow, show_workflows
from strands_cli_ui.folder_views.workflow_start import show_started, start, trust
from strands_cli_ui.frame.ui_frame import page_response
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.live.event_stream import EventStream
from strands_cli_ui.pages.html_text import preformatted
from strands_cli_ui.views.inbox import show_inbox
from strands_cli_ui.views.one_run import show_effect, show_response, show_run
from strands_cli_ui.views.run_actions import answer, cancel, resume
from strands_cli_ui.views.runs_list import show_comparison, show_runs

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.responses import Response


def web_app(ui: Ui) -> Starlette:
    """Return the application that makes the pages; each view works in a thread, so that none holds up another."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    def get(address: str, view: Any) -> Route:
        return Route(address, partial(_shown, view, ui), methods=["GET"])

    def post(address: str, view: Any) -> Route:
        return Route(address, partial(_shown, view, ui), methods=["POST"])

    return Starlette(
        routes=[
            get("/", show_runs),
            Route("/events", partial(_events, ui)),
            get("/inbox", show_inbox),
            get("/compare", show_comparison),
            get("/runs/{run}", show_run),
            get("/runs/{run}/effects", show_effect),
            get("/runs/{run}/response", show_response),
            Route("/runs/{run}/events", partial(_events, ui)),
            post("/runs/{run}/answer", answer),
            post("/runs/{run}/resume", resume),
            post("/runs/{run}/cancel", cancel),
            get("/tools", show_tools),
            get("/tool", show_tool),
            get("/workflows", show_workflows),
            get("/workflows/{name}", show_workflow),
            post("/workflows/{name}/trust", trust),
            post("/workflows/{name}/start", start),
            get("/started/{number:int}", show_started),
            get("/favicon.ico", _nothing),
        ],
        exception_handlers={404: _not_found, 405: _not_found},
    )


def _shown(view: Callable[[Ui, Any], Response], ui: Ui, request: Any) -> Response:
    """Return the page of a view, or that of its error."""
    try:
        return view(ui, request)
    except StrandsCliError as error:
        findings = "".join(preformatted(str(finding)) for finding in error.findings)
        fix = f"<p>Fix:</p>{preformatted(error.fix)}" if error.fix else ""
        title = "It was not done" if request.method == "POST" else "This cannot be shown"
        body = f'<h1>{title}</h1><div class="error">{preformatted(error.message)}</div>{findings}{fix}'
        status = 404 if isinstance(error, RunRecordError) else 409
        return page_response(title, f'{body}<p><a href="/">To the runs</a></p>', status)
    except Exception as error:  # noqa: BLE001 - a damaged journal must not leave a person without a page
        frame = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error}\n{frame.filename}:{frame.lineno}"
        body = f'<h1>This is a bug in strands-cli</h1><div class="error">{preformatted(text)}</div>'
        return page_response("A bug", f'{body}<p><a href="/">To the runs</a></p>', 500)


async def _events(ui: Ui, request: Any) -> Any:
    """Return the stream of changes of a run, or of the list of runs."""
    topic = ""
    if "run" in request.path_params:
        try:
            with ui.opened() as runs:
                topic = runs.find(request.path_params["run"])
        except StrandsCliError as error:
            return _missing(error.message)
    return EventStream(ui.hub, topic)


def _nothing(ui: Ui, request: Any) -> Response:
    from starlette.responses import Response

    return Response(status_code=204)


async def _not_found(request: Any, error: Exception) -> Response:
    return _missing(f"there is no page {quote(request.url.path)}")


def _missing(message: str) -> Response:
    body = f'<h1>There is no such page</h1>{preformatted(message)}<p><a href="/">To the runs</a></p>'
    return page_response("There is no such page", body, 404)
