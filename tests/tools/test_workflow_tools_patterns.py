"""Every pattern works inside a call: a workflow that is called as a tool answers what it answers by itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from strands_cli import Workflow
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.stored_runs.folder_store import FolderStore

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "patterns"
PATTERNS = sorted(path.stem for path in EXAMPLES.glob("*.yaml") if "." not in path.stem)


def keys_of(run_id: str) -> list[str]:
    journal = SqliteJournal.open(Path("runs") / FolderStore(Path("runs")).find(run_id), hold=False)
    try:
        return [row.key for row in journal.rows() if row.kind != "artifacts"]
    finally:
        journal.close()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_inside_a_call_does_what_it_does_by_itself(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLES, "parts")
    steps = f"[{{tool: 'workflow:./parts/{pattern}.yaml', input: {{}}}}]"
    Path("outer.yaml").write_text(
        "version: 2\nname: outer\nruntime: {provider: replay, recording: none.yaml}\n"
        "agents: {unused: {prompt: u, tools: []}}\n"
        f"pattern: {{type: chain, config: {{steps: {steps}}}}}\n"
    )
    Path("none.yaml").write_text("recording: 1\nsteps: {}\n")
    alone = Workflow.from_file(f"parts/{pattern}.yaml").run({}, answer="approved", runs_dir="runs", out_dir="out")
    inside = Workflow.from_file("outer.yaml").run({}, answer="approved", runs_dir="runs", out_dir="out")
    assert inside.response == alone.response
    assert (inside.model_calls, inside.usage) == (alone.model_calls, alone.usage)
    prefix = "steps.0/tool.0." + pattern
    below = [key.removeprefix(f"{prefix}/") for key in keys_of(inside.run_id) if key.startswith(f"{prefix}/")]
    assert sorted(below) == sorted(keys_of(alone.run_id))
