"""The distribution passes the tests of every distribution of tools."""

from __future__ import annotations

from strands_tool_kit.testing import PackageContract


class TestSpecVerifyPackage(PackageContract):
    distribution = "strands-tool-spec-verify"
    tools = ("spec_verify",)
