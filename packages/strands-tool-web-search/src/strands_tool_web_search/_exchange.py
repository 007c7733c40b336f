"""One request to a search service, inside one deadline and one set of limits, without redirects."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpcore

from strands_tool_kit import ToolError
from strands_tool_kit.http import port_of
from strands_tool_kit.http.body import Body, EncodingError
from strands_tool_kit.http.transport import FAILURES, Meter, TooMuchError, cause_of
from strands_tool_web_search import __version__
from strands_tool_web_search._service import Service

_LONGEST_WAIT = 86_400


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a service; header names in lower case.

    Attributes:
        is_cut: Whether the body continues after the limit.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes
    is_cut: bool

    @property
    def text(self) -> str:
        """The body as UTF-8, with U+FFFD for bytes that do not fit."""
        return self.content.decode("utf-8-sig", "replace")


async def exchange(service: Service, headers: Mapping[str, str], body: bytes | None, until: float) -> Reply:
    """POST a body to the service, or GET without one, and return its answer, with any status but a redirect.

    Args:
        service: Where to.
        headers: In lower case.
        body: The bytes; None for a GET.
        until: The moment of `time.monotonic()` by which the answer must be there in full.

    Raises:
        ToolError: No usable answer came.
    """
    seconds = max(until - time.monotonic(), 0.01)
    meter = Meter(2 * service.max_body_bytes + 65_536)
    try:
        async with asyncio.timeout(seconds):
            return await _send(service, headers, body, meter, seconds)
    except (TimeoutError, httpcore.TimeoutException):
        problem = f"{service.name} did not answer in full in the time of the call"
        raise ToolError("timeout", problem, retryable=True, reason="deadline") from None
    except TooMuchError:
        raise ToolError("unavailable", f"{service.name} sent too much", reason="too-large") from None
    except EncodingError as error:
        raise ToolError("unavailable", str(error), retryable=error.is_damaged, reason="encoding") from None
    except FAILURES as error:
        reason, message = cause_of(error)
        problem = f"{service.name}: {message}"
        raise ToolError("unavailable", problem, retryable=reason != "tls", reason=reason) from None


async def _send(
    service: Service, headers: Mapping[str, str], body: bytes | None, meter: Meter, seconds: float
) -> Reply:
    netloc = service.url.netloc
    standard = {
        "host": netloc.decode("ascii"),
        "user-agent": f"Mozilla/5.0 (compatible; strands-tool-web-search/{__version__})",
        "accept-encoding": "gzip, deflate",
        "connection": "close",
        **({} if body is None else {"content-length": str(len(body))}),
    }
    request = httpcore.Request(
        method="GET" if body is None else "POST",
        url=httpcore.URL(
            scheme=service.url.raw_scheme,
            host=service.url.raw_host,
            port=port_of(service.url),
            target=service.url.raw_path,
        ),
        headers=[(name.encode("ascii"), value.encode("ascii")) for name, value in {**standard, **headers}.items()],
        content=body,
        extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), seconds)},
    )
    async with service.pool(meter) as pool:
        response = await pool.handle_async_request(request)
        try:
            return await _read(service, response)
        finally:
            await response.aclose()


async def _read(service: Service, response: httpcore.Response) -> Reply:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
    if response.status < 200:
        raise ToolError("unavailable", f"{service.name} answered {response.status}", reason="protocol")
    if 300 <= response.status < 400:
        problem = f"{service.name} answered with a redirect ({response.status}), which is not followed"
        raise ToolError("unavailable", problem, reason="redirect", status=response.status)
    body = Body(headers.get("content-encoding", ""), service.max_body_bytes)
    async for chunk in response.aiter_stream():
        if not body.add(chunk):
            break
    return Reply(response.status, headers, body.content, body.is_cut)


def unavailable(service: Service, reply: Reply, detail: str = "") -> ToolError:
    """Return the error for an answer whose status is not a success; a busy service may be asked again later."""
    details: dict[str, Any] = {"reason": "status", "status": reply.status}
    if reply.status == 429:
        details["reason"] = "rate-limit"
    wait = reply.headers.get("retry-after", "")
    if wait.isascii() and wait.isdecimal() and len(wait) < 6 and int(wait) <= _LONGEST_WAIT:
        details["retry_after_s"] = int(wait)
    retryable = reply.status in (408, 425, 429) or reply.status >= 500
    problem = f"{service.name} answered {reply.status}{': ' if detail else ''}{detail}"
    return ToolError("unavailable", problem, retryable=retryable, **details)
