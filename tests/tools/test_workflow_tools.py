"""Composites, agents and workflows as tools: every part is checked and journaled under the outer call's key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Answer
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.ports import SystemClock
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.engine.waiting.questions import chosen_question, give_answer
from strands_cli.errors import BudgetExceeded, RunFailed, WaitingForPerson
from strands_cli.events import Event, StepFinished, StepStarted, ToolCallDecided
from strands_cli.planning.run_request import RunRequest
from tests.agents.kit import READS, Site, run
from tests.agents.resumable import ECHO, RECORD, rows
from tests.tools.workflow_tool_world import MARK, SUB, TWICE, die_once, flow, go, made, record, write
from tests.wordings import Wording

HARMLESS: dict[str, Any] = {"annotations": {"idempotentHint": True}}
IDEMPOTENT = MARK.replace("'name': 'mark',", f"'name': 'mark', **{HARMLESS!r},")
CALL = "{tool: twice, input: {text: one, more: two}}"
LEAD = "{lead: {prompt: lead, tools: [%s]}, helper: {prompt: help, tools: [native:mark]}}"


@pytest.fixture(autouse=True)
def marking(site: Site) -> None:
    site.install(MARK, name="mark")
    site.install(ECHO, READS, name="echo")
    record({})


def output(key: str) -> Any:
    return rows()[key].output


def test_a_composite_calls_its_tools_in_order_and_answers_with_the_last(site: Site) -> None:
    result = go(site, flow(CALL, tools=TWICE))
    assert made() == ["one", "two"]
    assert result.response == "marked two"
    kinds = {key: row.kind for key, row in rows().items()}
    assert kinds == {
        "steps.0": "step",
        "steps.0/tool.0.twice": "tool",
        "steps.0/tool.0.twice/tool.0.mark": "tool",
        "steps.0/tool.0.twice/tool.1.mark": "tool",
    }
    assert result.tool_calls == 3, "each call counts, also those inside another"


def test_templates_of_a_composite_see_its_input_and_earlier_results_with_their_types(site: Site) -> None:
    tools = """
composite:
  - id: all
    description: d
    input_schema: {type: object, properties: {text: {type: string}, n: {type: integer}, more: {type: array}}}
    steps:
      - {tool: native:mark, input: {text: "{{ text }}"}, save_as: first}
      - {tool: native:echo, input: {text: "{{ first.n }} {{ last_response }} {{ steps[0].response }} {{ input.n }}"}}
    output: "{{ {'n': n, 'more': more, 'said': steps[1].response} }}"
