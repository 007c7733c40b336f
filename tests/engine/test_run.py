from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.engine.journal.journal_rows import Answer, Journal, Question
from strands_cli.engine.plan_execution import RunResult, execute
from strands_cli.engine.ports import Ports
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import BudgetExceeded, RunFailed, RunRecordError, StrandsCliError, WaitingForPerson
from strands_cli.events import (
    Event,
    HumanAnswered,
    HumanAsked,
    RunFinished,
    RunStarted,
    StepFailed,
    StepFinished,
    StepStarted,
    Usage,
)
from strands_cli.planning.plan_values import Plan
from tests.distributions import sound
from tests.fakes.plans import chain_of
from tests.fakes.ports import FakeClock, Say, ScriptedAgents, ScriptedHuman, ScriptedTools, Use
from tests.wordings import Wording


@dataclass
class Played:
    """A run over scripted ports, and everything it left."""

    plan: Plan
    turns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    answers: Sequence[Answer | str] = ()
    tools: Mapping[str, Any] = field(default_factory=dict)
    journal: Journal = field(default_factory=MemoryJournal)
    clock: FakeClock = field(default_factory=FakeClock)
    approve: bool = False

    def __post_init__(self) -> None:
        self.events: list[Event] = []
        self.caller = ScriptedTools(self.tools, approve=self.approve)
        self.agents = ScriptedAgents(self.turns, self.caller)
        self.human = ScriptedHuman(self.answers)
        self.written: list[tuple[str, str]] = []

    def run(self) -> RunResult:
        ports = Ports(self.journal, self.agents, self.caller, self.human, self.clock)

        def write(texts: Any) -> list[dict[str, Any]]:
            self.written = texts
            return [{"path": path, "digest": "d", "size": len(text)} for path, text in texts]

        return asyncio.run(execute(self.plan, ports, "run-1", self.events.append, write))

    def fails_with(self, kind: type[StrandsCliError]) -> StrandsCliError:
        with pytest.raises(kind) as raised:
            self.run()
        return raised.value

    @property
    def prompts(self) -> list[str]:
        return [request.prompt for request in self.agents.requests]

    def recorded_keys(self) -> list[str]:
        return [row.key for row in self.journal.rows()]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    sound(tmp_path, "echo")
    sound(tmp_path, "file_read")
    return tmp_path


def test_the_keys_of_a_chain_are_compatibility_data(site: Path) -> None:
    plan = chain_of(
        """
        - {agent: writer, input: go}
        - {type: hitl, prompt: Good?}
        - {tool: echo, input: {text: "{{ last_response }}"}}
        """,
        rest="outputs: {artifacts: [{path: a, from: b}]}",
        catalog=discover_catalog([str(site)]),
    )
    call = ("file_read", {"path": "a"})
    turns = {"steps.0": [Use((call,)), Use((call, call)), Say("done")]}
    answers = ["yes", "yes", "yes", "good", "yes"]
    played = Played(plan, turns, answers, {"file_read": str, "echo": str}, approve=True)
    played.run()
    assert played.recorded_keys() == [
        "steps.0",
        "steps.0/model.0",
        "steps.0/tool.0.file_read/approval",
        "steps.0/tool.0.file_read",
        "steps.0/model.1",
        "steps.0/tool.1.file_read/approval",
        "steps.0/tool.1.file_read",
        "steps.0/tool.2.file_read/approval",
        "steps.0/tool.2.file_read",
        "steps.0/model.2",
        "steps.1",
        "steps.2",
        "steps.2/tool.0.echo/approval",
        "steps.2/tool.0.echo",
        "artifacts",
    ]
    assert [row.kind for row in played.journal.rows()][-5:] == ["human", "step", "human", "tool", "artifacts"]
    assert {row.status for row in played.journal.rows()} == {"done"}


def test_each_step_sees_those_before_it() -> None:
    plan = chain_of(
        """
        - {agent: writer, input: "on {{ topic }}"}
        - {type: hitl, prompt: "{{ last_response }}?", context_display: "{{ steps[0].agent }}"}
        - agent: editor
          vars: {n: "{{ steps | length }}", whole: "{{ steps[0] }}"}
          input: "{{ n + 1 }} {{ whole.index }} {{ hitl_response }} {{ last_response }} {{ steps[1].agent }}"
        """,
        rest="inputs: {values: {topic: bees}}",
    )
    played = Played(plan, {"steps.0": [Say("a text")], "steps.2": [Say("end")]}, ["shorter"])
    assert played.run().response == "end"
    assert played.prompts == ["on bees", "3 0 shorter shorter person"]
    assert (played.human.asked[0].prompt, played.human.asked[0].context) == ("a text?", "writer")


