"""The workflow, played from its recording: what `strands plugin check` does, and the file that it writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from strands_cli import Workflow

PROJECT = Path(__file__).parent.parent
WORKFLOW = PROJECT / "src" / "strands_flow_your_minutes" / "workflows" / "minutes.yaml"


def test_the_package_is_sound() -> None:
    command = [sys.executable, "-m", "strands_cli", "plugin", "check", str(PROJECT), "--strict"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_the_minutes_are_written(tmp_path: Path) -> None:
    Workflow.from_file(WORKFLOW).run(runs_dir=tmp_path / "runs", out_dir=tmp_path / "out")
    assert "Decided: " in (tmp_path / "out" / "minutes.md").read_text(encoding="utf-8")
