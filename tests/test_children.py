"""A program of ours ends in its time, and what it has started ends with it."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import pytest

from strands_cli.system.subprocesses import end_group, run_within

LEAVES_ONE = """import subprocess, sys
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid, flush=True)
"""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def ran(seconds: float, program: str) -> tuple[int | None, str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = run_within(seconds, [sys.executable, "-c", program], out, err)
        out.seek(0)
        return code, out.read().decode()


def gone(process: int) -> bool:
    """Return whether a process ends; the signal is sent already. One without a waiting parent has ended too."""
    status = Path(f"/proc/{process}/stat")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
    return False


def test_the_exit_code_comes_back_and_what_is_left_behind_is_ended() -> None:
    code, printed = ran(30, f"{LEAVES_ONE}raise SystemExit(7)")
    assert code == 7
    assert gone(int(printed))


def test_one_that_takes_too_long_has_no_code_and_leaves_nothing() -> None:
    code, printed = ran(1, f"{LEAVES_ONE}import time; time.sleep(60)")
    assert code is None
    assert gone(int(printed))


def test_what_cannot_be_started_says_so(tmp_path: Path) -> None:
    with tempfile.TemporaryFile() as out, pytest.raises(FileNotFoundError):
        run_within(1, [str(tmp_path / "absent")], out, out)


def test_a_group_that_is_over_can_be_ended_again() -> None:
    _, printed = ran(30, "import os; print(os.getpid())")
    end_group(int(printed))
