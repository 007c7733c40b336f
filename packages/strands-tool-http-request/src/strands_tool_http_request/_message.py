"""The shared parts of the tools that send requests: a request's body and parameters, and the words for a response."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from strands_tool_http_request._call import CAPABILITIES
from strands_tool_kit import ToolError, cut_text
from strands_tool_kit.http import HttpResponse, Policy, decode_text, is_text, media_type
from strands_tool_kit.spec import array, boolean, choice, integer, mapping, outputs, string

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
METHOD_RULE = choice(METHODS, "The HTTP method.", default="GET")
PARAMETER_RULE: dict[str, Any] = {"type": ["string", "number", "boolean"]}
BODY_RULES: dict[str, Any] = {
    "json": {"type": "object", "description": "A JSON object to send as the body."},
    "body": string("Text to send as the body; say what it is with the header Content-Type.", length=(None, 1048576)),
}
SENDS: dict[str, Any] = {
    "requires_confirmation": False,
    "read_only_when": {"properties": {"method": {"enum": ["GET", "HEAD"]}}},
    "capabilities": CAPABILITIES,
    "timeout_s": 130,
    "max_output_bytes": 1048576,
}
ERROR_RULE = string("That the server refused: the status and its name, if the status is 400 or more.")
OUTPUT_SCHEMA = outputs(
    {
        "url": string("Where the answer came from, after redirects."),
        "status": integer(),
        "headers": mapping(string()),
        "content_type": string(),
        "error": ERROR_RULE,
        "size": integer("Bytes of the body that were read, decompressed."),
        "json": {"description": "The parsed body, when it is JSON and whole; there is no text then."},
        "truncated": boolean(),
        "redirects": array(string()),
        "notices": array(string()),
    },
    optional=["json", "error"],
)
_MAX_BODY = 1_048_576
_MAX_SHOWN_HEADERS = 16_384


def refusal_of(status: int) -> dict[str, str]:
    """Return the `error` of an answer that refuses the request, so that a step without a model fails with it."""
    return {"error": f"HTTP {status} {httpx.codes.get_reason_phrase(status)}".rstrip()} if status >= 400 else {}


def body_of(values: Mapping[str, Any], headers: dict[str, str]) -> bytes | None:
    """Return the body that a call gives as `json` or `body`, and set its type in the headers.

    Raises:
        ToolError: both are given, it cannot be sent, or the method has none.
    """
    if values["json"] is not None and values["body"] is not None:
        raise ToolError("invalid_input", "give 'json' or 'body', not both", reason="body", field="body")
    try:
        if values["json"] is not None:
            headers.setdefault("content-type", "application/json")
            body = json.dumps(values["json"], ensure_ascii=False, allow_nan=False).encode()
        elif values["body"] is not None:
            headers.setdefault("content-type", "text/plain; charset=utf-8")
            body = values["body"].encode()
        else:
            return None
    except (ValueError, TypeError, RecursionError) as error:
        raise ToolError("invalid_input", f"the body cannot be sent: {str(error)[:200]}", reason="body") from None
    if len(body) > _MAX_BODY:
        raise ToolError("invalid_input", f"the body has {len(body)} bytes; the limit is {_MAX_BODY}", reason="body")
    if values["method"] in ("GET", "HEAD"):
        raise ToolError("invalid_input", f"a {values['method']} request has no body", reason="body", field="body")
    return body


def with_params(url: httpx.URL, values: Mapping[str, Any], field: str = "params") -> str:
    """Return a URL with further parameters; `field` is their name in a call.

    Raises:
        ToolError: A parameter is not a text, a number or a boolean, or cannot be sent.
    """
    for name, value in values.items():
        if not isinstance(value, (str, int, float)):
            problem = f"the parameter {name[:100]!r} must be text, a number or true or false"
            raise ToolError("invalid_input", problem, reason="type", field=field)
    try:
        return str(url.copy_merge_params(httpx.QueryParams(dict(values))))
    except (ValueError, UnicodeError) as error:
        problem = f"the parameters cannot be sent: {str(error)[:200]}"
        raise ToolError("invalid_input", problem, reason="type", field=field) from None


def describe(response: HttpResponse, policy: Policy, form: str | None = None) -> tuple[str, dict[str, Any]]:
    """Return the text for the model and the values for the workflow from a response.

    Args:
        response: The response.
        policy: The limits.
        form: `json` or `text` if the service is known to answer so, with any content type.
    """
    kind, notices, text = media_type(response.headers), list(response.notices), ""
    described: dict[str, Any] = {
        "url": str(response.url),
        "status": response.status,
        "headers": _shown(response.headers),
        "content_type": kind,
        "size": len(response.content),
        "truncated": response.is_cut,
        "redirects": list(response.redirects),
        **refusal_of(response.status),
    }
    if response.is_cut:
        notices.append(f"the answer goes on after {len(response.content)} bytes")
    if is_text(kind, response.content):
        text, codec = decode_text(response.content, response.headers)
        text, is_cut = cut_text(text, policy.limits.max_text_bytes)
        described["truncated"] |= is_cut
        if is_cut:
            notices.append(f"the text is limited to {policy.limits.max_text_bytes} bytes")
        elif not response.is_cut and (form == "json" or (form is None and kind.endswith("json"))):
            text, described = _parsed(text, described, notices)
        if "\ufffd" in text:
            notices.append(f"some bytes did not fit {codec} and are shown as U+FFFD")
    elif response.content:
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
    raise ValueError(f"{word} is not JSON")


def _shown(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the response's headers without cookies, up to a size."""
    headers_shown, left = {}, _MAX_SHOWN_HEADERS
    for name, value in headers.items():
        left -= len(name) + len(value)
        if name not in ("set-cookie", "set-cookie2") and left >= 0:
            headers_shown[name] = value
    return headers_shown
