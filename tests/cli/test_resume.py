"""Runs that stop and go on in other processes: killed, waiting, rejected, undecided, raised, started again."""

from __future__ import annotations

import json
import re
import shlex
import signal
import sqlite3
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from strands_cli import Workflow
from strands_cli.config import account_name
from strands_cli.engine.folder_lock import hold_run
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli.errors import UsageError
from tests.cli.strands import SECONDS, Folder, Ran
from tests.distributions import make_distribution
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording

LIVE = {"provider": "openai", "model_id": "m"}
GATE = {"type": "hitl", "prompt": "Publish?"}
WRITE = ("file_write", {"path": "note.txt", "content": "hello"})
WRITER = {"writer": {"prompt": "You write.", "tools": ["native:file_write"]}}
TWO_STEPS = [{"agent": "writer", "input": "One."}, {"agent": "writer", "input": "Two after {{ last_response }}"}]
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")


def last_message(request: dict[str, Any]) -> str:
    """Return what the last message of a request says."""
    content = request["messages"][-1]["content"]
    return content if isinstance(content, str) else " ".join(part["text"] for part in content)


def live(server: ModelServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url}


def run_id(folder: Folder) -> str:
    """Return the id of the newest run."""
    readable, _ = FolderStore(folder.runs).runs()
    return readable[0].id if readable else max(entry.name for entry in folder.runs.iterdir())


def offered(ran: Ran, verb: str) -> list[list[str]]:
    """Return the commands that a message names, as words without `strands`."""
    lines = [line.strip().removeprefix("next:").strip() for line in ran.err.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith(f"strands {verb} ")]


def finished(folder: Folder) -> list[tuple[str, bool]]:
    """Return the steps that ended well, by `events.jsonl`, and whether the record answered them."""
    events = map(json.loads, (folder.work / "events.jsonl").read_text(encoding="utf-8").splitlines())
    return [(event["key"], event["replayed"]) for event in events if event["event"] == "StepFinished"]


def status(folder: Folder) -> str:
    listed = folder.strands("runs", "list", "--json").document["runs"]
    return str(listed[0]["status"])


def killed_in_the_second_step(folder: Folder, server_answers: list[str]) -> ModelServer:
    """Start a run of two steps and kill it while the second one's model keeps silent."""
    asked = threading.Event()

    def answer(request: dict[str, Any]) -> Turn:
        server_answers.append(last_message(request))
        if len(server_answers) == 2:
            asked.set()
            return Turn("too late", delay_s=3600)
        return Turn(f"answer {len(server_answers)}")

    server = ModelServer(answer)
    server.__enter__()
    run = folder.start("run", "flow.yaml", **live(server))
    assert asked.wait(SECONDS)
    run.send(signal.SIGKILL)
    run.end()
    return server


@pytest.mark.kills
@posix
def test_a_killed_run_goes_on_without_repeating_a_call(folder: Folder) -> None:
    folder.workflow(TWO_STEPS, runtime=LIVE)
    requests: list[str] = []
    server = killed_in_the_second_step(folder, requests)
    try:
        assert status(folder) == "interrupted"
        ran = folder.strands("resume", run_id(folder), "--events", "events.jsonl", **live(server))
    finally:
        server.__exit__()
    assert (ran.code, ran.out) == (0, "answer 3\n")
    assert requests == ["One.", "Two after answer 1", "Two after answer 1"], "only the call that was cut off"
    assert finished(folder) == [("steps.0", True), ("steps.1", False)]
    assert status(folder) == "completed"


