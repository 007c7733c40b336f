"""Who may read the files of a run: what it has seen, its user; what it was asked for, those whom the umask allows."""

from __future__ import annotations

import os
import sys

import pytest

from tests.cli.strands import Folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")


def test_events_traces_and_recordings_are_private_and_artifacts_are_not(folder: Folder) -> None:
    artifacts = [{"path": "report.md", "from": "{{ last_response }}"}]
    steps, turns = [{"agent": "writer", "input": "go"}], {"steps.0": [{"text": "done"}]}
    folder.workflow(steps, turns, outputs={"artifacts": artifacts})
    before = os.umask(0o022)
    try:
        words = ["--events", "events.jsonl", "--record", "again.yaml", "--trace", "--out", "."]
        ran = folder.run([sys.executable, "-m", "strands_cli", "run", "flow.yaml", *words])
    finally:
        os.umask(before)
    assert ran.code == 0, ran.err
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.work.iterdir() if path.is_file()}
    (trace,) = folder.work.glob("*.trace.json")
    private = {"events.jsonl", "again.yaml", trace.name}
    assert {name: modes[name] for name in private} == dict.fromkeys(private, 0o600)
    assert modes["report.md"] == 0o644
