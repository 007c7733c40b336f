"""Calls of the tool, and the same code in a plain child process: the control that shows an attack is one."""

from __future__ import annotations

import marshal
import os
import select
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strands_tool_python_exec import _engine, _layers, _sandbox
from strands_tool_python_exec._pool import POOL
from strands_tool_python_exec._sandbox import Sandbox
from strands_tool_python_exec.python_exec import python_exec

_OFF = {"landlock": "_landlock.restrict", "seccomp": "_filter_calls", "limits": "_limit"}
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


def started_ahead() -> Sandbox:
    """Return a sandbox that waits for the next call, which somebody is starting."""
    until = time.monotonic() + 120
    while not POOL.spares:
        assert time.monotonic() < until, "no sandbox was started ahead"
        select.select([], [], [], 0.005)
    return POOL.spares[0]


def start_ahead() -> None:
    """Start a sandbox for calls without configuration, in this thread."""
    found = _engine.verdict()
    settings = _engine.settings_for(machine=found.machine, namespaces=found.namespaces)
    POOL.start(settings)
    assert POOL.spares


def program_without(*layers: str) -> bytes:
    """Return the child's program with some layers switched off."""
    off = "\n".join(f"{_OFF[layer]} = lambda *_: 0" for layer in layers)
    source = Path(_layers.__file__).read_text()
    changed = compile(f"{source}\n{off}", "_layers.py", "exec")
    parts = marshal.loads(_sandbox.program())
    return marshal.dumps([(name, changed if name.endswith("._layers") else code) for name, code in parts])


def plain(code: str, folder: Path, timeout: float = 120) -> subprocess.CompletedProcess[bytes]:
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
