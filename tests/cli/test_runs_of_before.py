"""Runs that were stored when the present format was version 1: their workflows keep their meaning."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from strands_cli import app
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.planning.run_request import RunRequest
from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document_reader import FileSnapshot, read_document
from tests.cli.strands import Folder

FLOW = """version: 2
name: begun
runtime: {provider: replay, recording: turns.yaml}
agents:
  writer: {prompt: You write., tools: ["workflow:./part.yaml"]}
pattern:
  type: chain
  config:
    steps:
      - {agent: writer, input: "Write. {{ 'abcdef ghij' | truncate(8) }}"}
      - {type: hitl, prompt: "Publish?"}
      - {agent: writer, input: "Again after {{ steps[0].response }}"}
"""
PART = """version: 2
name: part
description: Does a part.
runtime: {provider: replay, recording: turns.yaml}
agents: {inner: {prompt: You help.}}
pattern: {type: chain, config: {steps: [{agent: inner, input: go}]}}
"""
TURNS = "recording: 1\nsteps: {steps.0: [{text: one}], steps.2: [{text: two}]}\n"
# As they were when the present format was version 1.
FLOW_BEFORE, PART_BEFORE = (text.replace("version: 2", "version: 1") for text in (FLOW, PART))
# As the program computed it that stored such runs.
DIGEST = "fa002af942c8e1761a6637c3231b8400567a8c405104505be3ec51997f5e5a56"


@pytest.fixture
def begun(folder: Folder) -> str:
    """Return the id of a run that waits for a person, as it was stored before: without the version of its format."""
    for name, text in (("flow.yaml", FLOW), ("part.yaml", PART)):
        folder.write(name, text)
    folder.write("turns.yaml", TURNS)
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    (directory,) = (path for path in folder.runs.iterdir() if (path / "journal.sqlite").is_file())
    with closing(SqliteJournal.open(directory)) as journal:
        assert journal.get("format_version") == 2
        files = {name: text.replace("version: 2", "version: 1") for name, text in journal.get("files").items()}
        journal.put(text=FLOW_BEFORE, files=files, plan_digest=DIGEST, format_version=None)
    folder.write("flow.yaml", FLOW_BEFORE)
    folder.write("part.yaml", PART_BEFORE)
    return directory.name


def format_version(folder: Folder, run: str) -> int | None:
    with closing(SqliteJournal.open(folder.runs / run, hold=False)) as journal:
        version: int | None = journal.get("format_version")
    return version


def test_it_is_resumed(folder: Folder, begun: str) -> None:
    ran = folder.strands("approve", begun, "steps.1")
    assert (ran.code, ran.out) == (0, "two\n"), ran.err


def test_it_goes_on_with_a_corrected_file_of_either_version(folder: Folder, begun: str) -> None:
    folder.write("flow.yaml", FLOW_BEFORE.replace("Publish?", "Publish now?"))
    assert folder.strands("resume", begun, "--spec", "flow.yaml", "--detach").code == 19
    folder.write("flow.yaml", FLOW)
    ran = folder.strands("resume", begun, "--spec", "flow.yaml", "--detach")
    assert ran.code == 19, ran.err
    assert folder.strands("approve", begun, "steps.1").out == "two\n"


def test_a_new_run_of_it_reads_the_file_in_the_same_way(folder: Folder, begun: str) -> None:
    ran = folder.strands("runs", "rerun", begun, "--from", "steps.1", "--detach")
    assert ran.code == 19, ran.err
    (new,) = (path.name for path in folder.runs.iterdir() if (path / "journal.sqlite").is_file() and path.name != begun)
    assert format_version(folder, new) == 1
    assert folder.strands("approve", new, "steps.1").out == "two\n"


def test_the_digest_is_that_of_the_program_of_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("part.yaml", PART_BEFORE), ("turns.yaml", TURNS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    loaded = load_spec(read_document("flow.yaml", FLOW_BEFORE), FileSnapshot(tmp_path, format_version=1))
    assert app.plan(loaded, RunRequest()).digest == DIGEST
