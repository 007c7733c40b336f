"""A guarded HTTP client for tools: it reaches the public web and the places that the operator opened, within limits.

Needs the extra `http`: `pip install 'strands-tool-kit[http]'`.
"""

from __future__ import annotations

from strands_tool_kit.http._addresses import parse_address
from strands_tool_kit.http._exchange import HttpRequest, HttpResponse, exchange
from strands_tool_kit.http._headers import require_headers
from strands_tool_kit.http._policy import Limits, Policy
from strands_tool_kit.http._rules import HostRule
from strands_tool_kit.http._scope import UrlScope
from strands_tool_kit.http._text import decode_text, is_text, media_type
from strands_tool_kit.http._urls import port_of

__all__ = [
    "HostRule",
    "HttpRequest",
    "HttpResponse",
    "Limits",
    "Policy",
    "UrlScope",
    "decode_text",
    "exchange",
    "is_text",
    "media_type",
    "parse_address",
    "port_of",
    "require_headers",
]
