"""`strands runs`: what it lists, shows, cancels and deletes, and what it leaves alone."""

from __future__ import annotations

import json
import re
import signal
import sys
import time

import pytest

from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.stored_runs.folder_store import FolderStore
from tests.cli.strands import Folder, Started
from tests.wordings import Wording

GATE = {"type": "hitl", "prompt": "Publish?"}
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")


def hanging(folder: Folder) -> Started:
    """Start a run that hangs in a tool."""
    folder.tool("hang", "import threading\nprint('hanging', flush=True)\nthreading.Event().wait()\nreturn answer('')")
    folder.workflow([{"tool": "native:hang", "input": {}}])
    run = folder.start("run", "flow.yaml")
    run.wait_for("| hanging")
    return run


def ids(folder: Folder) -> list[str]:
    return [run.id for run in reversed(FolderStore(folder.runs).runs()[0])]


def test_no_runs_are_an_empty_list(folder: Folder, wording: Wording) -> None:
    assert folder.strands("runs", "list", "--json").document == {
        "format": 1,
        "runs": [],
        "problems": [],
        "hidden_parts": 0,
    }
    ran = folder.strands("runs", "list")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (0, "", 1)
    wording(ran.err)


def test_the_list_has_the_shape_that_scripts_rely_on(folder: Folder) -> None:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "hi"}]})
    folder.strands("run", "flow.yaml")
    (done, waiting) = folder.strands("runs", "list", "--json").document["runs"]
    assert list(done) == [
        "id",
        "workflow",
        "status",
        "started_at",
        "ended_at",
        "pattern",
        "file",
        "reason",
        "record",
    ]
    assert (done["status"], waiting["status"]) == ("completed", "waiting"), "the newest comes first"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", done["started_at"])
    chosen = folder.strands("runs", "list", "--status", "waiting", "--json").document["runs"]
    assert chosen == [waiting]
    shown = folder.strands("runs", "list", "--limit", "1").out.splitlines()
    assert shown[0].split()[:5] == ["RUN", "STATUS", "STARTED", "DURATION", "WORKFLOW"]
    assert [line.split()[0] for line in shown[1:]] == [done["id"]]
    wrong = folder.strands("runs", "list", "--status", "complete")
    assert wrong.code == 2
    assert "'completed'" in wrong.err


def test_a_run_is_shown_with_its_effects_and_what_it_waits_for(folder: Folder) -> None:
    folder.workflow([{"agent": "writer", "input": "Write."}, GATE], {"steps.0": [{"text": "hi"}]})
    folder.strands("run", "flow.yaml")
    (run,) = ids(folder)
    shown = folder.strands("runs", "show", run)
    assert "status:    waiting" in shown.out
    assert f"strands approve {run} steps.1" in shown.out
    document = folder.strands("runs", "show", run, "--json").document
    assert [(row["key"], row["kind"], row["status"]) for row in document["effects"]] == [
        ("steps.0", "step", "done"),
        ("steps.0/model.0", "model", "done"),
        ("steps.1", "human", "waiting"),
    ]
    assert [(question["key"], question["prompt"]) for question in document["questions"]] == [("steps.1", "Publish?")]


def test_a_run_is_named_by_the_start_of_its_id_or_as_the_last(folder: Folder) -> None:
    folder.workflow([GATE])
    for _ in range(2):
        folder.strands("run", "flow.yaml")
    (_, newest) = ids(folder)
    assert folder.strands("runs", "show", "last", "--json").document["id"] == newest
    assert folder.strands("runs", "show", newest[:-1], "--json").document["id"] == newest
    assert folder.strands("approve", "last", "--json").document["run"] == newest
    assert folder.strands("runs", "delete", "last").err == f"{newest}: deleted\n"


def test_the_start_of_several_ids_names_them(folder: Folder, wording: Wording) -> None:
    folder.workflow([GATE])
    for _ in range(2):
        folder.strands("run", "flow.yaml")
    ran = folder.strands("runs", "show", "20")
    assert ran.code == 17
    assert all(name in ran.err for name in ids(folder))
    wording(ran.err)
    assert folder.strands("runs", "show", "").code == 17


