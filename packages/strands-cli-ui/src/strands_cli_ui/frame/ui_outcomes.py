"""What a browser gets after a form: another page, or why a command line has failed."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from strands_cli_ui.frame.ui_frame import page_response
from strands_cli_ui.pages.html_text import escape, preformatted

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli_ui.children.child_commands import Child


def failure(run: str, child: Child) -> Response:
    """Return a page with what a command line wrote that failed; where it still works, the page says so."""
    links = f'<p><a href="/runs/{quote(run)}">The run</a> <a href="/inbox">Inbox</a></p>' if run else ""
    what = "It was not done" if child.code is not None else "It is not done yet"
    stderr = child.stderr.strip() or f"exit code {child.code}"
    body = f'<h1>{what}</h1><div class="error">{preformatted(stderr)}</div>{links}'
    return page_response(what, f"{body}<p><code>strands {escape(child.words[0])}</code></p>", 409)


def go_to(place: str) -> Response:
    """Return what lets the browser load another page."""
    from starlette.responses import RedirectResponse

    return RedirectResponse(place, 303)
