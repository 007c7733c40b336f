"""`strands runs show`: the tree of a run, one effect of it as a whole, and a run that is followed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import signal
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.events import Usage
from tests.cli.strands import Folder
from tests.wordings import Wording

GATE = {"type": "hitl", "prompt": "Publish?"}
WRITER = {"writer": {"prompt": "You write.", "tools": ["native:file_write"]}}
WRITE = {"calls": [{"file_write": {"path": "note.txt", "content": "hello"}}], "usage": [10, 5]}
TURNS = {"steps.0": [WRITE, {"text": "The answer\x1b[31m\u202e.", "usage": [30, 12]}]}
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A folder with one run: a step whose call was denied, and a gate that waits."""
    folder = Folder(tmp_path_factory.mktemp("ran"))
    folder.work.mkdir()
    folder.site.mkdir()
    folder.workflow([{"agent": "writer", "input": "Write on bees."}, GATE], TURNS, agents=WRITER)
    assert folder.strands("run", "flow.yaml", "--deny").code == 19
    return folder


def made(folder: Folder, rows: list[Row], name: str = "20260101-000000-aaaaaa", **facts: Any) -> SqliteJournal:
    """Make a run with these rows, and return its open journal."""
    journal = SqliteJournal.create(folder.runs / name)
    journal.put(**{"file": "f", "base_dir": str(folder.work), "workflow": "made", "status": "completed", **facts})
    journal.put(started_at=1.0)
    write(journal, *rows)
    return journal


def write(journal: SqliteJournal, *rows: Row) -> None:
    async def fill() -> None:
        for row in rows:
            journal.note(row)

    asyncio.run(fill())


def tree_in(text: str) -> list[str]:
    """Return the lines of the tree without its heads."""
    return text.partition("\nEFFECT ")[2].partition("\n\n")[0].splitlines()[1:]


def test_the_tree_tells_what_was_asked_called_decided_answered_and_what_waits(ran: Folder) -> None:
    lines = tree_in(ran.strands("runs", "show", "last").out)
    assert [line.split()[:2] for line in lines] == [
        ["steps.0", "done"],
        ["model.0", "done"],
        ["tool.0.file_write", "failed"],
        ["model.1", "done"],
        ["steps.1", "waiting"],
    ]
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 2, 2, 2, 0]
    for line, told in zip(
        lines, ("Write on bees.", '{"path": "note.txt"', "deny: ", "\\x1b[31m\\u202e.", "Publish?"), strict=True
    ):
        assert told in line


def test_an_effect_is_shown_whole_and_only_by_its_own_row(ran: Folder, tmp_path: Path) -> None:
    other = Folder(shutil.copytree(ran.root, tmp_path / "copy"))
    (directory,) = other.runs.iterdir()
    with contextlib.closing(sqlite3.connect(directory / "journal.sqlite")) as database, database:
        database.execute("UPDATE effects SET output = '{', detail = '{' WHERE key != 'steps.0/tool.0.file_write'")
    shown = other.strands("runs", "show", "last", "steps.0/tool.0.file_write")
    assert shown.code == 0
    for told in ("status:       failed", "decision:     deny", '|   "content": "hello"', "error_code ".strip()):
        assert told.replace("_", " ") in shown.out.replace("_", " ")
    document = other.strands("runs", "show", "last", "steps.0/tool.0.file_write", "--json").document
    named = ("role", "state", "who", "parent", "decision", "error_code", "arguments")
    arguments = {"path": "note.txt", "content": "hello"}
    assert [document[name] for name in named[:-1]] == ["tool", "failed", "file_write", "steps.0", "deny", "denied"]
    assert arguments.items() <= document["arguments"].items()


def test_what_waits_is_shown_with_the_commands_that_answer_it(ran: Folder) -> None:
    shown = ran.strands("runs", "show", "last", "steps.1").out
    assert "| Publish?" in shown
    (run,) = (directory.name for directory in ran.runs.iterdir())
    assert [line.split()[:4] for line in shown.splitlines()[-2:]] == [
        ["strands", verb, run, "steps.1"] for verb in ("approve", "reject")
    ]


def test_a_key_that_there_is_not_is_an_error_with_the_one_that_is_meant(ran: Folder, wording: Wording) -> None:
    wrong = ran.strands("runs", "show", "last", "steps.0/tool.0.filewrite")
    assert (wrong.code, wrong.out) == (17, "")
    assert "'steps.0/tool.0.file_write'" in wrong.err
    both = ran.strands("runs", "show", "last", "steps.0", "--follow")
    assert both.code == 2
    wording(both.err)