@pytest.mark.kills
@posix
def test_a_run_goes_on_from_another_directory_and_without_its_files(folder: Folder) -> None:
    folder.write("agents/writer.yaml", {"prompt": "You write well.", "tools": []})
    agents = {"writer": {"$ref": "agents/writer.yaml"}}
    artifacts = {"artifacts": [{"path": "a.txt", "from": "{{ last_response }}"}]}
    folder.workflow(TWO_STEPS, runtime=LIVE, agents=agents, outputs=artifacts)
    server = killed_in_the_second_step(folder, [])
    (folder.work / "flow.yaml").unlink()
    (folder.work / "agents" / "writer.yaml").write_text("prompt: You write badly.\n")
    elsewhere = folder.root / "elsewhere"
    elsewhere.mkdir()
    try:
        ran = folder.strands("resume", run_id(folder), cwd=elsewhere, **live(server))
    finally:
        server.__exit__()
    assert (ran.code, ran.out) == (0, "answer 3\n")
    assert server.model_requests[-1]["messages"][0]["content"] == "You write well."
    assert str(folder.work) in ran.err
    assert (folder.work / "artifacts" / "a.txt").read_text() == "answer 3"
    assert list(elsewhere.iterdir()) == []


@pytest.mark.kills
@posix
def test_a_second_resume_at_the_same_time_is_turned_away(folder: Folder, wording: Wording) -> None:
    folder.workflow([*TWO_STEPS, {"agent": "writer", "input": "Three."}], runtime=LIVE)
    requests: list[str] = []
    server = killed_in_the_second_step(folder, requests)
    try:
        waiting, go = threading.Event(), threading.Event()

        def hold(request: dict[str, Any]) -> Turn:
            requests.append(last_message(request))
            waiting.set()
            go.wait(SECONDS)
            return Turn("done")

        server.script = hold
        first = folder.start("resume", run_id(folder), **live(server))
        assert waiting.wait(SECONDS)
        assert status(folder) == "running"
        second = folder.strands("resume", run_id(folder), **live(server))
        deleted = folder.strands("runs", "delete", run_id(folder))
        go.set()
        ended = first.end()
    finally:
        server.__exit__()
    assert (second.code, deleted.code) == (17, 17)
    assert run_id(folder) in second.err
    wording([second.reported, deleted.reported])
    assert ended.code == 0
    assert len(requests) == 4


def test_a_gate_left_waiting_is_approved_by_the_command_that_was_printed(folder: Folder, wording: Wording) -> None:
    steps = [TWO_STEPS[0], GATE, {"agent": "writer", "input": "They said {{ hitl_response }}."}]
    folder.workflow(steps, runtime=LIVE)
    with ModelServer([Turn("A draft."), Turn("Published.")]) as server:
        waits = folder.strands("run", "flow.yaml", "--detach", **live(server))
        assert waits.code == 19
        (approve,) = offered(waits, "approve")
        assert approve == ["approve", run_id(folder), "steps.1"]
        ran = folder.strands(*approve, **live(server))
        assert (ran.code, ran.out) == (0, "Published.\n")
        assert [last_message(request) for request in server.model_requests] == ["One.", "They said approved."]
        again = folder.strands(*approve, **live(server))
    assert again.code == 2
    wording(again.reported)
    assert re.search(r"steps\.1 .*\bapproved\b", again.err)


def test_the_printed_commands_name_a_directory_of_runs_that_is_not_the_usual_one(folder: Folder) -> None:
    folder.workflow([GATE])
    waits = folder.strands("run", "flow.yaml", "--runs-dir", "my runs")
    (approve,) = offered(waits, "approve")
    assert approve[-2:] == ["--runs-dir", str(folder.work / "my runs")]
    assert folder.strands(*approve, cwd=folder.root).code == 0


def test_a_rejected_gate_fails_the_run_with_the_reason_and_stays_rejected(folder: Folder, wording: Wording) -> None:
    folder.workflow([GATE])
    (reject,) = offered(folder.strands("run", "flow.yaml"), "reject")
    ran = folder.strands(*reject, "--reason", "old figures")
    assert ran.code == 10
    wording(folder.record()["reason"])
    assert re.search(r"steps\.0 .*: old figures", ran.err)
    assert re.search(r"^steps\.0 .*: old figures$", folder.record()["reason"])
    assert f"strands runs rerun {run_id(folder)} --from steps.0" in ran.err
    assert "strands resume" not in ran.err
    again = folder.strands("resume", run_id(folder), "--json")
    assert (again.code, again.document["status"], again.document["error"]["exit_code"]) == (10, "failed", 10)
    assert f"strands runs rerun {run_id(folder)} --from steps.0" in again.document["error"]["fix"]
    assert folder.strands("approve", run_id(folder), "steps.0").code == 2
    late = folder.strands("approve", run_id(folder))
    assert (late.code, "strands resume" in late.err) == (2, False)
    assert f"strands runs rerun {run_id(folder)} --from steps.0" in late.err


