"""The distribution passes the tests of every distribution of tools."""

from __future__ import annotations

from strands_tool_kit.testing import PackageContract


class TestHttpRequestPackage(PackageContract):
    distribution = "strands-tool-http-request"
    tools = ("http_executor", "http_request", "web_fetch")
    not_imported = ("strands", "strands_cli", "pydantic")