@posix
def test_cancelling_ends_the_process_and_the_run_for_good(folder: Folder) -> None:
    run = hanging(folder)
    (name,) = ids(folder)
    assert folder.strands("runs", "list", "--json").document["runs"][0]["status"] == "running"
    assert folder.strands("runs", "delete", name).code == 17, "not while it runs"
    ran = folder.strands("runs", "cancel", name)
    assert (ran.code, ran.err.partition(": ")[0]) == (0, name)
    assert run.end().code == 143
    assert folder.record()["status"] == "cancelled"
    assert folder.strands("resume", name).code == 2
    again = folder.strands("runs", "cancel", name)
    assert (again.code, "is cancelled" in again.err) == (2, True)


@posix
def test_a_run_whose_process_was_killed_is_interrupted(folder: Folder) -> None:
    run = hanging(folder)
    run.send(signal.SIGKILL)
    run.end()
    assert folder.record()["status"] == "running", "it could not say so itself"
    assert folder.strands("runs", "list", "--json").document["runs"][0]["status"] == "interrupted"


def test_deleting_names_every_unknown_run_before_it_touches_one(folder: Folder) -> None:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    (name,) = ids(folder)
    assert folder.strands("runs", "delete", name, "nowhere").code == 17
    assert ids(folder) == [name]
    assert folder.strands("runs", "delete", name).code == 0
    assert ids(folder) == []


def test_pruning_takes_old_runs_that_have_ended(folder: Folder) -> None:
    folder.workflow([GATE])
    for _ in range(3):
        folder.strands("run", "flow.yaml")
    old_done, old_waiting, new_done = ids(folder)
    for name, status, days in ((old_done, "completed", 40), (old_waiting, "waiting", 40), (new_done, "completed", 1)):
        journal = SqliteJournal.open(folder.runs / name)
        journal.put(status=status, started_at=time.time() - days * 86400)
        journal.close()
    planned = folder.strands("runs", "prune", "--dry-run", "--json").document
    assert (planned["deleted"], planned["dry_run"], len(ids(folder))) == ([old_done], True, 3)
    assert folder.strands("runs", "prune").out == f"{old_done}: deleted\n1 run deleted\n"
    assert ids(folder) == [old_waiting, new_done]
    assert folder.strands("runs", "prune", "--older-than", "5d", "--status", "waiting").code == 0
    assert ids(folder) == [new_done]
    assert folder.strands("runs", "prune", "--older-than", "soon").code == 2


WRITER = {"writer": {"prompt": "You write.", "tools": ["native:file_write"]}}
WRITE = {"calls": [{"file_write": {"path": "note.txt", "content": "hello"}}]}


def test_a_finished_run_can_be_read(folder: Folder) -> None:
    both = {"calls": [*WRITE["calls"], {"file_write": {"path": "bees.txt", "content": "hello"}}]}
    turns = {"steps.0": [both, {"text": "The answer\x1b[31m.", "usage": [30, 12]}]}
    artifacts = {"artifacts": [{"path": "report.md", "from": "{{ last_response }}"}]}
    folder.workflow([{"agent": "writer", "input": "Write on bees."}], turns, agents=WRITER, outputs=artifacts)
    assert folder.strands("run", "flow.yaml", "--deny", "--allow", "file_write(path=bees.txt)").code == 0
    shown = folder.strands("runs", "show", "last").out
    for fact in (
        "model:     replay",
        "used:      2 model calls, 1 of 2 tool calls failed, 30 tokens in, 12 out",
        "wrote:     artifacts/report.md (",
        "denied:    file_write (1 call): ",
        "deny: the tool is destructive",
        "answer:\n  | The answer\\x1b[31m.",
    ):
        assert fact in shown
    assert "asked:\n" not in shown
    full = folder.strands("runs", "show", "last", "--full").out
    assert "asked:\n  | Write on bees." in full
    assert 'called: file_write {"path": "note.txt", "content": "hello"}' in full
    assert "| denied: file_write was not called" in full
    document = folder.strands("runs", "show", "last", "--json").document
    names = ("response", "models", "usage", "model_calls", "tool_calls", "cost_usd")
    assert [document[name] for name in names] == [
        "The answer\x1b[31m.",
        ["replay"],
        {"input_tokens": 30, "output_tokens": 12},
        2,
        2,
        0.0,
    ]
    assert [one["path"] for one in document["artifacts"]] == ["artifacts/report.md"]
    assert [(one["tool"], one["denied"]) for one in document["denials"]] == [("file_write", 1)]
    effects = {
        one["key"]: one for one in folder.strands("runs", "show", "last", "--full", "--json").document["effects"]
    }
    assert effects["steps.0/model.0"]["calls"][0]["arguments"] == {"path": "note.txt", "content": "hello"}
    assert effects["steps.0/model.1"]["text"] == "The answer\x1b[31m."


