"""What all tools share: an answer made by a coroutine, and the parts of a call that go to the transport."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from strands_tool_http_request._exchange import Ask, Reply, exchange
from strands_tool_http_request._policy import Policy
from strands_tool_kit import CallContext, ToolError, answer

MAX_SECONDS = 120
TIMEOUT_RULE: dict[str, Any] = {
    "type": "number",
    "minimum": 0.1,
    "maximum": MAX_SECONDS,
    "description": "Seconds for the whole call, redirects included. By default 30.",
}
URL_RULE: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 8192}
CAPABILITIES: dict[str, Any] = {"network": ["*"], "filesystem": [], "subprocess": False, "env": [], "secrets": []}


async def answer_async(
    tool: Mapping[str, Any], work: Callable[[], Awaitable[tuple[str, dict[str, Any]]]]
) -> dict[str, Any]:
    """Await the tool's work and wrap its text and JSON, or its refusal, as a Strands tool result."""
    try:
        outcome = await work()
    except ToolError as refusal:
        caught = refusal

        def refuse() -> tuple[str, dict[str, Any]]:
            raise caught

        return answer(tool, refuse)
    return answer(tool, lambda: outcome)


async def fetch(ask: Ask, policy: Policy, keywords: Mapping[str, Any], timeout: float | None) -> Reply:
    """Send the request of one call with what the host passed besides its input."""
    secrets = (keywords.get("strands_cli") or {}).get("secrets") or {}
    seconds = policy.limits.timeout_s if timeout is None else min(timeout, MAX_SECONDS)
    return await exchange(ask, policy, CallContext.of(keywords), secrets, seconds)