def test_an_answer_must_match_the_pattern_of_its_gate(folder: Folder) -> None:
    folder.workflow([{**GATE, "validation": {"pattern": "ship|hold"}}])
    waits = folder.strands("run", "flow.yaml")
    assert offered(waits, "approve")[0][-2:] == ["--answer", "ANSWER"]
    for words in ([], ["--answer", "maybe"]):
        ran = folder.strands("approve", run_id(folder), *words)
        assert (ran.code, status(folder)) == (2, "waiting")
        assert "ship|hold" in ran.err
    ran = folder.strands("approve", run_id(folder), "--answer", "hold")
    assert (ran.code, ran.out) == (0, "hold\n")


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_who_answers_second_gets_the_first_answer_also_while_the_run_goes_on_with_it(folder: Folder, verb: str) -> None:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    assert folder.strands("approve", "last", "steps.0", "--no-resume").code == 0
    lock = hold_run(folder.runs / FolderStore(folder.runs).runs()[0][0].id)
    try:
        late = folder.strands(verb, "last", "steps.0")
    finally:
        lock.release()
    assert late.code == 2
    assert f"steps.0 has been answered by {account_name()}: approved" in late.err


def test_people_who_answer_at_the_same_time_wait_for_each_other(folder: Folder) -> None:
    names = ("a", "b", "c", "d")
    tasks = [{"id": name, **GATE} for name in names]
    folder.workflow([], pattern={"type": "workflow", "config": {"tasks": tasks}})
    assert folder.strands("run", "flow.yaml").code == 19
    lock = hold_run(folder.runs / FolderStore(folder.runs).runs()[0][0].id)
    answering = [folder.start("approve", "last", f"tasks.{name}", "--answer", f"yes {name}") for name in names]
    threading.Event().wait(2)  # longer than who is turned away at once takes to say so
    lock.release()
    ended = [one.end() for one in answering]
    assert sorted(one.code for one in ended) == [0, 19, 19, 19], [one.err for one in ended]
    assert [one.out for one in ended if one.code == 0] == ["yes d\n"]


@pytest.mark.parametrize(("verb", "written"), [("approve", True), ("reject", False)])
def test_a_tool_call_left_waiting_is_decided_later(folder: Folder, verb: str, written: bool) -> None:
    folder.workflow(TWO_STEPS[:1], runtime=LIVE, agents=WRITER)
    with ModelServer([Turn(calls=[WRITE]), Turn("done")]) as server:
        waits = folder.strands("run", "flow.yaml", "--detach", **live(server))
        assert waits.code == 19
        (words,) = offered(waits, verb)
        assert words[2] == "steps.0/tool.0.file_write/approval"
        extra = ["--reason", "not now"] if verb == "reject" else []
        ran = folder.strands(*words, *extra, **live(server))
        assert (ran.code, ran.out) == (0, "done\n")
        assert (folder.work / "note.txt").exists() is written
        last_request = json.dumps(server.model_requests[-1]["messages"][-1])
    assert len(server.model_requests) == 2
    assert ("not now" in last_request) is not written


def test_what_was_detached_waits_again_rather_than_being_denied(folder: Folder) -> None:
    folder.workflow(TWO_STEPS[:1], runtime=LIVE, agents=WRITER)
    other = ("file_write", {"path": "other.txt", "content": "hello"})
    with ModelServer([Turn(calls=[WRITE]), Turn(calls=[other]), Turn("done")]) as server:
        folder.strands("run", "flow.yaml", "--detach", **live(server))
        unanswered = folder.strands("resume", run_id(folder), **live(server))
        assert (unanswered.code, len(server.model_requests)) == (19, 1)
        first = folder.strands("approve", run_id(folder), **live(server))
        assert first.code == 19
        assert (folder.work / "note.txt").exists()
        second = folder.strands("approve", run_id(folder), **live(server))
    assert (second.code, second.out) == (0, "done\n")
    assert (folder.work / "other.txt").exists()


