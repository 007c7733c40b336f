"""The tool `http_executor`: requests to one HTTP service that the workflow names, and to nothing else."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import httpx

from strands_tool_http_request._call import fetch
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
from strands_tool_kit import CallContext, ToolError, answer_async, read_input
from strands_tool_kit.http import HostRule, HttpRequest, Policy, UrlScope, parse_address, port_of, require_headers
from strands_tool_kit.spec import hints, inputs, mapping, string

TOOL_SPEC: dict[str, Any] = {
    "name": "http_executor",
    "description": (
        "Send one request to the HTTP service that this tool is configured for, and return status, headers and body. "
        "The path is added to the service's base URL and cannot leave it. A JSON answer comes parsed under 'json'."
    ),
    "inputSchema": inputs(
        {
            "method": METHOD_RULE,
            "path": {
                "type": "string",
                "pattern": "^/",
                "minLength": 1,
                "maxLength": 4096,
                "description": "The path below the base URL: it begins with a slash and has no '?', '#' or '..'.",
            },
            "query": mapping(PARAMETER_RULE, "Query parameters."),
            "headers": mapping(string(), "Further request headers; those that authenticate are already set."),
            **BODY_RULES,
        },
        required=["path"],
    ),
    "outputSchema": OUTPUT_SCHEMA,
    "annotations": hints(
        "Send a request to a service", reads_only=False, destructive=True, idempotent=False, open_world=True
    ),
    "strands_cli": {
        **SENDS,
        "earlier": {"json_data": "json", "headers_override": "headers", "path": "?query"},
    },
}

_SECRET = re.compile(r"\$\{secrets\.([^{}]+)\}")
# Who a request is from is the operator's to say.
_NOT_THE_MODELS = frozenset({"authorization", "cookie"})
_OWN_KEYS = frozenset({"base_url", "headers", "basic", "timeout_ms", "response_format"})


async def http_executor(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Send the request of one call.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `strands_cli` carries `config`, and may carry `secrets`, `deadline`, `cancel`.

    Returns:
        A Strands tool result: the body as text, unless it is JSON, and a JSON block that describes the response.
    """

    async def work() -> tuple[str, dict[str, Any]]:
        arguments = read_input(tool, TOOL_SPEC)
        context = CallContext.of(kwargs)
        policy = _policy_of(context.config, context.secrets)
        try:
            response = await fetch(_request(arguments, policy), policy, context, None)
        except ToolError as error:
            raise _with_fix(error) from None
        return describe(response, policy, context.config.get("response_format"))

    return await answer_async(tool, work)


def _policy_of(config: Mapping[str, Any], secrets: Mapping[str, str]) -> Policy:
    """Return the rules of one service: its origin is all that may be reached.

    Raises:
        ToolError: `unavailable`, since only the operator can correct the configuration.
    """
    shared = {name: value for name, value in config.items() if name not in _OWN_KEYS}
    policy = Policy.of(shared | {"timeout_s": config.get("timeout_ms", 30_000) / 1000})
    try:
        scope = UrlScope.of(_address(str(config.get("base_url") or ""), secrets))
        headers = require_headers(config.get("headers") or {})
    except ToolError as error:
        raise ToolError("unavailable", f"the configuration of the tool is wrong: {error}", reason="config") from None
    url = httpx.URL(scope.origin)
    return replace(
        policy,
        allow_hosts=(_rule(url.raw_host.decode("ascii"), port_of(url)),),
        allow_private=(*policy.allow_private, *_named_addresses(url)),
        scope=scope,
        headers=_with_secrets(headers, secrets, url) | _basic(config.get("basic"), secrets, url),
    )


def _with_fix(error: ToolError) -> ToolError:
    """Return the error with a fix for the call: an executor has no `config` of its own, but its fields."""
    config = error.details.pop("config", {})
    if "allow_private" in config:
        error.details["fix"] = "to permit it, write the address itself in `base_url` of the executor"
    elif "timeout_s" in config:
        error.details["fix"] = f"to give it more time: `timeout_ms: {config['timeout_s'] * 1000}` of the executor"
    return error


