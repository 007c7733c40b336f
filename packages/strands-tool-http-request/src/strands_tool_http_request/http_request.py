"""The tool `http_request`: one HTTP request to a public host, or to what the operator opened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from strands_tool_http_request._call import CAPABILITIES, TIMEOUT_RULE, URL_RULE, answer_async, fetch
from strands_tool_http_request._contract import Context, Refusal, read_input
from strands_tool_http_request._decode import cut_text, decode_text, is_text, media_type
from strands_tool_http_request._exchange import Ask, Reply
from strands_tool_http_request._headers import require_headers
from strands_tool_http_request._policy import Policy

TOOL_SPEC = {
    "name": "http_request",
    "description": (
        "Send one HTTP request and return status, headers and body. Redirects are followed. Private networks and the "
        "machine itself are refused. A JSON answer comes parsed under 'json', other text as text; long answers are "
        "cut. To read a web page use web_fetch."
    ),
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "method": {
                    "type": "string",
                    "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
                    "default": "GET",
                    "description": "The HTTP method.",
                },
                "url": {**URL_RULE, "description": "An http or https URL, without user name or password."},
                "headers": {
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                    "description": "Request headers. Host, Content-Length, proxy and connection headers cannot be set.",
                },
                "params": {
                    "type": "object",
                    "additionalProperties": {"type": ["string", "number", "boolean"]},
                    "description": "Query parameters, added to those of the URL.",
                },
                "json": {"type": "object", "description": "A JSON object to send as the body."},
                "body": {
                    "type": "string",
                    "maxLength": 1048576,
                    "description": "Text to send as the body; say what it is with the header Content-Type.",
                },
                "timeout": TIMEOUT_RULE,
            },
            "required": ["url"],
            "additionalProperties": False,
        }
    },
    "outputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "Where the answer came from, after redirects."},
                "status": {"type": "integer"},
                "headers": {"type": "object", "additionalProperties": {"type": "string"}},
                "content_type": {"type": "string"},
                "size": {"type": "integer", "description": "Bytes of the body that were read, decompressed."},
                "json": {"description": "The parsed body, when it is JSON and whole; there is no text then."},
                "truncated": {"type": "boolean"},
                "redirects": {"type": "array", "items": {"type": "string"}},
                "notices": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["url", "status", "headers", "content_type", "size", "truncated", "redirects", "notices"],
        }
    },
    "annotations": {
        "title": "Send an HTTP request",
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": True,
    },
    "strands_cli": {
        "requires_confirmation": False,
        "read_only_when": {"properties": {"method": {"enum": ["GET", "HEAD"]}}},
        "capabilities": CAPABILITIES,
        "timeout_s": 130,
        "max_output_bytes": 1048576,
    },
}

_MAX_BODY = 1_048_576
_MAX_SHOWN_HEADERS = 16_384


async def http_request(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Send the request of one call.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `strands_cli` may carry `config`, `secrets`, `deadline` and `cancel`.

    Returns:
        A Strands tool result: the body as text, unless it is JSON, and a JSON block that describes the response.
    """

    async def work() -> tuple[str, dict[str, Any]]:
        given = read_input(tool, TOOL_SPEC)
        policy = Policy.of(Context.of(kwargs).config)
        return _told(await fetch(_ask(given, policy), policy, kwargs, given["timeout"]), policy)

    return await answer_async(tool, work)


def _ask(given: Mapping[str, Any], policy: Policy) -> Ask:
    """Make the request from the input, or raise for what does not fit."""
    method, headers = given["method"], require_headers(given["headers"] or {})
    body = _body(given, headers)
    if body is not None and method in ("GET", "HEAD"):
        raise Refusal("invalid_input", f"a {method} request has no body", reason="body", field="body")
    url = policy.require_url(given["url"])
    if given["params"]:
        url = policy.require_url(_with_params(url, given["params"]))
    return Ask(method, url, headers, body)


def _body(given: Mapping[str, Any], headers: dict[str, str]) -> bytes | None:
    if given["json"] is not None and given["body"] is not None:
        raise Refusal("invalid_input", "give 'json' or 'body', not both", reason="body", field="body")
    try:
        if given["json"] is not None:
            headers.setdefault("content-type", "application/json")
            body = json.dumps(given["json"], ensure_ascii=False, allow_nan=False).encode()
        elif given["body"] is not None:
            headers.setdefault("content-type", "text/plain; charset=utf-8")
            body = given["body"].encode()
        else:
            return None
    except (ValueError, TypeError, RecursionError) as error:
        raise Refusal("invalid_input", f"the body cannot be sent: {str(error)[:200]}", reason="body") from None
    if len(body) > _MAX_BODY:
        raise Refusal("invalid_input", f"the body has {len(body)} bytes; the limit is {_MAX_BODY}", reason="body")
    return body


def _with_params(url: httpx.URL, given: Mapping[str, Any]) -> str:
    for name, value in given.items():
        if not isinstance(value, (str, int, float)):
            problem = f"the parameter {name[:100]!r} must be text, a number or true or false"
            raise Refusal("invalid_input", problem, reason="type", field="params")
    try:
        return str(url.copy_merge_params(httpx.QueryParams(dict(given))))
    except (ValueError, UnicodeError) as error:
        problem = f"the parameters cannot be sent: {str(error)[:200]}"
        raise Refusal("invalid_input", problem, reason="type", field="params") from None


def _told(reply: Reply, policy: Policy) -> tuple[str, dict[str, Any]]:
    """Return what the model and the workflow get of a response."""
    kind, notices, text = media_type(reply.headers), list(reply.notices), ""
    described: dict[str, Any] = {
        "url": str(reply.url),
        "status": reply.status,
        "headers": _shown(reply.headers),
        "content_type": kind,
        "size": len(reply.content),
        "truncated": reply.is_cut,
        "redirects": list(reply.redirects),
    }
    if reply.is_cut:
        notices.append(f"the answer goes on after {len(reply.content)} bytes")
    if is_text(kind, reply.content):
        text, codec = decode_text(reply.content, reply.headers)
        text, is_cut = cut_text(text, policy.limits.max_text_bytes)
        described["truncated"] |= is_cut
        if is_cut:
            notices.append(f"the text is limited to {policy.limits.max_text_bytes} bytes")
        elif not reply.is_cut and kind.endswith("json"):
            text, described = _parsed(text, described, notices)
        if "\ufffd" in text:
            notices.append(f"some bytes did not fit {codec} and are shown as U+FFFD")
    elif reply.content:
        notices.append(f"the content is not text ({kind or 'no type'}) and is not shown")
    return text, {**described, "notices": notices}


def _parsed(text: str, described: dict[str, Any], notices: list[str]) -> tuple[str, dict[str, Any]]:
    """Put a JSON body in place of its text when it is sound."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        # An escape can make half of a surrogate pair, which no UTF-8 carries on.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        if text:
            notices.append("the content says it is JSON and cannot be read as such")
        return text, described
    return "", {**described, "json": value}


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _shown(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the response's headers without cookies, up to a size."""
    shown, left = {}, _MAX_SHOWN_HEADERS
    for name, value in headers.items():
        left -= len(name) + len(value)
        if name not in ("set-cookie", "set-cookie2") and left >= 0:
            shown[name] = value
    return shown