def test_a_part_of_keys_is_an_error_with_the_keys_below_it(folder: Folder, wording: Wording) -> None:
    made(folder, [Row("nodes.a/steps.0", "step", "done", "d")]).close()
    wrong = folder.strands("runs", "show", "last", "nodes.a")
    assert wrong.code == 17
    wording(wrong.err)


def test_effects_say_as_json_what_they_are_and_what_they_are_below(ran: Folder) -> None:
    effects = ran.strands("runs", "show", "last", "--json").document["effects"]
    assert [(one["role"], one["state"], one["who"], one["parent"]) for one in effects] == [
        ("step", "done", "writer", None),
        ("model", "done", "writer", "steps.0"),
        ("tool", "failed", "file_write", "steps.0"),
        ("model", "done", "writer", "steps.0"),
        ("gate", "waiting", "person", None),
    ]


def test_a_long_tree_is_cut_but_shows_what_went_wrong_and_says_how_to_see_all(folder: Folder) -> None:
    rows = [Row(f"steps.{n}", "step", "done", "d", output={"response": "ok"}) for n in range(1000)]
    rows[500] = Row("steps.500", "step", "failed", "d", detail={"error": "it broke"})
    made(folder, rows, status="failed").close()
    shown = folder.strands("runs", "show", "last").out
    lines = tree_in(shown)
    assert len(lines) < 200
    gaps = [int(line.split()[1]) for line in lines if line.startswith("...")]
    assert len(lines) - len(gaps) + sum(gaps) == 1000
    assert any(line.startswith("steps.500") and "it broke" in line for line in lines)
    assert "all 1000 effects: strands runs show 20260101-000000-aaaaaa --full" in shown
    assert len(tree_in(folder.strands("runs", "show", "last", "--full").out)) == 1000


def test_a_cost_that_is_not_known_is_never_a_number(folder: Folder) -> None:
    said = {"events": [{"contentBlockDelta": {"delta": {"text": "Hi."}}}]}
    model = Row("steps.0/model.0", "model", "done", "d", output=said, usage=Usage(3, 1), detail={"model": "m"})
    rows = [Row("steps.0", "step", "done", "d"), model, replace(model, key="steps.0/model.1", cost=0.00000001)]
    made(folder, rows).close()
    shown = folder.strands("runs", "show", "last").out
    assert "$0.0000" not in shown
    assert [line.split()[3] for line in tree_in(shown)] == ["?", "?", "<$0.0001"]
    assert folder.strands("runs", "show", "last", "steps.0", "--json").document["cost_usd"] is None


@pytest.mark.terminals
@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize("columns", [40, 80, 140])
def test_no_line_of_the_tree_is_longer_than_the_terminal(folder: Folder, columns: int) -> None:
    deep = "/".join(f"nodes.漢字{n}" for n in range(12))
    detail = {"decision": "allow", "rule": "漢" * 200, "arguments": {"text": "\x1b[31m" * 40}}
    rows = [Row("steps.0", "step", "done", "d"), Row(f"{deep}/tool.0.look", "tool", "done", "d", detail=detail)]
    made(folder, rows).close()
    with folder.terminal("runs", "show", "last", columns=columns) as terminal:
        assert terminal.end() == 0
    assert "\x1b" not in terminal.text
    shown = terminal.text.replace("\r\n", "\n")
    assert len(tree_in(shown)) >= 14
    from strands_cli.cli.terminal_text import fitted

    assert max(fitted(line, 10_000)[1] for line in tree_in(shown)) <= columns


def test_a_damaged_row_is_shown_as_such_among_the_others(ran: Folder, tmp_path: Path) -> None:
    other = Folder(shutil.copytree(ran.root, tmp_path / "copy"))
    (directory,) = other.runs.iterdir()
    with contextlib.closing(sqlite3.connect(directory / "journal.sqlite")) as database, database:
        database.execute("UPDATE effects SET detail = '{' WHERE key = 'steps.0/model.0'")
        database.execute("UPDATE effects SET output = '{' WHERE key = 'steps.0/model.1'")
    lines = tree_in(other.strands("runs", "show", "last").out)
    assert [line.split()[1] for line in lines] == ["done", "damaged", "failed", "damaged", "waiting"]
    effects = other.strands("runs", "show", "last", "--json").document["effects"]
    assert [one["key"] for one in effects if "damage" in one] == ["steps.0/model.0"]
    assert other.strands("runs", "show", "last", "steps.0/model.0", "--json").document["damage"]
    assert other.strands("runs", "show", "last", "--follow").code == 0


