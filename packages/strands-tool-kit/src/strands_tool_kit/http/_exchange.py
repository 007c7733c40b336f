"""One request and all of its redirects, inside one deadline and one set of limits."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpcore
import httpx

from strands_tool_kit import CallContext, ToolError
from strands_tool_kit.http._headers import STANDARD, for_other_origin, without_body
from strands_tool_kit.http._policy import Policy
from strands_tool_kit.http._urls import origin_of, parse_url, port_of, shown_origin
from strands_tool_kit.http.body import Body, EncodingError
from strands_tool_kit.http.transport import FAILURES, Meter, TooMuchError, cause_of, open_pool

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SAFE = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request as it goes out; `headers` in lower case."""

    method: str
    url: httpx.URL
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The last response of a request.

    Attributes:
        url: Where it came from, after all redirects.
        headers: Names in lower case, values of one name joined.
        content: The decoded body as far as it was read.
        is_cut: Whether the body continues after `content`.
        redirects: The URLs, without queries, that led here.
        notices: Notes about the response for a reader.
    """

    url: httpx.URL
    status: int
    headers: Mapping[str, str]
    content: bytes
    is_cut: bool
    redirects: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


async def exchange(
    request: HttpRequest, policy: Policy, context: CallContext, seconds: float | None = None
) -> HttpResponse:
    """Send a request, follow its redirects, and return the last response, with any status.

    Args:
        request: The request; its URL has passed `policy.require_url`.
        policy: The operator's rules.
        context: The values of the host: the secrets, and a deadline that may shorten the time.
        seconds: The time for all of it, by default the policy's.

    Raises:
        ToolError: Nothing could be fetched, or the policy refuses a part of the way.
    """
    limit = policy.limits.timeout_s
    left = context.seconds(limit if seconds is None else seconds)
    try:
        async with asyncio.timeout(left):
            return await _Call(policy, context, left).follow(request)
    except (TimeoutError, httpcore.TimeoutException):
        problem = f"{shown_origin(request.url)} did not answer in full within {left:.3g} s"
        more = {"config": {"timeout_s": math.ceil(2 * left)}} if seconds is None and left >= limit else {}
        raise ToolError("timeout", problem, retryable=request.method in _SAFE, reason="deadline", **more) from None


class _Call:
    """The requests of one call, which share one limit of bytes."""

    def __init__(self, policy: Policy, context: CallContext, seconds: float) -> None:
        self._policy = policy
        self._secrets = context.secrets
        self._refusal = context.connection_refusal
        self._seconds = seconds
        self._meter = Meter(policy.limits.max_wire_bytes)

    async def follow(self, request: HttpRequest) -> HttpResponse:
        """Send the request and those that its redirects ask for."""
        addresses: list[str] = []
        while True:
            response = await self._send(request)
            if (target := response.headers.get("location")) is None or response.status not in _REDIRECTS:
                return replace(response, redirects=tuple(addresses))
            following, notice = _redirected(request, response.status, parse_url(target, request.url), self._policy)
            if following is not None and self._refusal is not None and (why := self._refusal(str(following.url))):
                notice = f"the redirect to {shown_origin(following.url)} was not followed: {why}"
                following = None
            if following is None:
                return replace(response, redirects=tuple(addresses), notices=(*response.notices, notice))
            addresses.append(str(request.url.copy_with(query=None)))
            most = self._policy.limits.max_redirects
            if len(addresses) > most:
                raise ToolError("tool_failed", f"more than {most} redirects", reason="redirects", redirects=addresses)
            request = following

    async def _send(self, request: HttpRequest) -> HttpResponse:
        """Send one request on a connection of its own; the body of a redirect is not read."""
        policy, url = self._policy, request.url
        proxy = None if policy.proxy is None else httpx.URL(policy.proxy)
        try:
            async with open_pool(url, self._meter, policy.require_address, proxy=proxy, ca_file=policy.ca_file) as pool:
                response = await pool.handle_async_request(self._outgoing(request))
                try:
                    return await _read(response, url, policy)
                finally:
                    await response.aclose()
        except TooMuchError:
            raise ToolError("tool_failed", "the head of the answer is too long", reason="headers") from None
        except EncodingError as error:
            raise ToolError("tool_failed", str(error), reason="encoding") from None
        except FAILURES as error:
            reason, message = cause_of(error)
            retryable = reason == "connect" and request.method in _SAFE
            problem = f"{shown_origin(url)}: {message}"
            raise ToolError("unavailable", problem, retryable=retryable, reason=reason) from None

    def _outgoing(self, request: HttpRequest) -> httpcore.Request:
        """Return the request with the headers of the client and those that the policy adds."""
        url = request.url
        headers = {**STANDARD, **request.headers, "accept-encoding": "gzip, deflate", "connection": "close"}
        headers.update(_bound_secrets(url, self._policy, self._secrets))
        if self._policy.scope is not None and self._policy.scope.holds(url):
            headers.update(self._policy.headers)
        built = httpx.Request(request.method, url, headers=headers, content=request.body)
        return httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=built.headers.raw,
            content=request.body or b"",
            # One address may not use up the time of the others.
            extensions={"timeout": {"connect": max(self._seconds / 3, 0.05)}},
        )


def _redirected(request: HttpRequest, status: int, url: httpx.URL, policy: Policy) -> tuple[HttpRequest | None, str]:
    """Return the request that a redirect asks for, or None and the reason not to send it.

    Raises:
        ToolError: The redirect leads where no request may go.
    """
    if policy.scope is not None and not policy.scope.holds(url):
        return None, f"the redirect to {shown_origin(url)} was not followed: it leads away from {policy.scope}"
    policy.require_place(url)
    method, body, headers = request.method, request.body, request.headers
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        method, body, headers = "GET", None, without_body(headers)
    if origin_of(url) != origin_of(request.url):
        if method not in _SAFE:
            where = shown_origin(url)
            return None, f"the redirect to {where} was not followed: {method} is not repeated to another origin"
        headers, body = for_other_origin(headers), None
    return HttpRequest(method, url, headers, body), ""


async def _read(response: httpcore.Response, url: httpx.URL, policy: Policy) -> HttpResponse:
    """Read a response up to the limits."""
    size = sum(len(name) + len(value) + 4 for name, value in response.headers)
    if size > policy.limits.max_header_bytes:
        raise ToolError("tool_failed", f"the answer has {size} bytes of headers", reason="headers")
    if response.status < 200:
        raise ToolError("tool_failed", f"the answer has the status {response.status}", reason="protocol")
    headers = _joined(response.headers)
    if response.status in _REDIRECTS and "location" in headers:
        return HttpResponse(url, response.status, headers, b"", is_cut=False)
    body = Body(headers.get("content-encoding", ""), policy.limits.max_body_bytes)
    is_cut = False
    try:
        async for chunk in response.aiter_stream():
            if not body.add(chunk):
                break
    except TooMuchError:
        is_cut = True
    notices = () if is_cut or body.is_cut or body.is_whole else ("the compressed answer ends early",)
    return HttpResponse(url, response.status, headers, body.content, is_cut or body.is_cut, notices=notices)


def _joined(raw: Any) -> dict[str, str]:
    """Return headers as text; two different values of `Location` are refused, since only one can be meant."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key == "location" and headers.get(key, text) != text:
            raise ToolError("tool_failed", "the answer names two places to go on to", reason="headers")
        headers[key] = text if key not in headers or key == "location" else f"{headers[key]}, {text}"
    return headers


def _bound_secrets(url: httpx.URL, policy: Policy, secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with secrets for this origin; there are none over plain http."""
    headers = {}
    for rule in policy.secrets:
        if url.scheme != "https" or not rule.host.matches(url.raw_host.decode("ascii"), port_of(url)):
            continue
        if not (value := secrets.get(rule.secret)):
            problem = f"the secret {rule.secret!r} for {rule.host.host} is not declared"
            raise ToolError("unavailable", problem, reason="secret")
        headers[rule.header] = f"{rule.prefix}{value}"
    return headers
