"""The frame of each page of `strands ui` with its policy, and the pages that follow a form."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from strands_cli_ui.pages.html_text import escape, icon, preformatted
from strands_cli_ui.pages.page_frame import content_policy, document

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli_ui.children.child_commands import Child


_OWN = "connect-src 'self'; form-action 'self'; frame-ancestors 'none'"
LINKS = {"/": "Runs", "/inbox": "Inbox", "/workflows": "Workflows", "/tools": "Tools"}


@cache
def script() -> str:
    """Return the one script of all pages."""
    return Path(__file__).with_name("live_page.js").read_text(encoding="utf-8")


def has_address(name: str) -> bool:
    """Return whether a page can be named by this; a file name in another encoding than UTF-8 fits no address."""
    return not any("\ud800" <= char <= "\udfff" for char in name)


def page_response(
    title: str, body: str, status: int = 200, *, is_admitted: bool = True, under: str | None = None
) -> Response:
    """Return a page in the frame of all pages.

    Args:
        title: Its title, as text.
        body: The HTML of its main part.
        status: The HTTP status.
        is_admitted: Whether it has links to the other pages, and the script.
        under: The name of the link under which it is; by default the one of its title.
    """
    from starlette.responses import HTMLResponse

    code = script() if is_admitted else ""
    bar = _bar(title, under or title) if is_admitted else ""
    whole = document(f"{title} - strands", body, navigation=bar, script=code, has_policy=False)
    return HTMLResponse(whole, status, {"content-security-policy": content_policy(code, more=_OWN)})


def _bar(title: str, under: str) -> str:
    """Return the bar above a page, whose links say where one is."""
    current = f' aria-current="{"page" if under == title else "true"}"'
    links = "".join(
        f'<a href="{address}"{current if name == under else ""}>{icon(name.lower())}{name}</a>'
        for address, name in LINKS.items()
    )
    brand = f'<a class="brand" href="/" aria-label="strands: runs">{icon("strands")}<span>strands</span></a>'
    return (
        f'<header class="top">{brand}'
        f'<nav aria-label="Pages">{links}</nav><p class="live" id="live-note" role="status"></p></header>'
    )


def failure(run: str, child: Child) -> Response:
    """Return a page with the stderr of a command line that failed, or that still works."""
    links = f'<p><a href="/runs/{quote(run)}">The run</a> <a href="/inbox">Inbox</a></p>' if run else ""
    title = "It was not done" if child.code is not None else "It is not done yet"
    stderr = child.stderr.strip() or f"exit code {child.code}"
    body = f'<h1>{title}</h1><div class="error">{preformatted(stderr)}</div>{links}'
    return page_response(title, f"{body}<p><code>strands {escape(child.words[0])}</code></p>", 409)


def go_to(address: str) -> Response:
    """Return the response that sends the browser to another page."""
    from starlette.responses import RedirectResponse

    return RedirectResponse(address, 303)