def test_a_run_that_has_ended_is_followed_at_once(ran: Folder) -> None:
    shown = ran.strands("runs", "show", "last", "--follow").out.splitlines()
    keys = [line.split()[2] for line in shown[1:6]]
    assert sorted(keys) == sorted(
        ["steps.0", "steps.0/model.0", "steps.0/tool.0.file_write", "steps.0/model.1", "steps.1"]
    )
    assert any(line.startswith("strands approve ") for line in shown)
    lines = [json.loads(line) for line in ran.strands("runs", "show", "last", "-f", "--json").out.splitlines()]
    assert [list(line) for line in lines] == [["effect"]] * 5 + [["run"]]
    assert (lines[-1]["run"]["status"], lines[-1]["run"]["questions"][0]["key"]) == ("waiting", "steps.1")


@pytest.fixture
def growing(folder: Folder) -> Iterator[SqliteJournal]:
    """A run that this process works on."""
    with contextlib.closing(made(folder, [Row("steps.0", "step", "started", "d")], status="running")) as journal:
        yield journal


def lines_of(folder: Folder, *options: str) -> Any:
    """Follow the run, and return the process with an iterator over what it prints."""
    started = folder.start("runs", "show", "last", "--follow", "--json", *options)
    assert started.process.stdout is not None
    return started, map(json.loads, started.process.stdout)


def test_a_running_run_is_followed_until_it_ends(folder: Folder, growing: SqliteJournal) -> None:
    started, lines = lines_of(folder)
    assert next(lines)["effect"]["state"] == "running"
    write(growing, Row("steps.0/model.0", "model", "started", "d"))
    assert next(lines)["effect"]["key"] == "steps.0/model.0"
    write(growing, Row("steps.0/model.0", "model", "done", "d"))
    assert next(lines)["effect"]["state"] == "done"
    write(growing, Row("steps.0", "step", "done", "d", output={"response": "Done."}))
    assert next(lines)["effect"]["response"] == "Done."
    growing.put(status="completed", response="Done.")
    assert [(line["run"]["status"], line["run"]["response"]) for line in lines] == [("completed", "Done.")]
    assert started.end().code == 0


def test_a_followed_run_whose_process_ends_without_a_word_is_interrupted(
    folder: Folder, growing: SqliteJournal
) -> None:
    started, lines = lines_of(folder)
    next(lines)
    growing.close()
    assert [line["run"]["status"] for line in lines if "run" in line] == ["interrupted"]
    assert started.end().code == 0


def test_what_a_killed_run_has_cost_and_how_long_it_took_is_not_claimed_to_be_known(folder: Folder) -> None:
    rows = [Row("steps.0", "step", "started", "d", started_at=1.0), Row("steps.0/model.0", "model", "started", "d")]
    made(folder, rows, status="running", session_started_at=1.0).close()
    shown = folder.strands("runs", "show", "last").out
    facts = dict(line.split(":", 1) for line in shown.partition("\n\n")[0].splitlines())
    assert facts["used"].split(", ")[-1].startswith("1 model call ")
    assert re.search(r"at least [0-9]", facts["duration"])
    assert re.search(r"at least [0-9]", folder.strands("runs", "list").out)


def test_a_followed_run_that_is_deleted_is_an_error(folder: Folder, growing: SqliteJournal, wording: Wording) -> None:
    started, lines = lines_of(folder)
    next(lines)
    shutil.rmtree(growing.directory)
    ran = started.end()
    assert ran.code == 17
    wording(ran.err)


@posix
@pytest.mark.kills
def test_a_followed_run_whose_process_is_killed_is_interrupted(folder: Folder) -> None:
    folder.tool("hang", "import threading\nprint('hanging', flush=True)\nthreading.Event().wait()\nreturn answer('')")
    folder.workflow([{"tool": "native:hang", "input": {}}])
    run = folder.start("run", "flow.yaml")
    run.wait_for("| hanging")
    assert "--follow" in folder.strands("runs", "show", "last").out.splitlines()[-2]
    started, lines = lines_of(folder)
    assert {next(lines)["effect"]["state"] for _ in range(2)} == {"running"}
    run.send(signal.SIGKILL)
    run.end()
    ended = list(lines)
    assert [line["effect"]["state"] for line in ended[:-1]] == ["stopped", "stopped"]
    assert ended[-1]["run"]["status"] == "interrupted"
    assert started.end().code == 0
    assert "strands resume " in folder.strands("runs", "show", "last").out


@posix
def test_following_stops_with_ctrl_c(folder: Folder, growing: SqliteJournal) -> None:
    started, lines = lines_of(folder)
    next(lines)
    started.send(signal.SIGINT)
    assert started.end().code == 130
    assert growing.get("status") == "running"
