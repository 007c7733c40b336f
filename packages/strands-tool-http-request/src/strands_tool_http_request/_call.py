"""The shared parts of the package's tools: rules of inputs, capabilities, and how a request is sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strands_tool_http_request import __version__
from strands_tool_kit import CallContext
from strands_tool_kit.http import HttpRequest, HttpResponse, Policy, exchange

MAX_SECONDS = 120
TIMEOUT_RULE: dict[str, Any] = {
    "type": "number",
    "minimum": 0.1,
    "maximum": MAX_SECONDS,
    "description": "Seconds for the whole call, redirects included. By default 30.",
}
URL_RULE: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 8192}
_USER_AGENT = f"strands-tool-http-request/{__version__}"
CAPABILITIES: dict[str, Any] = {"network": ["*"], "filesystem": [], "subprocess": False, "env": [], "secrets": []}


async def fetch(request: HttpRequest, policy: Policy, context: CallContext, timeout: float | None) -> HttpResponse:
    """Send the request of one call; `timeout` is the wanted one, in seconds."""
    seconds = None if timeout is None else min(timeout, MAX_SECONDS)
    named = replace(request, headers={"user-agent": _USER_AGENT, **request.headers})
    return await exchange(named, policy, context, seconds)