def test_several_questions_are_listed_and_the_run_goes_on_after_the_last(folder: Folder) -> None:
    tasks = [{"id": "a", **GATE}, {"id": "b", **GATE, "prompt": "Print?"}, {"id": "c", "deps": ["a", "b"], **GATE}]
    folder.workflow([], pattern={"type": "workflow", "config": {"tasks": tasks}})
    waits = folder.strands("run", "flow.yaml", "--json")
    assert [question["key"] for question in waits.document["questions"]] == ["tasks.a", "tasks.b"]
    unclear = folder.strands("approve", run_id(folder))
    assert unclear.code == 2
    assert "tasks.b  Print?" in unclear.err
    first = folder.strands("approve", run_id(folder), "tasks.a")
    assert first.code == 19
    assert offered(first, "approve") == [["approve", run_id(folder), "tasks.b"]]
    assert "'tasks.b'" in folder.strands("approve", run_id(folder), "task.b").err
    second = folder.strands("approve", run_id(folder), "tasks.b", "--no-resume")
    assert (second.code, second.out, status(folder)) == (0, "", "waiting")
    third = folder.strands("resume", run_id(folder))
    assert third.code == 19
    assert offered(third, "approve") == [["approve", run_id(folder), "tasks.c"]]
    assert folder.strands("approve", run_id(folder), "--answer", "all right").out == "all right\n"


def test_a_gate_that_waited_too_long_takes_its_default_at_resume(folder: Folder) -> None:
    folder.workflow([{**GATE, "timeout_seconds": 1, "default": "hold"}])
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    with sqlite3.connect(folder.runs / run_id(folder) / "journal.sqlite") as database:
        database.execute("UPDATE effects SET started_at = started_at - 60")
    database.close()
    ran = folder.strands("resume", run_id(folder))
    assert (ran.code, ran.out) == (0, "hold\n")


# -- a call that was cut off


def killed_in_a_tool(folder: Folder) -> str:
    """Kill a run inside a tool that must not be called twice; return the call's key."""
    body = (
        "import pathlib, threading\nmade = pathlib.Path('made')\n"
        "again = made.exists()\nmade.write_text('again' if again else 'once')\n"
        "if not again:\n    print('inside', flush=True)\n    threading.Event().wait()\nreturn answer('sent')"
    )
    folder.tool("send", body, annotations={"readOnlyHint": False, "destructiveHint": False})
    folder.workflow([{"tool": "native:send", "input": {}}])
    run = folder.start("run", "flow.yaml", "--yes")
    run.wait_for("| inside")
    run.send(signal.SIGKILL)
    run.end()
    undecided = folder.strands("resume", run_id(folder))
    assert (undecided.code, status(folder)) == (19, "needs-decision")
    key = "steps.0/tool.0.send"
    assert ["resume", run_id(folder), "--redo", key] in offered(undecided, "resume")
    return key


COUNTER = """
import os, signal
from strands import tool

class Counter:
    calls = 0

    @tool
    def count(self, text: str) -> str:
        "Count."
        self.calls += 1
        return f"{text} {self.calls}"

    @tool
    def die(self) -> str:
        "Kill the process, the first time."
        if not os.path.exists("died"):
            open("died", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return "alive"
"""


