"""The tool `http_request`: one HTTP request to a public host, or to one that the operator opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands_tool_http_request._call import TIMEOUT_RULE, URL_RULE, fetch
from strands_tool_http_request._message import (
    BODY_RULES,
    METHOD_RULE,
    OUTPUT_SCHEMA,
    PARAMETER_RULE,
    SENDS,
    body_of,
    describe,
    with_params,
)
from strands_tool_kit import CallContext, answer_async, read_input
from strands_tool_kit.http import HttpRequest, Policy, require_headers
from strands_tool_kit.spec import hints, inputs, mapping, string

TOOL_SPEC: dict[str, Any] = {
    "name": "http_request",
    "description": (
        "Send one HTTP request and return status, headers and body. Redirects are followed. Private networks and the "
        "machine itself are refused. A JSON answer comes parsed under 'json', other text as text; long answers are "
        "cut. To read a web page use web_fetch."
    ),
    "inputSchema": inputs(
        {
            "method": METHOD_RULE,
            "url": {**URL_RULE, "description": "An http or https URL, without user name or password."},
            "headers": mapping(
                string(), "Request headers. Host, Content-Length, proxy and connection headers cannot be set."
            ),
            "params": mapping(PARAMETER_RULE, "Query parameters, added to those of the URL."),
            **BODY_RULES,
            "timeout": TIMEOUT_RULE,
        },
        required=["url"],
    ),
    "outputSchema": OUTPUT_SCHEMA,
    "annotations": hints("Send an HTTP request", reads_only=False, destructive=True, idempotent=False, open_world=True),
    "strands_cli": {**SENDS, "resources": {"connects": ["url:{url}"]}},
}


async def http_request(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Send the request of one call.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `strands_cli` may carry `config`, `secrets`, `deadline` and `cancel`.

    Returns:
        A Strands tool result: the body as text, unless it is JSON, and a JSON block that describes the response.
    """

    async def work() -> tuple[str, dict[str, Any]]:
        values = read_input(tool, TOOL_SPEC)
        context = CallContext.of(kwargs)
        policy = Policy.of(context.config)
        return describe(await fetch(_request(values, policy), policy, context, values["timeout"]), policy)

    return await answer_async(tool, work)


def _request(values: Mapping[str, Any], policy: Policy) -> HttpRequest:
    """Make the request from the input."""
    method, headers = values["method"], require_headers(values["headers"] or {})
    body = body_of(values, headers)
    url = policy.require_url(values["url"])
    if values["params"]:
        url = policy.require_url(with_params(url, values["params"]))
    return HttpRequest(method, url, headers, body)
