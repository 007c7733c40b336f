"""The pages by their addresses, and the page of an error."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from strands_cli.errors import RunRecordError, StrandsCliError
from strands_cli.pages.html_text import preformatted
from strands_cli.ui import folder_views, views
from strands_cli.ui.frame import Ui, page_response
from strands_cli.ui.live import EventStream

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.responses import Response


def web_app(ui: Ui) -> Starlette:
    """Return the application that makes the pages; each view works in a thread, so that none holds up another."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    def get(place: str, view: Any) -> Route:
        return Route(place, partial(_shown, view, ui), methods=["GET"])

    def post(place: str, view: Any) -> Route:
        return Route(place, partial(_shown, view, ui), methods=["POST"])

    return Starlette(
        routes=[
            get("/", views.show_runs),
            Route("/events", partial(_events, ui)),
            get("/inbox", views.show_inbox),
            get("/compare", views.show_comparison),
            get("/runs/{run}", views.show_run),
            get("/runs/{run}/effects", views.show_effect),
            get("/runs/{run}/keys", views.show_keys),
            get("/runs/{run}/response", views.show_response),
            Route("/runs/{run}/events", partial(_events, ui)),
            post("/runs/{run}/answer", views.answer),
            post("/runs/{run}/resume", views.resume),
            post("/runs/{run}/cancel", views.cancel),
            get("/tools", folder_views.show_tools),
            get("/tool", folder_views.show_tool),
            get("/workflows", folder_views.show_workflows),
            get("/workflows/{name}", folder_views.show_workflow),
            post("/workflows/{name}/trust", folder_views.trust),
            post("/workflows/{name}/start", folder_views.start),
            get("/started/{number:int}", folder_views.show_started),
            get("/favicon.ico", _nothing),
        ],
        exception_handlers={404: _not_found, 405: _not_found},
    )


def _shown(view: Callable[[Ui, Any], Response], ui: Ui, request: Any) -> Response:
    """Return the page of a view, or that of its error."""
    try:
        return view(ui, request)
    except StrandsCliError as error:
        findings = "".join(preformatted(str(one)) for one in error.findings)
        fix = f"<p>Fix:</p>{preformatted(error.fix)}" if error.fix else ""
        title = "It was not done" if request.method == "POST" else "This cannot be shown"
        body = f'<h1>{title}</h1><div class="error">{preformatted(error.message)}</div>{findings}{fix}'
        status = 404 if isinstance(error, RunRecordError) else 409
        return page_response(title, f'{body}<p><a href="/">To the runs</a></p>', status)
    except Exception as error:  # noqa: BLE001 - a damaged journal must not leave a person without a page
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error}\n{place.filename}:{place.lineno}"
        body = f'<h1>This is a bug in strands-cli</h1><div class="error">{preformatted(what)}</div>'
        return page_response("A bug", f'{body}<p><a href="/">To the runs</a></p>', 500)


async def _events(ui: Ui, request: Any) -> Any:
    """Return the stream of changes of a run, or of the list of runs."""
    topic = ""
    if "run" in request.path_params:
        try:
            with ui.opened() as store:
                topic = store.find(request.path_params["run"])
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