@pytest.mark.kills
@posix
def test_after_a_crash_a_call_of_a_used_object_is_made_with_a_new_one_only_on_request(folder: Folder) -> None:
    made = folder.site, "strands-tool-counter", "1.0", {"counter": "strands_tool_counter:Counter"}
    make_distribution(*made, {"strands_tool_counter/__init__.py": COUNTER})
    count, die = {"tool": "native:counter.count"}, {"tool": "native:counter.die", "input": {}}
    folder.workflow([{**count, "input": {"text": "a"}}, die, {**count, "input": {"text": "b"}}])
    assert folder.strands("run", "flow.yaml", "--yes").code == -signal.SIGKILL
    keys = ["steps.1/tool.0.die", "steps.2/tool.0.count"]
    assert status(folder) == "interrupted"
    cut_off = folder.strands("resume", run_id(folder), "--yes")
    assert (cut_off.code, status(folder)) == (19, "needs-decision"), "the call was cut off"
    assert ["resume", run_id(folder), "--redo", keys[0]] in offered(cut_off, "resume")
    # The call that is made again is of the object of the first step.
    lost = folder.strands("resume", run_id(folder), "--yes", "--redo", keys[0])
    assert (lost.code, status(folder)) == (19, "needs-decision")
    (asked,) = folder.strands("runs", "show", run_id(folder), "--json").document["questions"]
    assert (asked["key"], asked["kind"]) == (keys[0], "decision")
    done = folder.strands("resume", run_id(folder), "--yes", "--redo", keys[0])
    assert (done.code, done.out) == (0, "b 1\n")


@pytest.mark.kills
@posix
def test_a_call_that_was_cut_off_is_done_again_only_on_request(folder: Folder) -> None:
    key = killed_in_a_tool(folder)
    assert (folder.work / "made").read_text() == "once"
    ran = folder.strands("resume", run_id(folder), "--redo", key)
    assert (ran.code, ran.out) == (0, "sent\n")
    assert (folder.work / "made").read_text() == "again"


@pytest.mark.kills
@posix
@pytest.mark.parametrize(
    ("result", "out"),
    [
        ('"by hand"', "by hand\n"),
        ('{"n": 1}', '{"n": 1}\n'),
        ('{"status": "success", "content": [{"text": "whole"}]}', "whole\n"),
    ],
)
def test_a_call_that_was_cut_off_is_skipped_with_a_result(
    folder: Folder, result: str, out: str, wording: Wording
) -> None:
    key = killed_in_a_tool(folder)
    for words, problem in (
        (["--skip", key], "--result"),
        (["--skip", key, "--result", "x"], "--result"),
    ):
        refused = folder.strands("resume", run_id(folder), *words)
        assert refused.code == 2
        assert problem in refused.err
        wording(refused.reported)
    ran = folder.strands("resume", run_id(folder), "--skip", key, "--result", result)
    assert (ran.code, ran.out) == (0, out)
    assert (folder.work / "made").read_text() == "once"
    assert folder.strands("resume", run_id(folder), "--redo", key).code == 2


@pytest.mark.kills
@posix
def test_a_call_that_was_cut_off_can_be_let_fail(folder: Folder) -> None:
    key = killed_in_a_tool(folder)
    wrong = folder.strands("resume", run_id(folder), "--fail", "steps.0/tool.0.sent")
    assert wrong.code == 2
    assert f"'{key}'" in wrong.err
    ran = folder.strands("resume", run_id(folder), "--fail", key, "--json")
    assert (ran.code, ran.document["status"]) == (10, "failed")
    assert (folder.work / "made").read_text() == "once"


# -- what has changed, and what cannot be read


def test_a_raised_budget_lets_a_run_go_on_and_stays_raised(folder: Folder) -> None:
    steps = [{"agent": "writer", "input": str(n)} for n in range(3)]
    folder.workflow(steps, runtime={**LIVE, "budgets": {"max_model_calls": 1}})
    with ModelServer() as server:
        stopped = folder.strands("run", "flow.yaml", **live(server))
        assert stopped.code == 20
        assert re.search(r"strands resume \S+ --budget \w+=2", stopped.err)
        for word in ("max_model_calls=1", "max_calls=9", "max_model_calls=many", "max_model_calls"):
            assert folder.strands("resume", run_id(folder), "--budget", word, **live(server)).code == 2
        again = folder.strands("resume", run_id(folder), "--budget", "max_model_calls=2", **live(server))
        assert (again.code, len(server.model_requests)) == (20, 2)
        still = folder.strands("resume", run_id(folder), **live(server))
        assert (still.code, len(server.model_requests)) == (20, 2)
        ran = folder.strands("resume", run_id(folder), "--budget", "max_model_calls=3", **live(server))
    assert (ran.code, len(server.model_requests)) == (0, 3)


