"""The distribution passes the tests of every distribution of tools."""

from __future__ import annotations

from strands_tool_kit.testing import PackageContract


class TestFilesPackage(PackageContract):
    distribution = "strands-tool-files"
    tools = ("file_list", "file_read", "file_write", "grep", "head", "search", "tail")