def test_a_run_whose_work_was_denied_is_shown_as_failed_and_wrote_nothing(folder: Folder) -> None:
    artifacts = {"artifacts": [{"path": "report.md", "from": "{{ last_response }}"}]}
    turns = {"steps.0": [WRITE, {"text": "The answer."}]}
    folder.workflow([{"agent": "writer", "input": "Write on bees."}], turns, agents=WRITER, outputs=artifacts)
    assert folder.strands("run", "flow.yaml", "--deny").code == 21
    shown = folder.strands("runs", "show", "last").out
    for fact in ("status:    failed", "reason:    denied", "1 of 1 tool call failed", "file_write (1 call): "):
        assert fact in shown
    assert "wrote:" not in shown
    assert not folder.strands("runs", "show", "last", "--json").document["artifacts"]
    assert not (folder.work / "artifacts").exists()


def test_no_effect_looks_as_if_it_were_worked_on_where_no_process_is(folder: Folder) -> None:
    runtime = {"provider": "replay", "recording": "flow.recording.yaml", "budgets": {"max_model_calls": 1}}
    turns = {"steps.0": [WRITE, {"text": "Done."}]}
    folder.workflow([{"agent": "writer", "input": "Write."}], turns, agents=WRITER, runtime=runtime)
    for option, code, status in (("--yes", 20, "stopped"), ("--detach", 19, "waiting")):
        ran = folder.strands("run", "flow.yaml", option)
        assert ran.code == code
        shown = folder.strands("runs", "show", "last").out
        assert re.search(rf"^steps\.0 +{status}\b", shown, re.MULTILINE)
        assert " started " not in shown
    assert ran.err.count("Allow writer to call file_write") == 2, "when it is asked, and where it waits"


def test_a_failed_step_shows_the_last_answer_of_its_model(folder: Folder) -> None:
    schema = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
    agents = {"writer": {"prompt": "You count.", "output_schema": schema}}
    folder.workflow(
        [{"agent": "writer", "input": "Count."}], {"steps.0": [{"text": "I would rather not."}] * 3}, agents=agents
    )
    assert folder.strands("run", "flow.yaml").code == 10
    shown = folder.strands("runs", "show", "last").out
    assert "failed: steps.0\n" in shown
    assert "  | I would rather not." in shown
    step = folder.strands("runs", "show", "last", "--json").document["effects"][0]
    assert step["model_answer"] == "I would rather not."
    assert step["error"]


def test_a_long_answer_is_cut_unless_everything_is_asked_for(folder: Folder) -> None:
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "word " * 1000 + "end"}]})
    folder.strands("run", "flow.yaml")
    short = folder.strands("runs", "show", "last").out
    assert "--full shows them" in short
    assert "end" not in short.rpartition("answer:")[2].split()
    assert folder.strands("runs", "show", "last", "--full").out.rstrip().endswith("word end")
    assert folder.strands("runs", "show", "last", "--json").document["response"].endswith("word end")
    assert "word end\n" in folder.strands("runs", "show", "last", "steps.0").out


def test_a_reason_of_several_lines_is_shown_as_lines(folder: Folder) -> None:
    folder.workflow([{**GATE, "prompt": "Publish\nwhat it says?"}], {})
    folder.strands("run", "flow.yaml")
    shown = folder.strands("runs", "show", "last").out
    assert "Publish\n          | what it says?" in shown.partition("started:")[0]


def test_a_call_in_earlier_words_is_shown_with_the_present_ones(folder: Folder) -> None:
    call = {"tool": "web_fetch", "input": {"url": "http://127.0.0.1:1/", "mode": "text"}, "on_error": "continue"}
    folder.workflow([call], inputs={"optional": {"flag": {"type": "boolean", "default": True}}})
    assert "flag = true\n" in folder.strands("plan", "flow.yaml").out
    folder.strands("run", "flow.yaml")
    lines = folder.strands("runs", "show", "last", "--full").out.splitlines()
    (shown,) = [line for line in lines if line.startswith("  | ") and "format" in line]
    assert json.loads(shown.removeprefix("  | "))["format"] == "text"
    effects = folder.strands("runs", "show", "last", "--full", "--json").document["effects"]
    (called,) = [one["called_with"] for one in effects if one["kind"] == "tool"]
    assert (called["format"], "mode" in called) == ("text", False)