def test_a_run_whose_tools_have_changed_does_not_go_on(folder: Folder, wording: Wording) -> None:
    folder.tool("look", "return answer('seen')")
    folder.workflow([GATE], agents={"writer": {"prompt": "You write.", "tools": ["native:look"]}})
    folder.strands("run", "flow.yaml")
    (dist,) = folder.site.glob("*.dist-info")
    (dist / "METADATA").write_text((dist / "METADATA").read_text().replace("1.0", "2.0"))
    dist.rename(dist.with_name(dist.name.replace("1.0", "2.0")))
    ran = folder.strands("approve", run_id(folder))
    assert ran.code == 17
    assert re.search(r"strands-tool-look 1\.0 .*strands-tool-look 2\.0", ran.err)
    assert f"strands runs rerun {run_id(folder)}" in ran.err
    wording(ran.reported)


def test_a_run_whose_inputs_are_not_what_they_were_does_not_go_on(folder: Folder, wording: Wording) -> None:
    folder.workflow([GATE], inputs={"values": {"topic": "bees"}})
    folder.strands("run", "flow.yaml")
    journal = SqliteJournal.open(folder.runs / run_id(folder))
    journal.put(inputs={"topic": "wasps"})
    journal.close()
    ran = folder.strands("resume", run_id(folder))
    assert ran.code == 17
    assert f"strands runs rerun {run_id(folder)}" in ran.err
    wording(ran.reported)


def spoil(folder: Folder, statement: str) -> None:
    with sqlite3.connect(folder.runs / run_id(folder) / "journal.sqlite") as database:
        database.execute(statement)
    database.close()


def test_the_record_of_a_newer_version_is_refused(folder: Folder, wording: Wording) -> None:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    spoil(folder, "PRAGMA user_version = 99")
    ran = folder.strands("resume", run_id(folder))
    assert ran.code == 17
    assert re.search(r"\b99\b.*\b1\b", ran.err)
    wording(ran.reported)


def test_a_truncated_record_is_refused_and_can_be_deleted(folder: Folder) -> None:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    database: Path = folder.runs / run_id(folder) / "journal.sqlite"
    database.write_bytes(database.read_bytes()[:5000])
    for words in (["resume"], ["approve"], ["runs", "show"]):
        ran = folder.strands(*words, run_id(folder))
        assert ran.code == 17
        assert "Traceback" not in ran.err
    listed = folder.strands("runs", "list", "--json")
    assert (listed.code, listed.document["runs"], len(listed.document["problems"])) == (0, [], 1)
    assert folder.strands("runs", "delete", run_id(folder)).code == 0
    assert list(folder.runs.iterdir()) == []


def test_an_unknown_run_is_answered_with_the_one_that_was_meant(folder: Folder) -> None:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    known = run_id(folder)
    ran = folder.strands("resume", known[:-1] + "x")
    assert ran.code == 17
    assert known in ran.err
    assert folder.strands("resume", "../runs").code == 17


def test_a_run_that_is_complete_gives_its_result_again_and_does_nothing(folder: Folder) -> None:
    folder.workflow(TWO_STEPS[:1], runtime=LIVE)
    with ModelServer([Turn("once")]) as server:
        folder.strands("run", "flow.yaml", **live(server))
        ran = folder.strands("resume", run_id(folder), **live(server))
    assert (ran.code, ran.out, len(server.model_requests)) == (0, "once\n", 1)


