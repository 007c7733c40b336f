"""`strands runs artifacts`: the files of a run are listed, printed and written, wherever they were written first."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import platform
import shlex
from pathlib import Path
from typing import Any

import pytest

from strands_cli import Workflow
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.errors import ArtifactError
from tests.cli.strands import Folder

STEP = {"agent": "writer", "input": "go"}
GATE = {"type": "hitl", "prompt": "Publish?"}
FILES = {"artifacts": [{"path": "sub/a.md", "from": "{{ last_response }}"}, {"path": "b.txt", "from": "b"}]}
TEXT = "no end of a line, \x1b[31m and \u202e"
ELSEWHERE = {"host": "other-machine", "folder": "/srv/runs/1", "worker": "one-1"}


@pytest.fixture
def ran(folder: Folder) -> Folder:
    """A folder with one complete run, which has written two files."""
    folder.workflow([STEP], {"steps.0": [{"text": TEXT}]}, outputs=FILES)
    assert folder.strands("run", "flow.yaml", "--out", "out").code == 0
    return folder


def stored(folder: Folder, texts: dict[str, str], written: dict[str, str] | None = None, **facts: Any) -> str:
    """Make a complete run whose journal keeps the texts of its files; return its id."""
    name = "20260101-000000-aaaaaa"
    files = [
        {"path": f"artifacts/{path}", "digest": hashlib.sha256(text.encode()).hexdigest(), "size": len(text.encode())}
        for path, text in (written or texts).items()
    ]
    row = Row("artifacts", "artifacts", "done", "d", output=list(texts.items()), detail={"written": files})
    with contextlib.closing(SqliteJournal.create(folder.runs / name)) as journal:
        base = {"file": "f", "base_dir": str(folder.work), "workflow": "made", "status": "completed", "started_at": 1.0}
        journal.put(**{**base, "worked_on": ELSEWHERE, **facts})
        asyncio.run(journal.write(row))
    return name


def files_below(folder: Path) -> dict[str, str]:
    return {str(one.relative_to(folder)): one.read_text() for one in folder.rglob("*") if one.is_file()}


def test_the_files_of_a_run_are_listed_with_their_digests_and_their_place(ran: Folder) -> None:
    document = ran.strands("runs", "artifacts", "last", "--json").document
    listed = ran.strands("runs", "artifacts", "last")

    assert document["worked_on"] == {"machine": platform.node(), "folder": str(ran.work), "worker": ""}
    assert [(one["path"], one["stored"]) for one in document["artifacts"]] == [
        ("out/sub/a.md", False),
        ("out/b.txt", False),
    ]
    for one in document["artifacts"]:
        content = (ran.work / one["path"]).read_bytes()
        assert (one["digest"], one["size"]) == (hashlib.sha256(content).hexdigest(), len(content))
        assert one["digest"] in listed.out


@pytest.mark.parametrize("path", ["out/sub/a.md", "sub/a.md"])
def test_one_file_is_printed_to_a_pipe_byte_for_byte(ran: Folder, path: str) -> None:
    assert ran.strands("runs", "artifacts", "last", path).out == TEXT
    assert ran.strands("runs", "artifacts", "last", path, "--json").document["text"] == TEXT


@pytest.mark.terminals
def test_a_terminal_gets_no_character_of_a_file_that_it_acts_on(ran: Folder) -> None:
    with ran.terminal("runs", "artifacts", "last", "sub/a.md") as terminal:
        assert terminal.end() == 0
    assert "\x1b[31m" not in terminal.text


def test_the_files_are_written_as_the_run_itself_would(ran: Folder) -> None:
    assert ran.strands("runs", "artifacts", "last", "-o", "fetched").code == 0
    assert files_below(ran.work / "fetched") == {"sub/a.md": TEXT, "b.txt": "b"}

    ran.write("fetched/b.txt", "mine")
    again = ran.strands("runs", "artifacts", "last", "-o", "fetched")
    assert (again.code, again.codes) == (12, ["artifact-exists"])
    assert (ran.work / "fetched" / "b.txt").read_text() == "mine"

    forced = ran.strands("runs", "artifacts", "last", "-o", "fetched", "--force", "--json").document
    assert [one["path"] for one in forced["written"]] == ["fetched/sub/a.md", "fetched/b.txt"]
    assert (ran.work / "fetched" / "b.txt").read_text() == "b"


def test_one_file_is_written_alone(ran: Folder) -> None:
    assert ran.strands("runs", "artifacts", "last", "b.txt", "-o", "one").code == 0
    assert files_below(ran.work / "one") == {"b.txt": "b"}


def test_no_link_is_followed_out_of_the_directory(ran: Folder) -> None:
    (ran.work / "fetched").mkdir()
    (ran.work / "outside").mkdir()
    (ran.work / "fetched" / "sub").symlink_to(ran.work / "outside")

    assert ran.strands("runs", "artifacts", "last", "-o", "fetched").code == 12
    assert files_below(ran.work / "outside") == {}


def test_a_protected_name_is_not_written(folder: Folder) -> None:
    stored(folder, {".github/workflows/x.yml": "on: push"})

    refused = folder.strands("runs", "artifacts", "last", "-o", "here")

    assert refused.code == 12
    assert not (folder.work / "here" / ".github").exists()


def test_texts_in_the_store_are_fetched_where_another_machine_wrote_the_files(folder: Folder) -> None:
    stored(folder, {"a.md": "of a worker"})

    document = folder.strands("runs", "artifacts", "last", "--json").document

    assert document["worked_on"] == {"machine": "other-machine", "folder": "/srv/runs/1", "worker": "one-1"}
    assert [one["stored"] for one in document["artifacts"]] == [True]
    assert folder.strands("runs", "artifacts", "last", "artifacts/a.md").out == "of a worker"
    assert folder.strands("runs", "artifacts", "last", "-o", "here").code == 0
    assert files_below(folder.work / "here") == {"a.md": "of a worker"}


def test_a_text_that_is_not_what_was_written_is_not_used(folder: Folder) -> None:
    stored(folder, {"a.md": "changed"}, written={"a.md": "written"})

    assert folder.strands("runs", "artifacts", "last", "a.md").code == 17
    assert folder.strands("runs", "artifacts", "last", "-o", "here").code == 17
    assert not (folder.work / "here").exists()


def test_views_of_a_run_whose_journal_keeps_the_texts_have_what_was_written(folder: Folder) -> None:
    run_id = stored(folder, {"a.md": "a long text"})
    digest = hashlib.sha256(b"a long text").hexdigest()

    shown = folder.strands("runs", "show", run_id, "--json").document
    effect = folder.strands("runs", "show", run_id, "artifacts", "--json").document

    assert shown["artifacts"] == effect["json"] == [{"path": "artifacts/a.md", "digest": digest, "size": 11}]


def test_a_file_that_has_changed_is_not_what_the_run_wrote_and_a_new_run_writes_it_again(ran: Folder) -> None:
    ran.write("out/b.txt", "changed")

    refused = ran.strands("runs", "artifacts", "last", "b.txt")

    assert refused.code == 12
    command = shlex.split(refused.err.partition(": strands ")[2])
    again = ran.strands(*command)
    assert again.code == 0, again.err
    assert (ran.work / "again" / "b.txt").read_text() == "b"
    assert ran.strands("runs", "show", "last", "--json").document["model_calls"] == 0


def test_a_file_of_another_machine_that_no_store_has_is_named_with_its_place(ran: Folder) -> None:
    (directory,) = (one for one in ran.runs.iterdir() if one.is_dir())
    with contextlib.closing(SqliteJournal.open(directory)) as journal:
        journal.put(worked_on=ELSEWHERE)

    refused = ran.strands("runs", "artifacts", "last", "b.txt")

    assert refused.code == 12
    assert "/srv/runs/1/out/b.txt from other-machine" in refused.err


def test_a_path_that_is_mistyped_is_answered_with_the_one_that_is_meant(ran: Folder) -> None:
    refused = ran.strands("runs", "artifacts", "last", "sub/b.md")

    assert refused.code == 2
    assert "'sub/a.md'" in refused.err


def test_a_run_that_waits_has_no_files_yet_and_the_error_has_the_command_that_answers_it(folder: Folder) -> None:
    folder.workflow([STEP, GATE], {"steps.0": [{"text": "one"}]}, outputs=FILES)
    run_id = folder.strands("run", "flow.yaml", "--detach", "--json").document["run"]

    for words in ((), ("-o", "here"), ("b.txt",)):
        refused = folder.strands("runs", "artifacts", "last", *words)
        assert refused.code == 12
        assert f"strands approve {run_id} steps.1" in refused.err

    assert folder.strands("approve", run_id).code == 0
    assert folder.strands("runs", "artifacts", "last", "b.txt").out == "b"


def test_a_workflow_without_artifacts_has_none(folder: Folder) -> None:
    folder.workflow([STEP], {"steps.0": [{"text": "one"}]})
    folder.strands("run", "flow.yaml")

    assert folder.strands("runs", "artifacts", "last", "--json").document["artifacts"] == []
    assert folder.strands("runs", "artifacts", "last").code == 0
    assert folder.strands("runs", "artifacts", "last", "-o", "here").code == 12
    assert folder.strands("runs", "artifacts", "last", "a.md").code == 12


def test_force_without_a_directory_and_stdout_as_a_directory_are_refused(ran: Folder) -> None:
    assert ran.strands("runs", "artifacts", "last", "--force").code == 2

    refused = ran.strands("runs", "artifacts", "last", "b.txt", "-o", "-")
    assert refused.code == 2
    assert ran.strands(*shlex.split(refused.err.partition(": strands ")[2])).out == "b"
    assert not (ran.work / "-").exists()


def test_a_run_says_where_it_was_worked_on_if_that_was_not_here(folder: Folder, ran: Folder) -> None:
    place = {"machine": platform.node(), "folder": str(ran.work), "worker": ""}
    assert ran.strands("runs", "show", "last", "--json").document["worked_on"] == place
    assert "worked on:" not in ran.strands("runs", "show", "last").out

    run_id = stored(folder, {"a.md": "text"})

    assert "worked on: other-machine, in /srv/runs/1, by the worker one-1\n" in ran.strands("runs", "show", run_id).out


def test_a_run_that_only_looks_complete_again_stays_where_it_was_worked_on(ran: Folder) -> None:
    (directory,) = (one for one in ran.runs.iterdir() if one.is_dir())
    with contextlib.closing(SqliteJournal.open(directory)) as journal:
        journal.put(worked_on=ELSEWHERE)

    assert ran.strands("resume", "last").code == 0

    assert ran.strands("runs", "show", "last", "--json").document["worked_on"]["machine"] == "other-machine"


def test_a_program_gets_the_files_of_a_run(ran: Folder, tmp_path: Path) -> None:
    a, b = Workflow.artifacts("last", runs_dir=ran.runs)

    assert (a.path, a.name, a.stored, a.read()) == ("out/sub/a.md", "sub/a.md", False, TEXT)
    assert b.write(tmp_path / "new") == tmp_path / "new" / "b.txt"
    assert (tmp_path / "new" / "b.txt").read_text() == "b"
    (tmp_path / "new" / "b.txt").write_text("mine")
    with pytest.raises(ArtifactError):
        b.write(tmp_path / "new")
    b.write(tmp_path / "new", force=True)
    assert (tmp_path / "new" / "b.txt").read_text() == "b"
