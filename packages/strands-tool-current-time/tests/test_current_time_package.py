"""The distribution passes the tests of every distribution of tools."""

from __future__ import annotations

from strands_tool_kit.testing import PackageContract


class TestCurrentTimePackage(PackageContract):
    distribution = "strands-tool-current-time"
    tools = ("current_time",)