def test_a_look_at_a_complete_run_does_not_make_it_longer(folder: Folder) -> None:
    folder.workflow(TWO_STEPS[:1], {"steps.0": [{"text": "once"}]})
    first = folder.strands("run", "flow.yaml", "--json").document
    before = folder.strands("runs", "list", "--json").document
    again = folder.strands("resume", "last", "--trace", "--json").document
    assert {**again, "seconds": 0.0} == {**first, "seconds": 0.0}
    assert folder.strands("runs", "list", "--json").document == before


def test_the_time_in_which_a_run_waits_is_not_part_of_its_duration(folder: Folder) -> None:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    journal = SqliteJournal.open(folder.runs / run_id(folder))
    journal.put(started_at=journal.get("started_at") - 86400)
    journal.close()
    assert folder.strands("approve", "last").code == 0
    (_, line) = folder.strands("runs", "list").out.splitlines()
    assert re.search(r"completed +\S+Z +[0-9.]+ (ms|s) ", line), line


# -- rerun


def test_a_rerun_takes_over_what_is_before_its_key(folder: Folder) -> None:
    inputs = {"optional": {"tone": {"type": "string", "default": "plain"}}}
    steps = [TWO_STEPS[0], {"agent": "writer", "input": "{{ last_response }} in {{ tone }}"}]
    folder.workflow(steps, runtime=LIVE, inputs=inputs)
    with ModelServer([Turn("first"), Turn("plain"), Turn("formal")]) as server:
        folder.strands("run", "flow.yaml", **live(server))
        old = run_id(folder)
        again = folder.strands(
            "runs", "rerun", old, "--from", "steps.1", "--var", "tone=formal", "--json", **live(server)
        )
    assert (again.code, again.document["response"]) == (0, "formal")
    new = again.document["run"]
    assert new != old
    assert [last_message(request) for request in server.model_requests] == ["One.", "first in plain", "first in formal"]
    shown = folder.strands("runs", "show", new, "--json").document
    assert shown["rerun_of"] == {"run": old, "from": "steps.1"}
    assert folder.strands("runs", "show", old, "--json").document["status"] == "completed"


def test_a_rerun_takes_the_workflow_as_it_is_now_and_says_so(folder: Folder, wording: Wording) -> None:
    folder.workflow(TWO_STEPS, runtime=LIVE)
    with ModelServer([Turn("first"), Turn("second"), Turn("third")]) as server:
        folder.strands("run", "flow.yaml", **live(server))
        folder.workflow([TWO_STEPS[0], {"agent": "writer", "input": "Better."}], runtime=LIVE)
        ran = folder.strands("runs", "rerun", run_id(folder), "--from", "steps.1", **live(server))
        assert (ran.code, ran.out) == (0, "third\n")
        assert "flow.yaml" in ran.err
        wording(re.findall(r"^.*flow\.yaml: .*$", ran.err, re.MULTILINE))
        folder.workflow([{"agent": "writer", "input": "Else."}, TWO_STEPS[1]], runtime=LIVE)
        changed = folder.strands("runs", "rerun", run_id(folder), "--from", "steps.1", "--quiet", **live(server))
    assert changed.code == 17
    assert "steps.0" in changed.err
    wording(changed.reported)


def test_a_rerun_from_inside_a_step_keeps_the_calls_before(folder: Folder) -> None:
    folder.workflow(TWO_STEPS[:1], runtime=LIVE, agents=WRITER)
    with ModelServer([Turn(calls=[WRITE]), Turn("one"), Turn("two")]) as server:
        folder.strands("run", "flow.yaml", "--yes", **live(server))
        (folder.work / "note.txt").unlink()
        ran = folder.strands("runs", "rerun", run_id(folder), "--from", "steps.0/model.1", **live(server))
    assert (ran.code, ran.out, len(server.model_requests)) == (0, "two\n", 3)
    assert not (folder.work / "note.txt").exists()


def test_a_rerun_from_a_key_that_is_not_there_names_those_that_are(folder: Folder, wording: Wording) -> None:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    ran = folder.strands("runs", "rerun", run_id(folder), "--from", "nowhere")
    assert ran.code == 2
    assert "steps.0" in ran.err
    wording(ran.reported)