def test_the_time_in_which_a_person_thinks_at_the_terminal_is_the_time_of_the_question() -> None:
    played = Played(chain_of("- {type: hitl, prompt: Good?}"), {})

    class Thinking(ScriptedHuman):
        async def ask(self, question: Question) -> Answer:
            played.clock.advance(60)
            return await super().ask(question)

    played.human = Thinking(["yes"])
    played.run()
    (row,) = played.journal.rows("human")
    assert row.ended_at is not None
    assert row.ended_at - row.started_at == 60


def test_without_an_input_the_first_step_gets_its_prompt_and_later_ones_the_last_response() -> None:
    plan = chain_of(
        "- {agent: writer}\n- {agent: editor}",
        agents="{writer: {prompt: 'Write on {{ topic }}.'}, editor: {prompt: You edit.}}",
        rest="inputs: {values: {topic: bees}}",
    )
    played = Played(plan, {"steps.0": [Say("text")], "steps.1": [Say("edited")]})
    played.run()
    assert played.prompts == ["Write on bees.", "text"]
    assert [request.system_prompt for request in played.agents.requests] == ["Write on bees.", "You edit."]


@pytest.mark.parametrize("nothing", ["", " \n"])
def test_a_step_with_nothing_to_say_fails_before_a_model_is_asked(nothing: str, wording: Wording) -> None:
    played = Played(chain_of("- {agent: writer, input: go}\n- {agent: editor}"), {"steps.0": [Say(nothing)]})
    error = played.fails_with(RunFailed)
    wording(error.message)
    assert played.agents.asked == ["steps.0/model.0"]


def test_what_a_model_says_is_never_a_template() -> None:
    plan = chain_of("- {agent: writer, input: go}\n- {agent: editor, input: 'Edit: {{ last_response }}'}")
    played = Played(plan, {"steps.0": [Say("{{ topic }} {% raw %}")], "steps.1": [Say("{{ x }}")]})
    assert played.run().response == "{{ x }}"
    assert played.prompts[1] == "Edit: {{ topic }} {% raw %}"


def test_a_template_that_cannot_be_rendered_fails_the_step_and_names_the_variable() -> None:
    plan = chain_of("- {agent: writer, input: go}\n- {agent: editor, input: 'on {{ topic }}'}")
    played = Played(plan, {"steps.0": [Say("x")]})
    error = played.fails_with(RunFailed)
    assert "steps.1.input" in error.message
    assert "'topic'" in error.message
    assert [type(event) for event in played.events[-2:]] == [StepFailed, RunFinished]
    assert played.journal.get("status") == "failed"
    assert played.journal.get("reason") == error.message


def test_a_call_step_renders_its_input_and_gives_its_text_and_json_to_later_steps(site: Path) -> None:
    plan = chain_of(
        """
        - {tool: echo, input: {text: "n is {{ n }}", deep: ["{{ n }}", {k: "{{ n }}"}]}}
        - {agent: writer, input: "{{ steps[0].response }} by {{ steps[0].agent }}: {{ steps[0].output }}"}
        """,
        rest="inputs: {values: {n: 3}}",
        catalog=discover_catalog([str(site)]),
    )
    played = Played(plan, {"steps.1": [Say("ok")]}, tools={"echo": lambda arguments: arguments["text"]})
    played.run()
    assert played.caller.called == [("steps.0/tool.0.echo", {"text": "n is 3", "deep": [3, {"k": 3}]})]
    assert played.prompts == ["n is 3 by echo: 6"]


def test_a_failing_call_step_fails_the_run_with_what_the_tool_answered(site: Path) -> None:
    plan = chain_of("- {tool: echo, input: {text: x}}", catalog=discover_catalog([str(site)]))

    def broken(arguments: Any) -> str:
        raise ValueError("no such thing")

    played = Played(plan, tools={"echo": broken})
    error = played.fails_with(RunFailed)
    assert error.message == "steps.0: the tool echo failed: ValueError: no such thing"
    step, tool = played.journal.row("steps.0"), played.journal.row("steps.0/tool.0.echo")
    assert step is not None
    assert tool is not None
    assert (step.status, step.detail["error"], tool.status) == ("failed", error.message, "done")