def _named_addresses(url: httpx.URL) -> tuple[HostRule, ...]:
    """Return the addresses that a base URL opens by itself: the address it names, or this machine by its name.

    Another name may lead to a private network later, which the operator has not approved.
    """
    host = url.raw_host.decode("ascii")
    hosts = ("127.0.0.1", "::1") if host == "localhost" else (host,) if parse_address(host) is not None else ()
    return tuple(_rule(host, port_of(url)) for host in hosts)


def _rule(host: str, port: int) -> HostRule:
    return HostRule.of(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def _with_secrets(headers: Mapping[str, str], secrets: Mapping[str, str], url: httpx.URL) -> dict[str, str]:
    """Put the values of declared secrets in place of `${secrets.NAME}`.

    Raises:
        ToolError: `unavailable`; the secret is missing, does not fit in a header, or would go over plain http.
    """

    def value_of(match: re.Match[str]) -> str:
        name = match.group(1)
        if not (value := secrets.get(name)):
            raise ToolError("unavailable", f"the secret {name!r} is not declared", reason="secret")
        if not value.isascii() or not value.isprintable():
            raise ToolError("unavailable", f"the secret {name!r} does not fit in a header", reason="secret")
        if url.scheme != "https" and not _is_this_machine(url):
            raise ToolError("unavailable", f"the secret {name!r} does not go over plain http", reason="secret")
        return value

    return {name: _SECRET.sub(value_of, value) for name, value in headers.items()}


def _basic(user: Mapping[str, str] | None, secrets: Mapping[str, str], url: httpx.URL) -> dict[str, str]:
    """Return the header of a user with a password, if there is one.

    Raises:
        ToolError: `unavailable`; a secret cannot be sent, or the name has a colon, which ends it.
    """
    if user is None:
        return {}
    filled = _with_secrets(user, secrets, url)
    if ":" in filled["username"]:
        raise ToolError("unavailable", "the user name has a colon", reason="config")
    pair = f"{filled['username']}:{filled['password']}".encode()
    return {"authorization": f"Basic {base64.b64encode(pair).decode('ascii')}"}


def _address(base_url: str, secrets: Mapping[str, str]) -> str:
    """Put the values of declared secrets into the path of a base URL; one in its host stays unfilled.

    Raises:
        ToolError: `unavailable`; the secret is missing, or would go over plain http.
    """
    scheme, separator, rest = base_url.partition("://")
    host, slash, path = rest.partition("/")
    if not _SECRET.search(path):
        return base_url
    url = httpx.URL(f"{scheme}{separator}{host}")
    values = _with_secrets({name: f"${{secrets.{name}}}" for name in _SECRET.findall(path)}, secrets, url)
    return f"{scheme}{separator}{host}{slash}{_SECRET.sub(lambda match: quote(values[match[1]], safe=''), path)}"


def _is_this_machine(url: httpx.URL) -> bool:
    host = url.raw_host.decode("ascii")
    address = parse_address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _request(arguments: Mapping[str, Any], policy: Policy) -> HttpRequest:
    """Make the request from the input.

    Raises:
        ToolError: `invalid_input` or `denied` for a part that does not fit, `unavailable` without a `base_url`.
    """
    headers = require_headers(arguments["headers"] or {})
    if closed := sorted(_NOT_THE_MODELS.union(policy.headers).intersection(headers)):
        raise ToolError(
            "denied", f"the header {closed[0]!r} is not for a call to set", reason="header", field="headers"
        )
    body = body_of(arguments, headers)
    if policy.scope is None:
        raise ToolError("unavailable", "the tool has no base_url", reason="config")
    url = policy.scope.url_of(arguments["path"])
    if arguments["query"]:
        url = policy.require_url(with_params(url, arguments["query"], "query"))
    return HttpRequest(arguments["method"], policy.require_place(url), headers, body)
