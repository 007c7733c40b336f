"""The checks that every request passes before a page is made: its host, method, origin, session, size and form."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qs, parse_qsl

from strands_cli_ui.security.admission import Admission, Session
from strands_cli_ui.security.refusals import (
    BAD_FORM,
    NO_SESSION,
    OTHER_HOST,
    OTHER_METHOD,
    OTHER_PAGE,
    SPENT_TOKEN,
    TOO_LARGE,
    Refusal,
    admitted_response,
    refusal_response,
)

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# The most bytes of a form; a text that a person types has far fewer.
LARGEST = 1_000_000
FIELDS = 1000
_FORM = "application/x-www-form-urlencoded"


class RefusedRequest(Exception):
    """A request that gets no page."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.title)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class RequestGuard:
    """An ASGI application around another one, which gets only requests that pass every check.

    Attributes:
        app: The application that makes the pages; it finds `session` and `form` in the scope.
        admission: Who is admitted.
        origins: The addresses under which the page is reached, as `http://127.0.0.1:8000`.
        cookie: The name of the cookie.
    """

    app: App
    admission: Admission
    origins: frozenset[str]
    cookie: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return  # there is neither a websocket nor anything to do at the start and the end
        send = _with_headers(send)
        try:
            headers = _single(scope)
            self._require_own_host(headers, scope)
            if session := self._admitted(headers, scope):
                response = admitted_response(self.cookie, session, is_secure=scope["scheme"] == "https")
                await response(scope, receive, send)
                return
            scope["session"] = self._require_session(headers)
            if scope["method"] == "POST":
                scope["form"] = await self._checked_form(headers, scope, receive)
        except RefusedRequest as refused:
            await refusal_response(refused.refusal)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _require_own_host(self, headers: Mapping[str, str], scope: Scope) -> None:
        """Refuse other methods, and other hosts, as which another site could read the page (DNS rebinding)."""
        if f"{scope['scheme']}://{headers.get('host', '').lower()}" not in self.origins:
            raise RefusedRequest(OTHER_HOST)
        if scope["method"] not in ("GET", "POST"):
            raise RefusedRequest(OTHER_METHOD)

    def _admitted(self, headers: Mapping[str, str], scope: Scope) -> Session | None:
        """Return the new session of a request with the token; None where it has none."""
        if scope["path"] != "/" or scope["method"] != "GET" or b"token=" not in scope["query_string"]:
            return None
        # Pages loaded ahead, or for a part of another site's page, do not use the token up.
        is_shown = headers.get("sec-fetch-dest", "document") == "document" and "sec-purpose" not in headers
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not is_shown:
            raise RefusedRequest(OTHER_PAGE)
        session = self.admission.redeem(token)
        if session is None:
            raise RefusedRequest(SPENT_TOKEN)
        return session

    def _require_session(self, headers: Mapping[str, str]) -> Session:
        """Return the session of the cookie; a page of another site, or of another port, is refused with it too."""
        session = self._session_in(headers.get("cookie", ""))
        if session is None:
            raise RefusedRequest(NO_SESSION)
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise RefusedRequest(OTHER_PAGE)
        return session

    def is_known(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Return whether the headers of a request have the cookie of an admitted browser."""
        return any(name == b"cookie" and self._session_in(value.decode("latin-1")) for name, value in headers)

    def _session_in(self, header: str) -> Session | None:
        return next(filter(None, map(self.admission.session_of, _cookies(header, self.cookie))), None)

    async def _checked_form(self, headers: Mapping[str, str], scope: Scope, receive: Receive) -> dict[str, list[str]]:
        """Return the fields of a form that one of our own pages sent."""
        origin, site = headers.get("origin", ""), headers.get("sec-fetch-site")
        # Pages without a referrer send `null` for themselves; then the browser itself must say that they are ours.
        is_own = origin == f"{scope['scheme']}://{headers['host'].lower()}" or (origin == "null" and site is not None)
        if not is_own or site not in (None, "same-origin"):
            raise RefusedRequest(OTHER_PAGE)
        if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
            raise RefusedRequest(BAD_FORM)
        form = _fields(await _body(headers, receive))
        session = cast(Session, scope["session"])
        if not hmac.compare_digest(form.get("csrf", [""])[0].encode(), session.csrf.encode()):
            raise RefusedRequest(OTHER_PAGE)
        return form


def session_of(request: Any) -> Session:
    """Return the session of a passed request."""
    return cast(Session, request.scope["session"])


def form_of(request: Any) -> Mapping[str, list[str]]:
    """Return the fields of its form, each with its values; empty for a GET."""
    return cast("Mapping[str, list[str]]", request.scope.get("form", {}))


def _single(scope: Scope) -> dict[str, str]:
    """Return the headers by name; one that must not come twice makes the request that of no page of ours."""
    headers: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name in ("host", "origin", "content-type", "content-length") and name in headers:
            raise RefusedRequest(OTHER_HOST)
        joint = "; " if name == "cookie" else ", "
        headers[name] = (
            f"{headers[name]}{joint}{value.decode('latin-1')}" if name in headers else value.decode("latin-1")
        )
    return headers


def _cookies(header: str, name: str) -> Iterator[str]:
    for part in header.split(";"):
        cookie, equals, value = part.strip().partition("=")
        if equals and cookie == name:
            yield value


async def _body(headers: Mapping[str, str], receive: Receive) -> bytes:
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > LARGEST:
        raise RefusedRequest(TOO_LARGE)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RefusedRequest(BAD_FORM)
        body += message.get("body", b"")
        if len(body) > LARGEST:
            raise RefusedRequest(TOO_LARGE)
        if not message.get("more_body"):
            return bytes(body)


def _fields(body: bytes) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=FIELDS)
    except ValueError:  # not UTF-8, or too many fields
        raise RefusedRequest(BAD_FORM) from None
    form: dict[str, list[str]] = {}
    for name, value in pairs:
        # A browser sends the lines of a text with CRLF.
        form.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return form


def _with_headers(send: Send) -> Send:
    """Return the function that sends a response with the headers of every response."""

    async def send_with(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            names = {name.lower() for name, _ in headers}
            ours = {**HEADERS, "content-security-policy": NO_CONTENT}
            missing = [(name.encode(), value.encode()) for name, value in ours.items() if name.encode() not in names]
            message = {**message, "headers": [*headers, *missing]}
        await send(message)

    return send_with


# The headers of every response. `no-referrer` keeps addresses, and with them the token, from other hosts.
HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
NO_CONTENT = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