def test_an_agents_failure_is_recorded_and_the_run_can_go_on_later() -> None:
    plan = chain_of("- {agent: writer, input: go}")
    journal = MemoryJournal()
    error = Played(plan, {"steps.0": [RunFailed("the model is away")]}, journal=journal).fails_with(RunFailed)
    assert error.message == "the model is away"
    again = Played(plan, {"steps.0": [Say("back")]}, journal=journal)
    assert again.run().response == "back"
    row = journal.row("steps.0")
    assert row is not None
    assert row.attempt == 2


def test_tool_overrides_replace_the_tools_of_the_agent_in_that_step_only(site: Path) -> None:
    plan = chain_of(
        """
        - {agent: writer, input: a}
        - {agent: writer, input: b, tool_overrides: []}
        - {agent: writer, input: c, tool_overrides: [echo]}
        """,
        rest="tools: {python: [file_read]}",
        catalog=discover_catalog([str(site)]),
    )
    played = Played(plan, {f"steps.{n}": [Say("x")] for n in range(3)})
    played.run()
    names = [[tool.name for tool in request.tools] for request in played.agents.requests]
    assert names == [["file_read"], [], ["echo"]]


GATE = "- {type: hitl, prompt: Go on?, context_display: text%s}\n- {agent: writer, input: '{{ hitl_response }}'}"


def test_an_answered_gate_is_recorded_and_not_asked_again() -> None:
    plan, journal = chain_of(GATE % ""), MemoryJournal()
    first = Played(plan, {"steps.1": [RunFailed("away")]}, ["yes"], journal=journal)
    first.fails_with(RunFailed)
    asked, answered = (e for e in first.events if isinstance(e, (HumanAsked, HumanAnswered)))
    assert isinstance(asked, HumanAsked)
    assert isinstance(answered, HumanAnswered)
    assert (asked.key, asked.prompt, answered.answer, answered.by) == ("steps.0", "Go on?", "yes", "person")
    again = Played(plan, {"steps.1": [Say("x")]}, journal=journal)
    again.run()
    assert again.prompts == ["yes"]
    assert [e.replayed for e in again.events if isinstance(e, StepFinished)] == [True, False]


@pytest.mark.parametrize("outcome", ["waiting", "nobody"])
def test_an_unanswered_gate_is_stored_and_the_run_waits(outcome: Any, wording: Wording) -> None:
    plan = chain_of(GATE % ", validation: {pattern: 'y|n'}, default: y, timeout_seconds: 60")
    played = Played(plan, answers=[Answer(outcome)])
    error = played.fails_with(WaitingForPerson)
    wording(error.message)
    row = played.journal.row("steps.0")
    assert row is not None
    assert (row.kind, row.status) == ("human", "waiting")
    assert row.detail == {
        "kind": "gate",
        "prompt": "Go on?",
        "context": "text",
        "pattern": "y|n",
        "default": "y",
        "timeout_s": 60.0,
    }
    assert played.journal.get("status") == "waiting"
    assert not any(isinstance(event, StepFailed) for event in played.events)


def test_every_answer_must_match_the_pattern() -> None:
    plan = chain_of(GATE % ", validation: {pattern: 'yes|no'}")
    played = Played(plan, {"steps.1": [Say("x")]}, ["yes please", "", "no"])
    played.run()
    assert played.prompts == ["no"]
    first, *again = [question.problem for question in played.human.asked]
    assert first is None
    assert [
        answer in str(problem) and "'yes|no'" in str(problem)
        for answer, problem in zip(("'yes please'", "''"), again, strict=True)
    ] == [True, True]


def test_a_waiting_gate_takes_its_default_once_its_time_is_over() -> None:
    plan, journal, clock = chain_of(GATE % ", default: later, timeout_seconds: 60"), MemoryJournal(), FakeClock()
    for _ in range(2):
        Played(plan, answers=[Answer("waiting")], journal=journal, clock=clock).fails_with(WaitingForPerson)
        clock.advance(30)
    last = Played(plan, {"steps.1": [Say("x")]}, journal=journal, clock=clock)
    last.run()
    assert last.prompts == ["later"]
    row = journal.row("steps.0")
    assert row is not None
    assert row.output == {"text": "later", "by": "default"}


