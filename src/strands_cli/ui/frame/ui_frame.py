"""The frame of each page of `strands ui`, and the policy that lets it reach only this server."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.responses import Response

_OWN = "connect-src 'self'; form-action 'self'; frame-ancestors 'none'"
LINKS = {"/": "Runs", "/inbox": "Inbox", "/workflows": "Workflows", "/tools": "Tools"}


@cache
def script() -> str:
    """Return the one script of all pages."""
    return Path(__file__).with_name("live_page.js").read_text(encoding="utf-8")


def has_address(name: str) -> bool:
    """Return whether a page can be named by this; a file name that is not UTF-8 cannot be in an address."""
    return not any("\ud800" <= char <= "\udfff" for char in name)


def page_response(title: str, body: str, status: int = 200, *, is_admitted: bool = True) -> Response:
    """Return a page in the frame of all pages.

    Args:
        title: Its title, as text.
        body: The HTML of its main part.
        status: The HTTP status.
        is_admitted: Whether it has links to the other pages, and the script.
    """
    from starlette.responses import HTMLResponse

    from strands_cli.pages import content_policy, document

    links = "".join(f'<a href="{place}">{name}</a> ' for place, name in LINKS.items()) if is_admitted else ""
    code = script() if is_admitted else ""
    whole = document(f"{title} - strands", body, navigation=links, script=code, has_policy=False)
    return HTMLResponse(whole, status, {"content-security-policy": content_policy(code, more=_OWN)})
