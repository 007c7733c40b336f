"""Pages for a browser that is not, or only just, admitted; they show nothing of any run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from strands_cli_ui.frame.ui_frame import page_response

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli_ui.security.admission import Session


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request gets no page, and how the person gets one."""

    status: int
    title: str
    remedy: str


_FRESH = (
    "Open the last address that the terminal of strands ui shows: each works once, and then a new one appears there."
)
NO_SESSION = Refusal(401, "This browser has not been admitted", _FRESH)
SPENT_TOKEN = Refusal(403, "This address has been used, or is not complete", _FRESH)
OTHER_HOST = Refusal(421, "The page is not served under this address", _FRESH)
OTHER_METHOD = Refusal(405, "This kind of request is not answered", "Use the links and forms of the page.")
OTHER_PAGE = Refusal(403, "The request came from another page", f"Go back and load the page again. {_FRESH}")
TOO_LARGE = Refusal(413, "The form is too large", "Shorten the text to less than a megabyte.")
BAD_FORM = Refusal(400, "The form cannot be read", "Go back, load the page again, and send it once more.")


def refusal_response(refusal: Refusal) -> Response:
    """Return the page that says why there is none."""
    body = f"<h1>{refusal.title}</h1><p>{refusal.remedy}</p>"
    return page_response(refusal.title, body, refusal.status, is_admitted=False)


def admitted_response(cookie: str, session: Session, *, is_secure: bool) -> Response:
    """Return the page that sets the cookie and goes on to the runs.

    It is a page and no redirect: the cookie is sent only with requests of our own pages, also where the address was
    opened from a page of another site.
    """
    body = '<h1>Admitted</h1><p><a href="/">To the runs</a></p>'
    response = page_response("Admitted", body, is_admitted=False)
    response.set_cookie(cookie, session.cookie, path="/", secure=is_secure, httponly=True, samesite="strict")
    response.headers["refresh"] = "0; url=/"
    return response
