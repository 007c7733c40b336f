"""The distribution passes the tests of every distribution of tools."""

from __future__ import annotations

from strands_tool_kit.testing import PackageContract


class TestPythonExecPackage(PackageContract):
    distribution = "strands-tool-python-exec"
    tools = ("python_exec",)
