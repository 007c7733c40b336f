"""`strands trigger`: one run for each occurrence, however often and by whomever it is started."""

from __future__ import annotations

import signal
import threading
from typing import Any

import pytest

from tests.cli.strands import Folder
from tests.fakes.model_server import ModelServer, Turn

AT = "2026-01-05T06:00Z"
RUN = "nightly@20260105T060000Z"
TWO_STEPS = [{"agent": "writer", "input": "On {{ day }}."}, {"agent": "writer", "input": "Again."}]


def triggers(folder: Folder, steps: list[dict[str, str]] | None = None, **more: Any) -> None:
    folder.write(
        "flow.yaml",
        {
            "version": 2,
            "name": "flow",
            "runtime": {"provider": "openai", "model_id": "gpt-4o-mini"},
            "inputs": {"required": {"day": "string"}},
            "agents": {"writer": {"prompt": "You write."}},
            "pattern": {"type": "chain", "config": {"steps": steps or TWO_STEPS[:1]}},
        },
    )
    nightly = {"workflow": "flow.yaml", "inputs": {"day": "{{ occurrence }}"}, **more}
    folder.write("triggers.yaml", {"version": 1, "triggers": {"nightly": nightly}})


def keys(server: ModelServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url}


def test_a_second_call_returns_the_run_of_the_first(folder: Folder) -> None:
    triggers(folder)
    with ModelServer() as server:
        first = folder.strands("trigger", "nightly", "--occurrence", AT, **keys(server))
        assert (first.code, first.out) == (0, "The user said: On 2026-01-05T06:00:00Z.\n"), first.err
        again = folder.strands("trigger", "nightly", "--occurrence", "2026-01-05T07:00+01:00", "--json", **keys(server))
        document = again.document
        assert (again.code, document["run"], document["new"], document["status"]) == (0, RUN, False, "completed")
        assert document["response"] == first.out.rstrip("\n")
        other = folder.strands("trigger", "run", "nightly", "--occurrence", "2026-01-06T06:00Z", **keys(server))
        assert (other.code, len(server.requests)) == (0, 2)
    shown = folder.strands("trigger", "show", "nightly", "--json").document
    assert [run["run"] for run in shown["runs"]] == ["nightly@20260106T060000Z", RUN]
    assert folder.strands("trigger", "list", "--json").document["triggers"][0]["runs"][0]["status"] == "completed"


def test_the_exit_code_of_a_failed_run_is_the_same_again(folder: Folder) -> None:
    triggers(folder)
    with ModelServer([Turn(status=400)], repeat=True) as server:
        ended = [folder.strands("trigger", "nightly", "--occurrence", AT, **keys(server)) for _ in range(2)]
        assert ([ran.code for ran in ended], len(server.requests)) == ([10, 10], 1)
        assert f"strands resume {RUN}" in ended[1].err


def test_a_question_waits_and_the_next_start_tells_how_to_answer_it(folder: Folder) -> None:
    triggers(folder, [*TWO_STEPS[:1], {"type": "hitl", "prompt": "Go on?"}])
    with ModelServer() as server:
        ended = [folder.strands("trigger", "nightly", "--occurrence", AT, **keys(server)) for _ in range(2)]
        assert [ran.code for ran in ended] == [19, 19]
        assert f"strands approve {RUN}" in ended[1].err
        assert folder.strands("approve", RUN, "--answer", "yes", **keys(server)).code == 0
        again = folder.strands("trigger", "nightly", "--occurrence", AT, "--json", **keys(server))
        assert (again.code, again.document["status"], len(server.requests)) == (0, "completed", 1)


def test_a_start_that_is_stopped_is_continued_by_the_next(folder: Folder) -> None:
    triggers(folder)
    began, is_stopped = threading.Event(), threading.Event()

    def script(request: dict[str, Any]) -> Turn:
        began.set()
        return Turn("done") if is_stopped.is_set() else Turn("late", delay_s=3600)

    with ModelServer(script) as server:
        stopped = folder.start("trigger", "nightly", "--occurrence", AT, **keys(server))
        assert began.wait(300)
        is_stopped.set()
        stopped.send(signal.SIGINT)
        assert stopped.end().code == 130
        assert folder.strands("trigger", "nightly", "--occurrence", AT, **keys(server)).out == "done\n"


def test_eight_starts_at_once_are_one_run(folder: Folder) -> None:
    triggers(folder)
    with ModelServer([Turn("one")], repeat=True) as server:
        started = [folder.start("trigger", "nightly", "--occurrence", AT, "--json", **keys(server)) for _ in range(8)]
        ended = [each.end() for each in started]
        assert [(ran.code, ran.document["run"], ran.document["response"]) for ran in ended] == [(0, RUN, "one")] * 8
        assert len(server.requests) == 1
    assert [entry.name for entry in folder.runs.iterdir()] == [RUN]


def test_a_killed_run_is_continued_by_the_next_start(folder: Folder) -> None:
    triggers(folder, TWO_STEPS)
    second, is_killed = threading.Event(), threading.Event()

    def script(request: dict[str, Any]) -> Turn:
        if "Again" not in str(request["messages"][-1]):
            return Turn("one")
        second.set()
        return Turn("two") if is_killed.is_set() else Turn("late", delay_s=3600)

    with ModelServer(script) as server:
        killed = folder.start("trigger", "nightly", "--occurrence", AT, **keys(server))
        assert second.wait(300)
        waiting = folder.start("trigger", "nightly", "--occurrence", AT, **keys(server))
        waiting.wait_for(RUN)
        is_killed.set()
        killed.process.kill()
        killed.end()
        ran = waiting.end()
        assert (ran.code, ran.out) == (0, "two\n"), ran.err
        assert len(server.requests) == 3, "the first step is not repeated"


