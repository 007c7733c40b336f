"""One request and all of its redirects, inside one deadline and one set of limits."""

from __future__ import annotations

import asyncio
import functools
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpcore
import httpx

from strands_tool_http_request._decode import Body
from strands_tool_http_request._headers import STANDARD, for_other_origin, without_body
from strands_tool_http_request._network import GuardedBackend, Meter, TooMuchError
from strands_tool_http_request._policy import Policy, origin_of, parse_url, port_of, shown_origin
from strands_tool_kit import CallContext, ToolError

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SAFE = frozenset({"GET", "HEAD"})
_FAILURES = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError, httpcore.UnsupportedProtocol, OSError)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request as it goes out; `headers` in lower case."""

    method: str
    url: httpx.URL
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The last response of a request.

    Attributes:
        url: Where it came from in the end.
        headers: Names in lower case, values of one name joined.
        content: The decoded body as far as it was read.
        is_cut: Whether the body goes on.
        redirects: The origins and paths that were gone through.
        notices: What a reader must know about it.
    """

    url: httpx.URL
    status: int
    headers: Mapping[str, str]
    content: bytes
    is_cut: bool
    redirects: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


async def exchange(ask: Ask, policy: Policy, context: CallContext, secrets: Mapping[str, str], seconds: float) -> Reply:
    """Send a request, follow its redirects, and return the last response.

    Args:
        ask: The request; its URL has passed `policy.require_url`.
        policy: The operator's rules.
        context: The contract of the call; its deadline may shorten the time.
        secrets: The declared secrets by name.
        seconds: The time for all of it.

    Raises:
        ToolError: nothing could be fetched, or something on the way is not allowed.
    """
    context.require_time()
    if context.deadline is not None:
        # A moment is left to say so before the host gives up.
        seconds = max(min(seconds, context.deadline - time.monotonic() - 0.25), 0.05)
    try:
        async with asyncio.timeout(seconds):
            return await _follow(ask, policy, secrets, seconds)
    except (TimeoutError, httpcore.TimeoutException):
        problem = f"{shown_origin(ask.url)} did not answer in full within {seconds:.3g} s"
        raise ToolError("timeout", problem, retryable=ask.method in _SAFE, reason="deadline") from None


async def _follow(ask: Ask, policy: Policy, secrets: Mapping[str, str], seconds: float) -> Reply:
    meter = Meter(policy.limits.max_wire_bytes)
    passed: list[str] = []
    while True:
        reply = await _hop(ask, policy, meter, secrets, seconds)
        if (target := reply.headers.get("location")) is None or reply.status not in _REDIRECTS:
            return replace(reply, redirects=tuple(passed))
        following, notice = _redirected(ask, reply.status, parse_url(target, ask.url), policy)
        if following is None:
            return replace(reply, redirects=tuple(passed), notices=(*reply.notices, notice))
        passed.append(str(ask.url.copy_with(query=None)))
        if len(passed) > policy.limits.max_redirects:
            problem = f"more than {policy.limits.max_redirects} redirects"
            raise ToolError("tool_failed", problem, reason="redirects", redirects=passed)
        ask = following


def _redirected(ask: Ask, status: int, url: httpx.URL, policy: Policy) -> tuple[Ask | None, str]:
    """Return the request that a redirect asks for; None with a reason when it is not to be sent.

    Raises:
        ToolError: it leads where no request may go.
    """
    if policy.below is not None and not policy.below.holds(url):
        return None, f"the redirect to {shown_origin(url)} was not followed: it leads away from {policy.below}"
    policy.require_place(url)
    method, body, headers = ask.method, ask.body, ask.headers
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        method, body, headers = "GET", None, without_body(headers)
    if origin_of(url) != origin_of(ask.url):
        if method not in _SAFE:
            where = shown_origin(url)
            return None, f"the redirect to {where} was not followed: {method} is not repeated to another origin"
        headers, body = for_other_origin(headers), None
    return Ask(method, url, headers, body), ""


