"""Calls of the tool, and the same code in a plain child process: the control that shows an attack is one."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strands_tool_python_exec.python_exec import python_exec

SECRET = "the-secret-outside"
PYTHON = getattr(sys, "_base_executable", None) or sys.executable


def call(code: str, *, config: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    """Return the JSON of a call that must have run the code."""
    result = python_exec({"toolUseId": "u", "input": {"code": code, **given}}, strands_cli={"config": config or {}})
    assert result["status"] == "success", result
    return result["content"][-1]["json"]


def refusal(state: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    """Return the error of a call that must not have run anything."""
    result = python_exec({"toolUseId": "u", "input": given}, strands_cli=state or {})
    assert result["status"] == "error", result
    return result["content"][-1]["json"]["error"]


def plain(code: str, folder: Path, timeout: float = 10) -> subprocess.CompletedProcess[bytes]:
    """Run code in a child process without any layer."""
    environment = {**os.environ, "STRANDS_TEST_SECRET": SECRET}
    command = [PYTHON, "-I", "-S", "-B", "-c", code]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=timeout, check=False)


@dataclass
class Outside:
    """What an attack reaches for: files, sockets and a process that are none of its business."""

    folder: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    names: dict[str, Any] = field(default_factory=dict)

    def reset(self) -> None:
        """Lay the files as they were."""
        for path in self.folder.glob("new*"):
            path.rmdir() if path.is_dir() else path.unlink()
        victim = self.folder / "victim.txt"
        victim.write_text(SECRET)
        victim.chmod(0o600)

    def is_unchanged(self) -> bool:
        victim = self.folder / "victim.txt"
        return (
            sorted(path.name for path in self.folder.iterdir()) == ["datagram", "stream", "victim.txt"]
            and victim.read_text() == SECRET
            and victim.stat().st_mode & 0o777 == 0o600
            and self.process is not None
            and self.process.poll() is None
        )
