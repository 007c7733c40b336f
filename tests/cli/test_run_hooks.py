"""Hooks that observe runs, checks of plans, and wrappers: real plugins, at the command line."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from tests.cli.strands import Folder
from tests.cli.test_hook_plugins import hook_plugin, switch_on

OBSERVER = """
import dataclasses, json

@hookimpl
def strands_run_started(run, context):
    with open("seen.txt", "a") as file:
        print("started", json.dumps(dataclasses.asdict(run)), context.run == run.id, file=file)


@hookimpl
def strands_run_ended(run, context):
    with open("seen.txt", "a") as file:
        print("ended", json.dumps(dataclasses.asdict(run)), context.run == run.id, file=file)
"""
ECHO = "return answer(tool['input']['text'])"
FAILS = "raise ValueError('no bell')"


def seen(folder: Folder) -> list[tuple[str, dict[str, Any]]]:
    path = folder.work / "seen.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    assert all(line.endswith(" True") for line in lines)
    found = [line.removesuffix(" True").partition(" ") for line in lines]
    return [(kind, json.loads(facts)) for kind, _, facts in found]


@pytest.fixture
def observed(folder: Folder) -> Folder:
    switch_on(folder, hook_plugin(folder, "strands-hooks-observe", OBSERVER))
    folder.tool("echo", ECHO)
    folder.tool("bell", FAILS)
    return folder


def test_a_run_that_completes_starts_and_ends_once(observed: Folder) -> None:
    observed.workflow([{"tool": "native:echo", "input": {"text": "hi"}}])
    ran = observed.strands("run", "flow.yaml", "--json")
    assert ran.code == 0, ran.err
    (started, first), (ended, last) = seen(observed)
    assert (started, ended) == ("started", "ended")
    assert first["id"] == last["id"] == ran.document["run"]
    assert (first["continued"], first["store"]) == (False, last["store"])
    assert (last["status"], last["error"], last["tool_calls"], last["model_calls"]) == ("completed", None, 1, 0)
    assert last["seconds"] > 0


def test_a_look_at_a_completed_run_is_not_observed(observed: Folder) -> None:
    observed.workflow([{"tool": "native:echo", "input": {"text": "hi"}}])
    observed.strands("run", "flow.yaml")
    assert observed.strands("resume", "last").code == 0
    assert [kind for kind, _ in seen(observed)] == ["started", "ended"]


def test_a_failure_is_in_what_ends_without_its_secret(observed: Folder) -> None:
    observed.tool("leak", "raise ValueError('the key is hidden-value-7')")
    observed.workflow([{"tool": "native:leak", "input": {}}], env={"secrets": [{"key": "API_KEY", "source": "env"}]})
    ran = observed.strands("run", "flow.yaml", API_KEY="hidden-value-7")
    assert ran.code == 10, ran.err
    (_, last) = seen(observed)[-1]
    assert last["status"] == "failed"
    assert "the key is" in last["error"]
    assert "hidden-value-7" not in last["error"]


def test_a_gate_ends_waiting_and_its_answer_continues(observed: Folder) -> None:
    observed.workflow([{"type": "hitl", "prompt": "Go on?"}, {"tool": "native:echo", "input": {"text": "hi"}}])
    assert observed.strands("run", "flow.yaml").code == 19
    assert observed.strands("approve", "last").code == 0
    assert [(kind, facts.get("status"), facts.get("continued")) for kind, facts in seen(observed)] == [
        ("started", None, False),
        ("ended", "waiting", None),
        ("started", None, True),
        ("ended", "completed", None),
    ]


def test_an_interrupted_run_ends_interrupted(observed: Folder) -> None:
    observed.tool("wait", "import time\nprint('waits', flush=True)\ntime.sleep(60)")
    observed.workflow([{"tool": "native:wait", "input": {}}])
    process = observed.start("run", "flow.yaml", "-v")
    while not seen(observed):
        process.wait_for("")
    process.send(signal.SIGINT)
    assert process.end().code == 130
    assert seen(observed)[-1][1]["status"] == "interrupted"


def test_a_run_that_cannot_start_is_not_observed(observed: Folder) -> None:
    observed.workflow([{"tool": "native:none", "input": {}}])
    assert observed.strands("run", "flow.yaml").code != 0
    assert seen(observed) == []


@pytest.mark.parametrize("hook", ["strands_run_started", "strands_run_ended"])
def test_a_plugin_that_fails_changes_nothing_and_hides_no_other(observed: Folder, hook: str) -> None:
    broken = f"@hookimpl\ndef {hook}(run):\n    raise RuntimeError('no disk')\n"
    switch_on(observed, "strands-hooks-observe", hook_plugin(observed, "strands-hooks-broken", broken))
    observed.workflow([{"tool": "native:echo", "input": {"text": "hi"}}])
    ran = observed.strands("run", "flow.yaml")
    assert (ran.code, [kind for kind, _ in seen(observed)]) == (0, ["started", "ended"])
    assert f"strands-hooks-broken failed in {hook}: RuntimeError: no disk" in ran.err


CHECK = """
from strands_cli.hooks import PlanProblem

