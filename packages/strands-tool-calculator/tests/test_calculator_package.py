"""The distribution passes the tests of every distribution of tools."""

from __future__ import annotations

from strands_tool_kit.testing import PackageContract


class TestCalculatorPackage(PackageContract):
    distribution = "strands-tool-calculator"
    tools = ("calculator",)
