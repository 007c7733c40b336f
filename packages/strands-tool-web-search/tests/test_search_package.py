"""The distribution passes the tests of every distribution of tools."""

from __future__ import annotations

from strands_tool_kit.testing import PackageContract


class TestWebSearchPackage(PackageContract):
    distribution = "strands-tool-web-search"
    tools = ("duckduckgo_search", "tavily_search")
    not_imported = ("strands", "strands_cli", "pydantic")