@hookimpl
def strands_plan_checks(plan, context):
    for agent in plan.agents:
        if agent.provider != "replay":
            yield PlanProblem(f"{agent.id} uses {agent.provider}", "use replay", f"/agents/{agent.id}")
    if "labels" not in plan.document.get("metadata", {}):
        yield PlanProblem("no labels", severity="warning")
    plan.document.clear()
"""


def test_a_check_of_a_plan_is_a_finding_at_its_place(folder: Folder) -> None:
    switch_on(folder, hook_plugin(folder, "strands-hooks-check", CHECK))
    folder.workflow(
        [{"agent": "a", "input": "hi"}], agents={"a": {"prompt": "p", "provider": "ollama", "model_id": "m"}}
    )
    planned = folder.strands("plan", "flow.yaml", "--json")
    found = {
        finding["severity"]: finding for finding in planned.document["findings"] if finding["code"] == "plan-check"
    }
    assert found["error"]["message"] == "strands-hooks-check: a uses ollama"
    assert found["error"]["fix"] == "use replay"
    assert found["error"]["pointer"] == "/agents/a"
    assert found["warning"]["message"] == "strands-hooks-check: no labels"
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, "plan-check" in ran.err) == (3, True)
    assert not folder.runs.exists()


@pytest.mark.parametrize("answer", ["return 7", "return ['no']", "raise KeyError('x')", "yield 7"])
def test_a_check_that_fails_keeps_the_workflow_from_running(folder: Folder, answer: str) -> None:
    folder.tool("echo", ECHO)
    folder.workflow([{"tool": "native:echo", "input": {"text": "hi"}}])
    body = f"@hookimpl\ndef strands_plan_checks(plan):\n    {answer}\n"
    switch_on(folder, hook_plugin(folder, "strands-hooks-check", body))
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, "strands-hooks-check: it failed in strands_plan_checks" in ran.err) == (3, True), ran.err
    assert not folder.runs.exists()


WRAPPER = """
def log(line):
    with open("wrapped.txt", "a") as file:
        print(line, file=file)


@hookimpl(wrapper=True)
def strands_after_call(record, call, result, context):
    log("before")
    answer = yield
    log(f"after {answer}")
    return answer
"""


def test_a_wrapper_wraps_what_observes(folder: Folder) -> None:
    inner = "@hookimpl\ndef strands_after_call(call):\n    open('wrapped.txt', 'a').write('inner\\n')\n"
    names = [hook_plugin(folder, "strands-hooks-outer", WRAPPER), hook_plugin(folder, "strands-hooks-inner", inner)]
    switch_on(folder, *names)
    folder.tool("echo", ECHO)
    folder.workflow([{"tool": "native:echo", "input": {"text": "hi"}}])
    assert folder.strands("run", "flow.yaml").code == 0
    assert (folder.work / "wrapped.txt").read_text().splitlines() == ["before", "inner", "after []"]


@pytest.mark.parametrize("hook", ["strands_decide_call", "strands_allow_tool"])
@pytest.mark.parametrize("kind", ["wrapper", "hookwrapper"])
def test_no_wrapper_is_taken_for_what_decides(folder: Folder, hook: str, kind: str) -> None:
    body = f"@hookimpl({kind}=True)\ndef {hook}(record):\n    return (yield)\n"
    folder.tool("echo", ECHO)
    folder.workflow([{"tool": "native:echo", "input": {"text": "hi"}}])
    switch_on(folder, hook_plugin(folder, "strands-hooks-wraps", body))
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, "hook-failed" in ran.err) == (21, True)


def test_a_wrapper_that_raises_is_a_warning_with_its_name(folder: Folder) -> None:
    body = "@hookimpl(wrapper=True)\ndef strands_after_call(call):\n    yield\n    raise RuntimeError('late')\n"
    switch_on(folder, hook_plugin(folder, "strands-hooks-wraps", body))
    folder.tool("echo", ECHO)
    folder.workflow([{"tool": "native:echo", "input": {"text": "hi"}}])
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, "strands-hooks-wraps failed in strands_after_call: RuntimeError: late" in ran.err) == (0, True)
