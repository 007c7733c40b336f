"""What the program says where the distribution is not installed."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest

from strands_cli.engine.stored_runs.folder_store import FolderStore
from tests.without import Without, without

FLOW = """
version: 2
name: flow
runtime: {provider: replay, recording: turns.yaml}
agents: {writer: {prompt: You write.}}
pattern: {type: chain, config: {steps: [{type: hitl, prompt: Go?}, {agent: writer, input: go}]}}
"""
INSTALL = "pip install 'strands-cli[workers]'"


@pytest.fixture
def bare(tmp_path: Path) -> Without:
    """Return an environment without strands-cli-workers."""
    return without("strands-cli-workers", tmp_path)


def test_its_commands_say_what_to_install(bare: Without) -> None:
    for words in (
        ["workers", "submit", "flow.yaml"],
        ["workers", "start"],
        ["workers"],
        ["workers", "queue", "status"],
    ):
        ran = bare.strands(*words)
        assert (ran.returncode, INSTALL in ran.stderr) == (18, True), ran.stdout + ran.stderr


def test_nothing_else_misses_it(bare: Without) -> None:
    shown = bare.strands("--help")
    assert (shown.returncode, "strands-cli-workers" in shown.stdout) == (0, False), shown.stderr
    assert bare.strands("plugin", "list").returncode == 0
    assert "No module named 'strands_cli_workers'" in bare.run("-c", "import strands_cli_workers").stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a folder for runs as POSIX has it")
def test_a_submitted_run_stays_as_it_is_and_can_be_continued_here(bare: Without) -> None:
    (bare.work / "flow.yaml").write_text(FLOW)
    (bare.work / "turns.yaml").write_text("recording: 1\nsteps: {steps.1: [{text: done}]}\n")
    at = ("--runs-dir", str(bare.work / "runs"))
    assert bare.strands("run", "flow.yaml", "--detach", *at).returncode == 19
    store = FolderStore(bare.work / "runs")
    with contextlib.closing(store.open(store.find("last"))) as journal:
        journal.put(belongs_to="workers", ticket={"queue": "default"})

    refused = bare.strands("approve", "last", *at)

    assert (refused.returncode, INSTALL in refused.stderr) == (18, True), refused.stderr
    assert store.read(store.find("last")).status == "waiting"
    assert bare.strands("approve", "last", "--here", *at).returncode == 0
