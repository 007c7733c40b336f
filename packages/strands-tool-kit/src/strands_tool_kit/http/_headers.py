"""The headers of a request: which a model may set, and which travel to another origin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from strands_tool_kit import ToolError, __version__

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MAX_COUNT = 64
_MAX_BYTES = 16_384
# Message framing, routing and proxies belong to the client.
_CLOSED = frozenset(
    (
        "te",  # codespell:ignore te
        *("connection", "keep-alive", "trailer", "transfer-encoding", "upgrade", "host", "content-length"),
        *("expect", "accept-encoding", "via", "forwarded", "http2-settings", "alt-used", "max-forwards"),
        *("x-original-url", "x-rewrite-url", "x-http-method-override", "x-http-method", "x-method-override"),
        # The words that metadata services ask for as a proof that no proxy sent the request.
        *("metadata", "metadata-flavor", "x-google-metadata-request", "x-metadata-token"),
    )
)
_CLOSED_PREFIXES = ("proxy-", "x-aws-ec2-metadata", "x-forwarded-", "sec-")
# Headers that go along to another origin; everything else is dropped.
_HARMLESS = frozenset({"accept", "accept-language", "user-agent"})
STANDARD = {"accept": "*/*", "user-agent": f"strands-tool-kit/{__version__}"}


def require_headers(headers_in: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of a call in lower case, or raise for the first that may not be set.

    Raises:
        ToolError: `invalid_input` for a malformed one, `denied` for one that belongs to the client.
    """
    headers: dict[str, str] = {}
    for name, value in headers_in.items():
        lower = name.lower()
        if not _TOKEN.fullmatch(name):
            raise _bad_header(f"{name[:100]!r} is not a header name")
        if lower in _CLOSED or lower.startswith(_CLOSED_PREFIXES):
            raise ToolError("denied", f"the header {name!r} cannot be set", reason="header", field="headers")
        if not isinstance(value, str) or not value.isascii() or not value.isprintable():
            raise _bad_header(f"the value of {name!r} must be printable ASCII text")
        if lower in headers:
            raise _bad_header(f"the header {name!r} is given twice")
        headers[lower] = value.strip()
    if len(headers) > _MAX_COUNT or sum(len(name) + len(value) for name, value in headers.items()) > _MAX_BYTES:
        raise _bad_header(f"more than {_MAX_COUNT} headers or {_MAX_BYTES} bytes of them")
    return headers


def _bad_header(problem: str) -> ToolError:
    return ToolError("invalid_input", problem, reason="header", field="headers")


def for_other_origin(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that may go along when a redirect leads to another origin."""
    return {name: value for name, value in headers.items() if name in _HARMLESS}


def without_body(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers without those that describe a body."""
    return {name: value for name, value in headers.items() if not name.startswith("content-")}