@pytest.mark.parametrize(
    ("overlap", "status", "asked"),
    [("skip", "skipped", 1), ("allow", "completed", 2), ("cancel_previous", "completed", 2)],
)
def test_an_unfinished_earlier_occurrence_is_met_as_the_trigger_says(
    folder: Folder, overlap: str, status: str, asked: int
) -> None:
    triggers(folder, overlap=overlap)
    began = threading.Event()

    def script(request: dict[str, Any]) -> Turn:
        is_first = not began.is_set()
        began.set()
        return Turn("late", delay_s=3600) if is_first else Turn("two")

    with ModelServer(script) as server:
        earlier = folder.start("trigger", "nightly", "--occurrence", AT, **keys(server))
        assert began.wait(300)
        ran = folder.strands("trigger", "nightly", "--occurrence", "2026-01-06T06:00Z", "--json", **keys(server))
        assert (ran.code, ran.document["status"], len(server.requests)) == (0, status, asked), ran.err
        assert ran.document.get("because") == (RUN if overlap == "skip" else None)
        if overlap == "cancel_previous":
            assert earlier.end().code == 143
            assert folder.strands("trigger", "nightly", "--occurrence", AT, **keys(server)).code != 0, "for good"
        folder.end_started()


def test_a_start_may_wait_for_an_earlier_occurrence(folder: Folder) -> None:
    triggers(folder, overlap="wait")
    began, may_end = threading.Event(), threading.Event()

    def script(request: dict[str, Any]) -> Turn:
        began.set()
        may_end.wait(300)
        return Turn("done")

    with ModelServer(script) as server:
        earlier = folder.start("trigger", "nightly", "--occurrence", AT, **keys(server))
        assert began.wait(300)
        later = folder.start("trigger", "nightly", "--occurrence", "2026-01-06T06:00Z", **keys(server))
        later.wait_for(RUN)
        assert len(server.requests) == 1
        may_end.set()
        assert [earlier.end().code, later.end().code] == [0, 0]


@pytest.mark.parametrize(
    ("occurrence", "more", "code", "finding"),
    [
        ("2999-01-01T00:00Z", {}, 2, "future-occurrence"),
        ("2026-01-05T06:30Z", {"schedule": "0 6 * * *"}, 2, "unscheduled-occurrence"),
        ("2020-01-05T06:00Z", {"schedule": "0 6 * * *", "stale_after": "2h"}, 1, "stale-occurrence"),
    ],
)
def test_an_occurrence_at_a_wrong_time_has_no_run(
    folder: Folder, occurrence: str, more: dict[str, str], code: int, finding: str
) -> None:
    triggers(folder, **more)
    ran = folder.strands("trigger", "nightly", "--occurrence", occurrence, OPENAI_API_KEY="any")
    assert (ran.code, ran.codes) == (code, [finding])
    assert not folder.runs.exists()


@pytest.mark.parametrize("text", ["tomorrow", "25:00", "2026-13-01", "", "latest"])
def test_words_that_are_no_time_are_refused(folder: Folder, text: str) -> None:
    triggers(folder)
    assert folder.strands("trigger", "nightly", "--occurrence", text).code == 2


def test_the_error_of_an_unknown_trigger_names_the_closest(folder: Folder) -> None:
    triggers(folder)
    ran = folder.strands("trigger", "nightli", "--occurrence", AT)
    assert (ran.code, "'nightly'" in ran.err) == (2, True)
    assert folder.strands("trigger", "list", "--file", "other.yaml").code == 2


@pytest.mark.parametrize(
    "text",
    [
        "triggers: {}",
        "{version: 1, triggers: []}",
        "{version: 1, triggers: {a: flow.yaml}}",
        "{version: 1, triggers: {list: {workflow: flow.yaml}}}",
        "{version: 1, triggers: {A: {workflow: flow.yaml}}}",
        "{version: 1, triggers: {a: {workflow: flow.yaml, overlap: jump}}}",
        "{version: 1, triggers: {a: {workflow: flow.yaml, stale_after: 2}}}",
        "{version: 1, triggers: {a: {workflow: flow.yaml, timezone: Mars/Base}}}",
        "{version: 1, triggers: {a: {workflow: flow.yaml, schedule: hourly}}}",
        "{version: 1, triggers: {a: {workflow: flow.yaml, schedule: 0 0 31 2 *}}}",
        "{version: 1, triggers: {a: {workflow: flow.yaml, cron: 0 6 * * *}}}",
        "{version: 1, triggers: {a: {workflow: flow.yaml, inputs: {day: '{{ today }}'}}}}",
        "{version: 1, triggers: {a: {workflow: flow.yaml, inputs: [day]}}}",
    ],
)
def test_a_mistake_in_the_file_is_a_finding_at_its_place(folder: Folder, text: str) -> None:
    folder.write("triggers.yaml", text)
    ran = folder.strands("trigger", "list")
    assert (ran.code, set(ran.codes)) == (3, {"bad-triggers"})
    assert "triggers.yaml:1:" in ran.err