def test_a_gate_whose_question_changed_is_not_answered_by_the_old_answer() -> None:
    journal = MemoryJournal()
    Played(chain_of(GATE % ""), {"steps.1": [RunFailed("away")]}, ["yes"], journal=journal).fails_with(RunFailed)
    other = Played(chain_of((GATE % "").replace("Go on?", "Delete all?")), journal=journal)
    assert "steps.0" in other.fails_with(RunRecordError).message


def test_an_approval_that_no_one_can_give_is_not_recorded() -> None:
    plan = chain_of("- {agent: writer, input: go}")
    played = Played(plan, {"steps.0": [Use((("x", {}),)), Say("done")]}, [Answer("nobody")], {"x": str}, approve=True)
    played.run()
    assert "steps.0/tool.0.x/approval" not in played.recorded_keys()


def test_a_gate_counts_as_a_step() -> None:
    plan = chain_of(
        "- {type: hitl, prompt: a}\n- {type: hitl, prompt: b}", runtime="{provider: openai, budgets: {max_steps: 1}}"
    )
    played = Played(plan, answers=["x"])
    played.fails_with(BudgetExceeded)
    assert [question.key for question in played.human.asked] == ["steps.0"]


def test_events_come_in_order_and_tell_the_whole_story() -> None:
    plan = chain_of(
        "- {agent: writer, input: go}\n- {agent: editor}", rest="outputs: {artifacts: [{path: a, from: b}]}"
    )
    turns = {
        "steps.0": [Use((("x", {}),), Usage(1, 2)), Say("one", Usage(4, 8))],
        "steps.1": [Say("two", Usage(16, 32))],
    }
    played = Played(plan, turns, tools={"x": str})
    result = played.run()
    assert [type(event).__name__ for event in played.events] == [
        "RunStarted",
        "StepStarted",
        "StepFinished",
        "StepStarted",
        "StepFinished",
        "ArtifactWritten",
        "RunFinished",
    ]
    started, ended = played.events[0], played.events[-1]
    assert isinstance(started, RunStarted)
    assert isinstance(ended, RunFinished)
    assert (started.run_id, started.workflow, started.pattern, started.steps, started.resumed) == (
        "run-1",
        "test",
        "chain",
        2,
        False,
    )
    finished = [event for event in played.events if isinstance(event, StepFinished)]
    assert [(event.key, event.who, event.text, event.usage) for event in finished] == [
        ("steps.0", "writer", "one", Usage(5, 10)),
        ("steps.1", "editor", "two", Usage(16, 32)),
    ]
    assert (ended.status, ended.reason, ended.usage) == ("completed", None, Usage(21, 42))
    assert (ended.model_calls, ended.tool_calls) == (3, 1) == (result.model_calls, result.tool_calls)
    assert [type(e) for e in played.events if getattr(e, "key", "") == "steps.1"] == [StepStarted, StepFinished]


def test_a_finished_run_that_is_run_again_does_nothing_and_says_the_same() -> None:
    plan = chain_of("- {agent: writer, input: go}", rest="outputs: {artifacts: [{path: a, from: '{{ TRACE }}'}]}")
    journal = MemoryJournal()
    first = Played(plan, {"steps.0": [Say("one")]}, journal=journal)
    again = Played(plan, journal=journal)
    done, replayed = first.run(), again.run()
    assert replayed == done
    assert again.agents.asked == []
    assert again.written == []
    assert isinstance(again.events[0], RunStarted)
    assert again.events[0].resumed


def test_a_tool_call_step_that_failed_calls_again_on_resume_and_an_agents_call_does_not(
    site: Path, wording: Wording
) -> None:
    plan = chain_of(
        """
        - {agent: writer, input: go}
        - {tool: echo, input: {text: hello}}
        """,
        catalog=discover_catalog([str(site)]),
    )

    def unavailable(_given: Any) -> str:
        raise OSError("no route")

    turns = {"steps.0": [Use((("file_read", {"path": "a"}),)), Say("done")]}
    journal = MemoryJournal()
    broken = Played(plan, turns, tools={"file_read": unavailable, "echo": unavailable}, journal=journal)
    wording(broken.fails_with(RunFailed).message)
    again = Played(plan, turns, tools={"file_read": str, "echo": str}, journal=journal)
    assert again.run().response == "{'text': 'hello'}"
    assert [key for key, _ in again.caller.called] == ["steps.1/tool.0.echo"]
    row = journal.row("steps.1/tool.0.echo")
    assert row is not None
    assert row.attempt == 2