"""
    result = go(site, flow("{tool: all, input: {text: abc, n: 7, more: [1, x]}}", tools=tools))
    assert json.loads(result.response) == {"n": 7, "more": [1, "x"], "said": "said 3 marked abc marked abc 7"}


def test_a_call_inside_that_fails_ends_the_composite_with_an_error_that_names_it(site: Site, wording: Wording) -> None:
    with pytest.raises(RunFailed) as raised:
        go(site, flow("{tool: twice, input: {text: fail}}", tools=TWICE))
    wording(raised.value)
    assert made() == ["fail"]
    blocks = output("steps.0/tool.0.twice")["content"]
    (error,) = [block["json"]["error"] for block in blocks if "json" in block]
    assert (error["code"], error["details"]["tool"]) == ("tool_failed", "mark")
    assert error["details"]["error"]["message"] == "ValueError: it broke"


def test_a_composite_checks_its_input_and_fills_in_defaults(site: Site) -> None:
    with pytest.raises(RunFailed, match="invalid_input"):
        go(site, flow("{tool: twice, input: {text: '{{ [1] }}'}}", tools=TWICE))
    assert made() == []
    Path("record").rename("earlier")
    go(site, flow("{tool: twice, input: {text: one}}", tools=TWICE))
    assert made() == ["one", "and"]


def test_each_call_inside_is_decided_by_itself(site: Site, wording: Wording) -> None:
    events: list[Event] = []
    asking = RunRequest(out_dir=Path("out"))
    with pytest.raises(RunFailed, match="denied"):
        go(site, flow(CALL, tools=TWICE), events, asking)
    decided = {event.key: (event.effect, event.rule) for event in events if isinstance(event, ToolCallDecided)}
    assert decided["steps.0/tool.0.twice"][0] == "allow"
    effect, rule = decided["steps.0/tool.0.twice/tool.0.mark"]
    assert effect == "deny"
    wording(rule)
    assert made() == []


@pytest.mark.parametrize("rule", ["{deny: [twice]}", "{deny: ['agent:helper']}", "{deny: ['workflow:sub']}"])
def test_a_rule_denies_a_tool_of_tools_by_its_id(rule: str, site: Site) -> None:
    write("sub.yaml", SUB)
    record({"steps.0": [{"text": "x"}]}, "sub.recording.yaml")
    agents = LEAD % "twice, 'agent:helper', 'workflow:./sub.yaml'"
    calls = [{"twice": {"text": "x"}}, {"helper": {"input": "x"}}, {"sub": {"topic": "x"}}]
    named = ["twice", "agent:helper", "workflow:sub"]
    index = next(number for number, name in enumerate(named) if name in rule)
    record({"steps.0": [{"calls": [calls[index]]}, {"text": "told"}]})
    text = flow("{agent: lead, input: go}", agents=agents, tools=TWICE, rest=f"security: {{permissions: {rule}}}")
    events: list[Event] = []
    assert go(site, text, events).response == "told"
    (decided,) = [event for event in events if isinstance(event, ToolCallDecided)]
    assert decided.effect == "deny"
    assert made() == []


def test_an_agent_as_a_tool_does_its_task_in_a_conversation_of_its_own(site: Site) -> None:
    record(
        {
            "steps.0": [
                {"calls": [{"helper": {"input": "first"}}]},
                {"calls": [{"helper": {"input": "second"}}]},
                {"text": "done", "when": "helper: success"},
            ],
            "steps.0/tool.0.helper/agent.helper": [
                {"when": "first", "calls": [{"mark": {"text": "a"}}], "usage": [3, 4]},
                {"text": "one"},
            ],
            "steps.0/tool.1.helper/agent.helper": [{"when": "second", "text": "two", "usage": [1, 1]}],
        }
    )
    events: list[Event] = []
    result = go(site, flow("{agent: lead, input: go}", agents=LEAD % "'agent:helper'"), events)
    assert (result.response, result.model_calls, result.tool_calls) == ("done", 6, 3)
    assert result.usage.total_tokens == 9
    assert output("steps.0/tool.0.helper")["content"] == [{"text": "one"}]
    inner = [event.key for event in events if isinstance(event, StepStarted) and event.who == "helper"]
    assert inner == ["steps.0/tool.0.helper/agent.helper", "steps.0/tool.1.helper/agent.helper"]
    ended = {event.key: event.text for event in events if isinstance(event, StepFinished)}
    assert ended["steps.0/tool.1.helper/agent.helper"] == "two"


def test_an_agent_with_schemas_takes_and_gives_json(site: Site) -> None:
    task = "{type: object, properties: {city: {type: string}}, required: [city]}"
    answer = "{type: object, properties: {n: {type: integer}}, required: [n]}"
    agents = f"{{helper: {{prompt: h, tools: [], input_schema: {task}, output_schema: {answer}}}}}"
    record({"steps.0/tool.0.helper/agent.helper": [{"when": '{"city": "Ulm"}', "text": '{"n": 4}'}]})
    steps = "{tool: 'agent:helper', input: {city: Ulm}}, {tool: native:mark, input: {text: 'n{{ steps[0].output.n }}'}}"
    go(site, flow(steps, agents=agents))
    assert output("steps.0/tool.0.helper")["content"] == [{"json": {"n": 4}}]
    assert made() == ["n4"]


def test_what_an_agent_gets_by_a_call_is_not_a_template(site: Site) -> None:
    record({"steps.0/tool.0.helper/agent.helper": [{"when": "{{ 1 + 1 }}", "text": "ok"}]})
    step = "{tool: 'agent:helper', input: {input: '{% raw %}{{ 1 + 1 }}{% endraw %}'}}"
    assert go(site, flow(step, agents="{helper: {prompt: h, tools: []}}")).response == "ok"


def test_an_agent_that_fails_is_an_error_to_its_caller(site: Site) -> None:
    record({"steps.0": [{"calls": [{"helper": {"input": "x"}}]}, {"when": "helper: error", "text": "I go on"}]})
    assert go(site, flow("{agent: lead, input: go}", agents=LEAD % "'agent:helper'")).response == "I go on"
    (error,) = [b["json"]["error"] for b in output("steps.0/tool.0.helper")["content"] if "json" in b]
    assert error["code"] == "tool_failed"


def test_a_workflow_as_a_tool_runs_its_steps_below_the_call_and_answers_its_last_response(site: Site) -> None:
    write("sub.yaml", SUB)
    record(
        {"steps.0": [{"when": "2 lines on bees", "calls": [{"mark": {"text": "b"}}]}, {"text": '{"lines": 2}'}]},
        "sub.recording.yaml",
    )
    record({"steps.0": [{"calls": [{"sub": {"topic": "bees", "length": 2}}]}, {"text": "thanks"}]})
    result = go(site, flow("{agent: lead, input: go}", agents="{lead: {prompt: l, tools: ['workflow:./sub.yaml']}}"))
    assert (result.response, result.model_calls) == ("thanks", 4)
    assert output("steps.0/tool.0.sub")["content"] == [{"text": '{"lines": 2}'}, {"json": {"lines": 2}}]
    inside = [key for key in rows() if key.startswith("steps.0/tool.0.sub/")]
    assert inside == [
        f"steps.0/tool.0.sub/{key}" for key in ("steps.0", "steps.0/model.0", "steps.0/tool.0.mark", "steps.0/model.1")
    ]
    assert made() == ["b"]


def test_a_workflow_as_a_tool_without_a_recording_plays_that_of_the_outer_one(site: Site) -> None:
    write("sub.yaml", SUB.replace(", recording: sub.recording.yaml", ""))
    record({"steps.0/tool.0.sub/steps.0": [{"when": "3 lines on bees", "text": "played"}]})
    assert go(site, flow("{tool: 'workflow:./sub.yaml', input: {topic: bees}}")).response == "played"


def test_names_of_the_inner_workflow_are_its_own(site: Site) -> None:
    inner = (
        SUB.replace("tools: [native:mark]", "tools: [twice]")
        + "tools:"
        + TWICE.replace("\n", "\n  ").replace("native:mark", "native:echo")
    )
    write("sub.yaml", inner)
    record({"steps.0": [{"calls": [{"twice": {"text": "in"}}]}, {"text": "x"}]}, "sub.recording.yaml")
    record({"steps.1": [{"text": "outer writer"}]})
    called = "{tool: 'workflow:./sub.yaml', input: {topic: t}}"
    steps = f"{called}, {{agent: writer, input: go}}, {{tool: twice, input: {{text: out}}}}"
    agents = "{writer: {prompt: 'another one', tools: []}}"
    go(site, flow(steps, agents=agents, tools=TWICE))
    assert made() == ["out", "and"], "the inner `twice` echoes"


def test_a_gate_inside_waits_and_the_run_goes_on_where_it_stopped(site: Site) -> None:
    gate = "{type: hitl, prompt: 'Go on with {{ topic }}?'}"
    write("sub.yaml", SUB.replace("steps: [{", f"steps: [{gate}, {{tool: native:mark, input: {{text: inner}}}}, {{"))
    record({"steps.2": [{"when": "3 lines on bees", "text": "written"}]}, "sub.recording.yaml")
    record({"steps.0": [{"calls": [{"sub": {"topic": "bees"}}]}, {"text": "thanks"}]})
    text = flow("{agent: lead, input: go}", agents="{lead: {prompt: l, tools: ['workflow:./sub.yaml']}}")
    with pytest.raises(WaitingForPerson, match="Go on with bees"):
        go(site, text)
    answer("steps.0/tool.0.sub/steps.0", "yes")
    assert go(site, text).response == "thanks"
    assert made() == ["inner"]


def test_an_approval_inside_an_agent_waits_and_is_not_asked_again(site: Site) -> None:
    record(
        {
            "steps.0": [{"calls": [{"helper": {"input": "x"}}]}, {"text": "done"}],
            "steps.0/tool.0.helper/agent.helper": [{"calls": [{"mark": {"text": "a"}}]}, {"text": "one"}],
        }
    )
    text = flow("{agent: lead, input: go}", agents=LEAD % "'agent:helper'")
    key = "steps.0/tool.0.helper/agent.helper/tool.0.mark/approval"

    async def waiting(self: Any, question: Any) -> Answer:
        return Answer("waiting")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StandaloneRun, "ask", waiting)
        with pytest.raises(WaitingForPerson):
            go(site, text, options=RunRequest(out_dir=Path("out")))
    answer(key, "yes")
    assert go(site, text, options=RunRequest(out_dir=Path("out"))).response == "done"
    assert made() == ["a"]


def answer(key: str, text: str) -> None:
    journal = SqliteJournal.open(RECORD)
    try:
        run(give_answer(journal, SystemClock(), chosen_question(journal, key), text))
    finally:
        journal.close()


# What is called, who acts, and what a recording holds; in each the second call inside takes the process with it.
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "composite": ("twice", '{"text": "before", "more": "die"}', {}),
    "agent": (
        "helper",
        '{"input": "x"}',
        {
            "steps.0/tool.0.helper/agent.helper": [
                {"calls": [{"mark": {"text": "before"}}]},
                {"calls": [{"mark": {"text": "die"}}]},
                {"text": "helped"},
            ]
        },
    ),
    "workflow": ("sub", '{"topic": "x"}', {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_done_inside_is_not_done_again_after_the_process_was_killed_there(kind: str, site: Site) -> None:
    name, given, inner = KINDS[kind]
    site.install(IDEMPOTENT, HARMLESS, name="mark")
    inner_turns = [{"calls": [{"mark": {"text": "before"}}]}, {"calls": [{"mark": {"text": "die"}}]}, {"text": "w"}]
    write("sub.yaml", SUB)
    record({"steps.0": inner_turns}, "sub.recording.yaml")
    record({"steps.0": [{"calls": [{name: json.loads(given)}]}, {"text": "done"}], **inner})
    agents = LEAD % "twice, 'agent:helper', 'workflow:./sub.yaml'"
    text = flow("{agent: lead, input: go}", agents=agents, tools=TWICE)
    die_once(site, text)
    assert made() == ["before", "die"]
    assert go(site, text).response == "done"
    assert made() == ["before", "die", "die"], "only the call that was cut off is made again"
    row = rows()[f"steps.0/tool.0.{name}"]
    assert (row.status, row.attempt) == ("done", 2)


def test_a_call_inside_that_may_do_harm_twice_needs_a_decision(site: Site) -> None:
    text = flow("{tool: twice, input: {text: before, more: die}}", tools=TWICE)
    die_once(site, text)
    with pytest.raises(WaitingForPerson) as stopped:
        go(site, text)
    assert "--redo steps.0/tool.0.twice/tool.1.mark" in str(stopped.value.fix)
    assert made() == ["before", "die"]


def test_limits_around_a_call_hold_inside_it_and_go_on_counting(site: Site) -> None:
    record(
        {
            "steps.0": [{"calls": [{"helper": {"input": "x"}}]}, {"text": "done"}],
            "steps.0/tool.0.helper/agent.helper": [{"calls": [{"mark": {"text": "a"}}]}, {"text": "one"}],
        }
    )
    for place, message in (
        ("runtime", "the run reached runtime.budgets.max_model_calls: 2"),
        ("lead", "the agent 'lead' reached agents.lead.budgets.max_model_calls: 2"),
        ("helper", "the agent 'helper' reached agents.helper.budgets.max_model_calls: 1"),
        ("limits", "limits.tool_calls of the agent 'lead': 1"),
    ):
        text = flow("{agent: lead, input: go}", agents=LEAD % "'agent:helper'")
        if place == "runtime":
            text = text.replace("recording: r.yaml", "recording: r.yaml, budgets: {max_model_calls: 2}")
        elif place == "limits":
            text = text.replace("prompt: lead,", "prompt: lead, limits: {tool_calls: 1},")
        else:
            limit = 2 if place == "lead" else 1
            text = text.replace(f"{place}: {{", f"{place}: {{budgets: {{max_model_calls: {limit}}}, ")
        for _ in ("first", "resumed"):
            with pytest.raises(BudgetExceeded) as stopped:
                go(site, text)
            assert message in stopped.value.message
        RECORD.rename(f"record-{place}")


def test_the_inner_workflows_own_limit_ends_the_call_and_not_the_run(site: Site) -> None:
    write("sub.yaml", SUB.replace("sub.recording.yaml", "sub.recording.yaml, budgets: {max_model_calls: 1}"))
    record({"steps.0": [{"calls": [{"mark": {"text": "a"}}]}, {"text": "never"}]}, "sub.recording.yaml")
    record({"steps.0": [{"calls": [{"sub": {"topic": "x"}}]}, {"when": "sub: error", "text": "too dear"}]})
    text = flow("{agent: lead, input: go}", agents="{lead: {prompt: l, tools: ['workflow:./sub.yaml']}}")
    assert go(site, text).response == "too dear"
    (error,) = [b["json"]["error"] for b in output("steps.0/tool.0.sub")["content"] if "json" in b]
    assert "the workflow sub.yaml reached runtime.budgets.max_model_calls: 1" in error["message"]


def test_the_outer_run_stops_where_its_limit_is_reached_in_the_inner_workflow(site: Site) -> None:
    write("sub.yaml", SUB)
    record({"steps.0": [{"calls": [{"mark": {"text": "a"}}]}, {"text": "never"}]}, "sub.recording.yaml")
    text = flow("{tool: 'workflow:./sub.yaml', input: {topic: x}}")
    text = text.replace("recording: r.yaml", "recording: r.yaml, budgets: {max_model_calls: 1}")
    with pytest.raises(BudgetExceeded, match=r"the run reached runtime\.budgets\.max_model_calls: 1"):
        go(site, text)
    assert rows()["steps.0/tool.0.sub"].status == "started", "with a larger limit it goes on there"


def test_what_narrows_the_outer_workflow_narrows_the_inner_one_and_the_other_way_round(site: Site) -> None:
    for narrowing in ("outer", "inner"):
        rest = "security: {permissions: {deny: [mark]}}\n"
        write("sub.yaml", SUB + (rest if narrowing == "inner" else ""))
        record({"steps.0": [{"calls": [{"mark": {"text": "a"}}]}, {"text": "so be it"}]}, "sub.recording.yaml")
        text = flow("{tool: 'workflow:./sub.yaml', input: {topic: x}}", rest=rest if narrowing == "outer" else "")
        assert go(site, text).response == "so be it"
        assert made() == []
        RECORD.rename(f"record-{narrowing}")


def test_one_slot_is_enough_for_tools_that_are_agents(site: Site) -> None:
    record(
        {
            "steps.0": [{"calls": [{"helper": {"input": "x"}}]}, {"text": "done"}],
            "steps.0/tool.0.helper/agent.helper": [{"text": "one"}],
        }
    )
    text = flow("{agent: lead, input: go}", agents=LEAD % "'agent:helper'")
    assert go(site, text.replace("recording: r.yaml", "recording: r.yaml, max_parallel: 1")).response == "done"


def test_what_a_call_spent_inside_still_counts_in_a_step_that_goes_on_in_another_process(
    site: Site, wording: Wording
) -> None:
    record(
        {
            "steps.0": [
                {"calls": [{"helper": {"input": "x"}}]},
                {"calls": [{"mark": {"text": "die"}}]},
                {"text": "never"},
            ],
            "steps.0/tool.0.helper/agent.helper": [{"text": "one", "usage": [40, 50]}],
        }
    )
    lead = "{prompt: lead, limits: {tokens: 90}, tools: ['agent:helper', native:mark]}"
    site.install(IDEMPOTENT, HARMLESS, name="mark")
    text = flow("{agent: lead, input: go}", agents=f"{{lead: {lead}, helper: {{prompt: h, tools: []}}}}")
    for _ in ("stopped", "resumed"):
        with pytest.raises(BudgetExceeded) as raised:
            go(site, text)
        wording(raised.value)
        assert made() == []
    RECORD.rename("stopped")
    text = text.replace("tokens: 90", "tokens: 91")
    die_once(site, text)
    assert go(site, text).response == "never"
    RECORD.rename("finished")
    text = text.replace("tokens: 91", "tokens: 91, tool_calls: 2")
    die_once(site, text)
    assert go(site, text).response == "never"


def test_two_gates_that_are_reached_in_one_turn_wait_together_and_are_answered_one_after_the_other(site: Site) -> None:
    gate = "{type: hitl, prompt: 'Go on with {{ topic }}?'}"
    # Without tools it only reads, so that both calls are made at the same time.
    inner = SUB.replace("tools: [native:mark]", "tools: []")
    write("sub.yaml", inner.replace("steps: [{", f"steps: [{gate}, {{"))
    record({"steps.1": [{"text": "written"}]}, "sub.recording.yaml")
    record({"steps.0": [{"calls": [{"sub": {"topic": "a"}}, {"sub": {"topic": "b"}}]}, {"text": "thanks"}]})
    text = flow("{agent: lead, input: go}", agents="{lead: {prompt: l, tools: ['workflow:./sub.yaml']}}")
    gates = [f"steps.0/tool.{index}.sub/steps.0" for index in range(2)]
    for index, topic in enumerate("ab"):
        with pytest.raises(WaitingForPerson, match=f"Go on with {topic}"):
            go(site, text)
        assert [key for key, row in rows().items() if row.status == "waiting"] == gates[index:]
        answer(gates[index], "yes")
    result = go(site, text)
    assert (result.response, result.model_calls) == ("thanks", 4)


def test_a_step_that_is_tried_again_makes_the_failed_call_inside_again_and_no_other(site: Site) -> None:
    text = flow("{tool: twice, input: {text: one, more: fail}}", tools=TWICE)
    with pytest.raises(RunFailed):
        go(site, text)
    Path("mended").touch()
    assert go(site, text).response == "marked fail"
    assert made() == ["one", "fail", "fail"]


def test_calls_of_one_agent_side_by_side_are_recorded_in_the_order_in_which_they_were_asked(site: Site) -> None:
    record(
        {
            "steps.0": [{"calls": [{"helper": {"input": "a"}}, {"helper": {"input": "b"}}]}, {"text": "done"}],
            "steps.0/tool.0.helper/agent.helper": [{"when": "a", "text": "to a"}],
            "steps.0/tool.1.helper/agent.helper": [{"when": "b", "text": "to b"}],
        }
    )
    agents = "{lead: {prompt: l, tools: ['agent:helper']}, helper: {prompt: h, tools: [], memory: run}}"
    assert go(site, flow("{agent: lead, input: go}", agents=agents)).response == "done"
    assert [output(f"steps.0/tool.{n}.helper")["content"] for n in (0, 1)] == [[{"text": "to a"}], [{"text": "to b"}]]
    assert not output("steps.0/tool.0.helper/agent.helper").get("messages"), "it starts afresh, and leaves nothing"


def test_a_secret_of_the_inner_workflow_appears_nowhere_in_the_record_of_the_outer_run(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INNER_KEY", "a-key-that-nobody-may-see")
    declared = {"strands_cli": {"capabilities": {"secrets": ["INNER_KEY?"]}}}
    tell = MARK.replace("'name': 'mark',", f"'name': 'mark', **{declared!r},").replace(
        "'marked ' + text", "'marked ' + kwargs['strands_cli']['secrets'].get('INNER_KEY', 'nothing')"
    )
    site.install(tell, declared, name="mark")
    write("sub.yaml", SUB + "env: {secrets: [{key: INNER_KEY}]}\n")
    record({"steps.0": [{"calls": [{"mark": {"text": "a"}}]}, {"text": "told"}]}, "sub.recording.yaml")
    record({"steps.1": [{"calls": [{"mark": {"text": "b"}}]}, {"text": "told"}]})
    steps = "{tool: 'workflow:./sub.yaml', input: {topic: x}}, {agent: lead, input: go}"
    go(site, flow(steps, agents="{lead: {prompt: l, tools: [native:mark]}}"))
    assert "marked [secret]" in json.dumps(output("steps.0/tool.0.sub/steps.0/tool.0.mark"))
    assert "marked nothing" in json.dumps(output("steps.1/tool.0.mark")), "the outer workflow does not name it"
    assert b"nobody-may-see" not in b"".join(path.read_bytes() for path in RECORD.rglob("*") if path.is_file())