@pytest.mark.parametrize("command", [("resume",), ("approve",), ("rerun", "--from", "steps.0"), ("runs", "show")])
def test_a_run_whose_process_died_before_its_first_fact_can_only_be_deleted(
    folder: Folder, command: tuple[str, ...]
) -> None:
    with closing(SqliteJournal.create(folder.runs / "20260101-000000-abcdef")):
        pass
    verb = 2 if command[0] == "runs" else 1
    ran = folder.strands(*command[:verb], "20260101-000000-abcdef", *command[verb:])
    assert ran.code == 17, ran.err
    [deletes] = re.findall(r"strands (runs delete \S+)", ran.err)
    assert folder.strands(*deletes.split()).code == 0
    assert list(folder.runs.iterdir()) == []


@pytest.mark.parametrize(("values", "code"), [({"WHERE": "two.example"}, 17), ({}, 18)])
def test_a_run_does_not_continue_with_another_value_of_a_variable_and_keeps_no_answer_then(
    folder: Folder, values: dict[str, str], code: int
) -> None:
    with ModelServer([Turn("done")]) as server:
        runtime = {**LIVE, "host": f"{server.url}${{WHERE}}"}
        folder.workflow([GATE, {"agent": "writer", "input": "Go."}], runtime=runtime)
        assert folder.strands("run", "flow.yaml", OPENAI_API_KEY="any", WHERE="/").code == 19
        ran = folder.strands("approve", run_id(folder), OPENAI_API_KEY="any", **values)
        assert ran.code == code
        assert "WHERE" in ran.err
        shown = folder.strands("runs", "show", "last", "--json").document
        assert [question["key"] for question in shown["questions"]] == ["steps.0"]
        assert folder.strands("approve", run_id(folder), OPENAI_API_KEY="any", WHERE="/").code == 0


def waits_in_a_directory_that_is_gone(folder: Folder, **facts: Any) -> str:
    """Start a run that waits for a person, and remove the directory in which it was started; return the run's id."""
    folder.workflow([{"type": "hitl", "prompt": "Go on?"}], {})
    folder.strands("run", "flow.yaml", "--detach")
    run = run_id(folder)
    with closing(SqliteJournal.open(folder.runs / run)) as journal:
        journal.put(**facts)
    folder.work.rename(folder.root / "moved")
    return run


def test_an_answer_is_stored_where_the_directory_of_the_run_is_not(folder: Folder) -> None:
    run = waits_in_a_directory_that_is_gone(folder)

    assert folder.strands("approve", run, "--no-resume", cwd=folder.root).code == 0

    refused = folder.strands("resume", run, cwd=folder.root)
    assert refused.code == 17
    (made,) = re.findall(r"fix: (mkdir -p [^,]*),", refused.err)
    folder.run(shlex.split(made), cwd=folder.root)
    assert folder.strands("resume", run, cwd=folder.root).code == 0


def test_a_run_of_another_machine_names_it_and_how_its_answer_is_stored_here(folder: Folder) -> None:
    place = {"host": "other-machine", "folder": str(folder.work), "worker": ""}
    run = waits_in_a_directory_that_is_gone(folder, worked_on=place)

    refused = folder.strands("approve", run, cwd=folder.root)

    assert refused.code == 17
    assert "other-machine" in refused.err
    (stored,) = re.findall(r"strands (approve .* --no-resume)", refused.err)
    assert f"on other-machine: strands resume {run}" in refused.err
    assert folder.strands(*shlex.split(stored), cwd=folder.root).code == 0
    resumed = folder.strands("resume", run, cwd=folder.root)
    assert (resumed.code, "--no-resume" in resumed.err) == (17, False)


def test_the_error_in_a_program_on_another_machine_names_where_the_run_goes_on(folder: Folder) -> None:
    place = {"host": "other-machine", "folder": str(folder.work), "worker": ""}
    run = waits_in_a_directory_that_is_gone(folder, worked_on=place)

    with pytest.raises(UsageError) as raised:
        Workflow.resume(run, runs_dir=folder.runs)

    assert "other-machine" in (raised.value.fix or "")