async def _hop(ask: Ask, policy: Policy, meter: Meter, secrets: Mapping[str, str], seconds: float) -> Reply:
    """Send one request on a connection of its own; the body of a redirect is not read."""
    headers = {**STANDARD, **ask.headers, "accept-encoding": "gzip, deflate", "connection": "close"}
    headers.update(_bound_secrets(ask.url, policy, secrets))
    if policy.below is not None and policy.below.holds(ask.url):
        headers.update(policy.headers)
    built = httpx.Request(ask.method, ask.url, headers=headers, content=ask.body)
    request = httpcore.Request(
        method=ask.method,
        url=httpcore.URL(scheme=ask.url.raw_scheme, host=ask.url.raw_host, port=ask.url.port, target=ask.url.raw_path),
        headers=built.headers.raw,
        content=ask.body or b"",
        # No address may use up the time of the others.
        extensions={"timeout": {"connect": max(seconds / 3, 0.05)}},
    )
    try:
        async with _pool(ask.url, policy, meter) as pool:
            response = await pool.handle_async_request(request)
            try:
                return await _read(response, ask, policy)
            finally:
                await response.aclose()
    except TooMuchError:
        raise ToolError("tool_failed", "the head of the answer is too long", reason="headers") from None
    except _FAILURES as error:
        raise _failure(ask, error) from None


def _failure(ask: Ask, error: Exception) -> ToolError:
    """Make the refusal of a connection or an answer that failed."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if cause is not None:
        reason, said = "tls", str(cause)
    elif isinstance(error, httpcore.ProtocolError):
        reason, said = "protocol", str(error)
    else:
        reason, said = "connect", str(error) or type(error).__name__
    retryable = reason == "connect" and ask.method in _SAFE
    problem = f"{shown_origin(ask.url)}: {said[:300]}"
    return ToolError("unavailable", problem, retryable=retryable, reason=reason)


async def _read(response: httpcore.Response, ask: Ask, policy: Policy) -> Reply:
    """Read a response up to the limits."""
    size = sum(len(name) + len(value) + 4 for name, value in response.headers)
    if size > policy.limits.max_header_bytes:
        raise ToolError("tool_failed", f"the answer has {size} bytes of headers", reason="headers")
    if response.status < 200:
        raise ToolError("tool_failed", f"the answer has the status {response.status}", reason="protocol")
    headers = _joined(response.headers)
    if response.status in _REDIRECTS and "location" in headers:
        return Reply(ask.url, response.status, headers, b"", False)
    body = Body(headers.get("content-encoding", ""), policy.limits.max_body_bytes)
    is_cut = False
    try:
        async for chunk in response.aiter_stream():
            if not body.add(chunk):
                break
    except TooMuchError:
        is_cut = True
    notices = () if is_cut or body.is_cut or body.is_whole else ("the compressed answer ends early",)
    return Reply(ask.url, response.status, headers, body.content, is_cut or body.is_cut, notices=notices)


def _joined(raw: Any) -> dict[str, str]:
    """Return headers as text; a second `Location` is not joined with the first, since only one can be meant."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key == "location" and headers.get(key, text) != text:
            raise ToolError("tool_failed", "the answer names two places to go on to", reason="headers")
        headers[key] = text if key not in headers or key == "location" else f"{headers[key]}, {text}"
    return headers


def _bound_secrets(url: httpx.URL, policy: Policy, secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with secrets for this very origin; over plain http there are none."""
    found = {}
    for rule in policy.secrets:
        if url.scheme != "https" or not rule.host.matches(url.raw_host.decode("ascii"), port_of(url)):
            continue
        if not (value := secrets.get(rule.secret)):
            problem = f"the secret {rule.secret!r} for {rule.host.host} is not declared"
            raise ToolError("unavailable", problem, reason="secret")
        found[rule.header] = f"{rule.prefix}{value}"
    return found


def _pool(url: httpx.URL, policy: Policy, meter: Meter) -> httpcore.AsyncConnectionPool:
    """Make the client of one hop: one connection, HTTP/1.1, nothing from the environment."""
    context = tls_context(policy.ca_file) if url.scheme == "https" else None
    if policy.proxy is None:
        backend = GuardedBackend(policy, meter)
        return httpcore.AsyncConnectionPool(ssl_context=context, max_connections=1, network_backend=backend)
    proxy = httpx.URL(policy.proxy)
    auth = (proxy.username, proxy.password) if proxy.userinfo else None
    host = proxy.raw_host.decode("ascii")
    port = port_of(proxy)
    return httpcore.AsyncHTTPProxy(
        proxy_url=httpcore.URL(scheme=b"http", host=host.encode("ascii"), port=port, target=b"/"),
        proxy_auth=auth,
        ssl_context=context,
        max_connections=1,
        network_backend=GuardedBackend(policy, meter, trusted=(host, port)),
    )


@functools.cache
def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Return the context of all TLS connections: certificates are always verified."""
    context = httpx.create_ssl_context(trust_env=False)
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context
