"""The workflow, played from its recording: what `strands plugin check` does, and the answer itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from strands_cli import Workflow

PROJECT = Path(__file__).parent.parent
WORKFLOW = PROJECT / "src" / "strands_flow_your_triage" / "workflows" / "triage.yaml"


def test_the_package_is_sound() -> None:
    command = [sys.executable, "-m", "strands_cli", "plugin", "check", str(PROJECT), "--strict"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_a_complaint_is_answered(tmp_path: Path) -> None:
    result = Workflow.from_file(WORKFLOW).run(runs_dir=tmp_path)
    assert result.response.startswith("We are sorry")
