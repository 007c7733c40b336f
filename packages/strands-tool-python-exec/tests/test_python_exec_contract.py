"""What every tool must do, python_exec does; needs strands-cli, which the tool itself does not."""

from __future__ import annotations

import pytest

from strands_tool_python_exec import _engine

testing = pytest.importorskip("strands_cli_dev")
pytestmark = pytest.mark.skipif(bool(_engine.verdict().reason), reason=_engine.verdict().reason or "it holds")


class TestPythonExec(testing.ToolContract):  # type: ignore[name-defined, misc]
    tool = "strands_tool_python_exec.python_exec"
    examples = (
        {"code": "sum(n * n for n in range(10))"},
        {"code": "print(open('a.txt').read())", "files": {"a.txt": "a"}, "timeout": 5},
        {"code": "1 / 0"},
        testing.Example({"code": "1", "files": {"../a": "a"}}, status="error"),
    )
