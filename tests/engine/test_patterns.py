from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Answer
from strands_cli.engine.plan_execution import RunResult, execute
from strands_cli.engine.ports import AgentAnswer, AgentRequest, Ports
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import FileAtFault, InvalidAnswer, RunFailed, StrandsCliError, WaitingForPerson
from strands_cli.events import Event, PathEnded, RunWarning
from strands_cli.planning.plan_values import Plan
from strands_cli.workflow.graph_paths import Order
from strands_cli.workflow.patterns.graph import GraphConfig
from tests.distributions import sound
from tests.fakes.plans import plan_of
from tests.fakes.ports import FakeClock, Say, ScriptedAgents, ScriptedHuman, ScriptedTools
from tests.wordings import Wording

HEAD = """
version: 2
name: test
runtime: {provider: openai, model_id: m, max_parallel: 3}
inputs: {values: {topic: bees}}
agents: {writer: {prompt: You write.}, editor: {prompt: You edit.}, judge: {prompt: "100 {% points"}}
"""


class Died(BaseException):
    """The process is gone."""


class Answering(ScriptedAgents):
    """Plays turns by step key; keys that are not scripted echo their prompt; JSON where a schema is asked for."""

    async def run_agent(self, request: AgentRequest, scope: StepScope) -> AgentAnswer:
        if scope.key not in self.turns:
            self.turns = {**self.turns, scope.key: [Say(f"<{request.prompt}>")]}
        answer = await super().run_agent(request, scope)
        return answer if request.output_schema is None else dataclasses.replace(answer, output=json.loads(answer.text))


class Mortal(MemoryJournal):
    """A journal whose process dies before or after one of its writes."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.deadly: tuple[int, str] | None = None

    async def write(self, row: Any) -> None:
        self.writes += 1
        if self.deadly == (self.writes, "before"):
            raise Died
        await super().write(row)
        if self.deadly == (self.writes, "after"):
            raise Died


class Playing:
    """A workflow that can be run again and again over one journal."""

    def __init__(
        self, pattern: str, site: Path, turns: Mapping[str, Sequence[Any]] | None = None, answers: Sequence[Any] = ()
    ) -> None:
        sound(site, "echo")
        indented = "\n".join(f"  {line}" for line in pattern.strip("\n").splitlines())
        self.plan: Plan = plan_of(f"{HEAD}pattern:\n{indented}\n", catalog=discover_catalog([str(site)]))
        assert [f for f in self.plan.findings if f.severity == "error"] == []
        self.turns = turns or {}
        self.answers = list(answers)
        self.journal = Mortal()
        self.events: list[Event] = []
        self.agents = Answering({})
        self.tools = ScriptedTools()
        self.asked: list[str] = []
        self.made: list[str] = []

    def run(self) -> RunResult:
        self.tools = ScriptedTools({"echo": lambda given: str(given["text"])})
        self.agents = Answering(self.turns, self.tools)
        human = ScriptedHuman(list(self.answers[len(self.asked) :]))
        ports = Ports(self.journal, self.agents, self.tools, human, FakeClock())
        try:
            return asyncio.run(execute(self.plan, ports, "run-1", self.events.append, lambda _: []))
        finally:
            self.asked += [question.key for question in human.asked]
            self.made = [*self.agents.asked, *(key for key, _ in self.tools.called)]

    def fails(self, kind: type[StrandsCliError]) -> StrandsCliError:
        with pytest.raises(kind) as raised:
            self.run()
        return raised.value

    @property
    def prompts(self) -> dict[str, str]:
        """The inputs of agents in the last run, by step key."""
        keys = (key.rpartition("/")[0] for key in self.agents.asked)
        return {key: request.prompt for key, request in zip(keys, self.agents.requests, strict=True)}

    def left(self) -> set[str]:
        """Return the keys in the record."""
        return {row.key for row in self.journal.rows()}

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@dataclasses.dataclass(frozen=True)
class Case:
    """One workflow of one pattern with every kind of step, its script, and the keys that it leaves."""

    pattern: str
    turns: Mapping[str, Sequence[Any]]
    answers: Sequence[str]
    keys: set[str]
    response: str


def say(value: Any) -> list[Say]:
    return [Say(value if isinstance(value, str) else json.dumps(value))]


CASES = {
    "chain": Case(
        """
type: chain
config:
  steps:
    - {agent: writer, input: "go {{ topic }}"}
    - {type: hitl, prompt: "{{ last_response }}?"}
    - {tool: echo, input: {text: "{{ steps[0].response }} {{ hitl_response }}"}}
    - {agent: editor}
""",
        {},
        ["yes"],
        {"steps.0", "steps.0/model.0", "steps.1", "steps.2", "steps.2/tool.0.echo", "steps.3", "steps.3/model.0"},
        "<<go bees> yes>",
    ),
    "workflow": Case(
        """
type: workflow
config:
  tasks:
    - id: last
      deps: [gate, tool-call]
      agent: editor
      input: "{{ hitl_response }} {{ tasks['tool-call'].response }} {{ tasks.first.agent }}"
    - {id: first, agent: writer, input: "go"}
    - {id: tool-call, deps: [first], tool: echo, input: {text: "{{ tasks.first.response }}"}}
    - {id: gate, deps: [first], type: hitl, prompt: "{{ tasks.first.response }}?"}
""",
        {},
        ["yes"],
        {
            "tasks.first",
            "tasks.first/model.0",
            "tasks.tool-call",
            "tasks.tool-call/tool.0.echo",
            "tasks.gate",
            "tasks.last",
            "tasks.last/model.0",
        },
        "yes",
    ),
    "routing": Case(
        """
type: routing
config:
  router: {agent: judge, input: "which?", review_router: {type: hitl, prompt: "{{ router.chosen_route }}?"}}
  routes:
    a: {then: [{agent: writer, input: "a"}]}
    b:
      then:
        - {agent: writer, input: "{{ router.chosen_route }} {{ hitl_response }}"}
        - {type: hitl, prompt: "{{ last_response }}?"}
        - {tool: echo, input: {text: "{{ steps[0].response }} {{ hitl_response }}"}}
""",
        {"router": say({"route": "c"}), "router#2": say({"route": "a"})},
        ["b", "yes"],
        {
            "router",
            "router/model.0",
            "router#2",
            "router#2/model.0",
            "router.review",
            "routes.b.steps.0",
            "routes.b.steps.0/model.0",
            "routes.b.steps.1",
            "routes.b.steps.2",
            "routes.b.steps.2/tool.0.echo",
        },
        "<b b> yes",
    ),
    "parallel": Case(
        """
type: parallel
config:
  branches:
    - id: legal
      steps: [{agent: writer, input: "go"}, {type: hitl, prompt: "{{ last_response }}?"}, {agent: editor}]
    - {id: cost, steps: [{tool: echo, input: {text: "7"}}]}
  reduce:
    tool: echo
    input: {text: "{{ branches.legal.response }} {{ branches.cost.response }} {{ branches.legal.steps[0].agent }}"}
""",
        {},
        ["yes"],
        {
            "branches.legal.steps.0",
            "branches.legal.steps.0/model.0",
            "branches.legal.steps.1",
            "branches.legal.steps.2",
            "branches.legal.steps.2/model.0",
            "branches.cost.steps.0",
            "branches.cost.steps.0/tool.0.echo",
            "reduce",
            "reduce/tool.0.echo",
        },
        "<yes> 7 writer",
    ),
    "evaluator_optimizer": Case(
        """
type: evaluator_optimizer
config:
  producer: writer
  evaluator: {agent: judge, input: "{{ iteration }}: {{ draft }} after {{ evaluation.score }}"}
  accept: {min_score: 80, max_iters: 3}
  revise_prompt: "{{ hitl_response }} {{ draft }} {{ evaluation.issues | join }}"
  review_gate: {type: hitl, prompt: "{{ current_draft }} {{ iteration_index }} {{ iterations | length }}?"}
""",
        {
            "iterations.0.evaluator": say({"score": 10, "issues": ["dull"]}),
            "iterations.1.evaluator": say({"score": 80}),
        },
        ["more"],
        {
            "iterations.0.producer",
            "iterations.0.producer/model.0",
            "iterations.0.evaluator",
            "iterations.0.evaluator/model.0",
            "iterations.0.review",
            "iterations.1.producer",
            "iterations.1.producer/model.0",
            "iterations.1.evaluator",
            "iterations.1.evaluator/model.0",
        },
        "<more <You write.> dull>",
    ),
    "orchestrator_workers": Case(
        """
type: orchestrator_workers
config:
  orchestrator: {agent: judge, limits: {max_workers: 2, max_rounds: 3}}
  decomposition_review: {type: hitl, prompt: "{{ subtasks | length }}?"}
  worker_template: {agent: writer}
  reduce_review: {type: hitl, prompt: "{{ num_workers }} in {{ round_count }}?"}
  reduce: {tool: echo, input: {text: "{{ workers | map(attribute='response') | join }} {{ hitl_response }}"}}
  writeup: {agent: editor, input: "{{ reduce_response }}!"}
""",
        {
            "orchestrator": say([{"task": "x"}, {"task": "y"}]),
            "orchestrator#2": say([{"task": "z {{ topic }}"}]),
            "orchestrator#3": say([]),
        },
        ["fine", "yes"],
        {
            "orchestrator",
            "orchestrator/model.0",
            "decomposition_review",
            "workers.0",
            "workers.0/model.0",
            "workers.1",
            "workers.1/model.0",
            "orchestrator#2",
            "orchestrator#2/model.0",
            "workers.2",
            "workers.2/model.0",
            "orchestrator#3",
            "orchestrator#3/model.0",
            "reduce_review",
            "reduce",
            "reduce/tool.0.echo",
            "writeup",
            "writeup/model.0",
        },
        "<<x><y><z {{ topic }}> yes!>",
    ),
    "graph": Case(
        """
type: graph
config:
  nodes:
    write-it: {agent: writer, input: "{{ nodes['write-it'].iteration if 'write-it' in nodes else 'go' }}"}
    ask: {type: hitl, prompt: "{{ nodes['write-it'].response }}?"}
    add: {tool: echo, input: {text: "{{ nodes.ask.status }} {{ hitl_response }}"}}
    end: {agent: editor}
  edges:
    - {from: write-it, to: ask}
    - {from: ask, choose: [{when: "nodes.ask.response contains 'no'", to: write-it}, {when: else, to: add}]}
    - {from: add, to: [end]}
""",
        {},
        ["no", "yes"],
        {
            "nodes.write-it#1",
            "nodes.write-it#1/model.0",
            "nodes.ask#1",
            "nodes.write-it#2",
            "nodes.write-it#2/model.0",
            "nodes.ask#2",
            "nodes.add#1",
            "nodes.add#1/tool.0.echo",
            "nodes.end#1",
            "nodes.end#1/model.0",
        },
        "<completed yes>",
    ),
}


def playing(name: str, site: Path) -> Playing:
    case = CASES[name]
    return Playing(case.pattern, site, case.turns, case.answers)


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_step_works_in_the_pattern_and_leaves_these_keys(name: str, tmp_path: Path) -> None:
    """The keys are compatibility data: a later version continues runs by them."""
    play = playing(name, tmp_path)
    result = play.run()
    assert play.left() == CASES[name].keys
    assert len(play.asked) == len(CASES[name].answers)
    assert result.response == CASES[name].response


@pytest.mark.parametrize("name", CASES)
def test_a_finished_run_that_is_run_again_calls_nothing_and_says_the_same(name: str, tmp_path: Path) -> None:
    play = playing(name, tmp_path)
    first, asked = play.run(), list(play.asked)
    again = play.run()
    assert (play.made, play.asked) == ([], asked)
    assert again.response == first.response


def deaths(name: str, directory: Path) -> Iterator[tuple[int, str]]:
    whole = playing(name, directory)
    whole.run()
    return ((number, when) for number in range(1, whole.journal.writes + 1) for when in ("before", "after"))


@pytest.mark.kills
@pytest.mark.parametrize("name", CASES)
def test_a_run_that_dies_at_any_write_goes_on_and_repeats_nothing_that_was_done(name: str, tmp_path: Path) -> None:
    whole = playing(name, tmp_path / "whole")
    expected = whole.run().response
    for number, (write, when) in enumerate(deaths(name, tmp_path / "counted")):
        play = playing(name, tmp_path / str(number))
        play.journal.deadly = (write, when)
        with pytest.raises(Died):
            play.run()
        play.journal.deadly = None
        done = {row.key for row in play.journal.rows() if row.status == "done"}
        # An answer that was given and not yet recorded is lost with the process: the person is asked again.
        answered = [key for key in play.asked if key in done]
        lost = [key for key in play.asked if key not in done]
        play.answers = [
            *CASES[name].answers[: len(answered)],
            *([""] * len(lost)),
            *CASES[name].answers[len(answered) :],
        ]
        assert play.run().response == expected, (write, when)
        assert not done & set(play.made), (write, when)
        assert play.left() == CASES[name].keys


@pytest.mark.parametrize("name", CASES)
def test_a_gate_stores_the_run_and_the_answer_lets_it_go_on(name: str, tmp_path: Path) -> None:
    case, play = CASES[name], playing(name, tmp_path)
    play.answers = [Answer("nobody")]
    for known in range(len(case.answers)):
        play.answers = [*play.answers[: 2 * known], Answer("waiting"), case.answers[known]]
        play.fails(WaitingForPerson)
        assert play.journal.get("status") == "waiting"
        before = set(play.made)
        if known == len(case.answers) - 1:
            assert play.run().response == case.response
        else:
            play.answers = [*play.answers, Answer("waiting")]
            play.fails(WaitingForPerson)
            play.answers.pop()
            play.asked.pop()
        assert not before & set(play.made)


def test_a_gate_in_a_branch_waits_while_the_other_branches_finish(tmp_path: Path) -> None:
    pattern = """
type: parallel
config:
  branches:
    - {id: a, steps: [{type: hitl, prompt: "well?"}, {agent: writer, input: never}]}
    - {id: b, steps: [{agent: writer, input: one}, {agent: writer, input: two}, {agent: writer, input: three}]}
  reduce: {agent: editor, input: "{{ branches.a.response }}"}
"""
    play = Playing(pattern, tmp_path, answers=[Answer("waiting"), "so"])
    play.fails(WaitingForPerson)
    assert play.made == [f"branches.b.steps.{n}/model.0" for n in range(3)]
    assert play.run().response == "<<never>>"
    assert play.made == ["branches.a.steps.1/model.0", "reduce/model.0"]


def test_results_are_in_the_order_of_the_file_whatever_finishes_first(tmp_path: Path) -> None:
    tasks = "\n".join(
        f'    - {{id: "{name}", {deps}agent: writer, input: "{name}"}}'
        for name, deps in (("z", "deps: [y], "), ("y", "deps: [x], "), ("x", ""))
    )
    play = Playing(f"type: workflow\nconfig:\n  tasks:\n{tasks}\n", tmp_path)
    assert play.run().response == "<x>", "the last task of the file, not the last one that ended"
    assert play.agents.asked == ["tasks.x/model.0", "tasks.y/model.0", "tasks.z/model.0"]


def failing(on_error: str) -> str:
    return f"""
type: workflow
config:
  tasks:
    - {{id: bad, agent: writer, input: x, on_error: {on_error}}}
    - {{id: after, deps: [bad], agent: writer, input: y}}
    - {{id: fine, agent: writer, input: z}}
"""


def test_a_failing_task_stops_the_run_or_only_what_depends_on_it(tmp_path: Path) -> None:
    turns = {"tasks.bad": [RunFailed("no answer")]}
    assert "no answer" in Playing(failing("stop"), tmp_path / "a", turns).fails(RunFailed).message
    play = Playing(failing("continue"), tmp_path / "b", turns)
    assert play.run().response == "<z>"
    assert {key.split("/")[0] for key in play.left()} == {"tasks.bad", "tasks.fine"}


def test_a_failing_branch_stops_the_run_or_gives_the_reduce_step_its_error(tmp_path: Path) -> None:
    pattern = """
type: parallel
config:
  branches:
    - {id: a, on_error: ON_ERROR, steps: [{agent: writer, input: x}, {agent: writer, input: never}]}
    - {id: b, steps: [{agent: writer, input: y}]}
  reduce: {tool: echo, input: {text: "{{ branches.a.status }}: {{ branches.a.response }}, {{ branches.b.response }}"}}
"""
    turns = {"branches.a.steps.0": [RunFailed("no answer")]}
    assert "no answer" in Playing(pattern.replace("ON_ERROR", "stop"), tmp_path / "a", turns).fails(RunFailed).message
    play = Playing(pattern.replace("ON_ERROR", "continue"), tmp_path / "b", turns)
    assert play.run().response == "failed: no answer, <y>"


@pytest.mark.parametrize("name", ["task", "branch"])
def test_a_failure_that_others_went_on_with_is_not_tried_again_on_resume(name: str, tmp_path: Path) -> None:
    """Else a step that was done with the failure would have another input than the one it was recorded with."""
    pattern = """
type: parallel
config:
  branches:
    - {id: a, on_error: continue, steps: [{agent: writer, input: x}]}
    - {id: b, steps: [{agent: writer, input: y}]}
  reduce: {agent: editor, input: "{{ branches.a.status }}"}
"""
    turns = {"branches.a.steps.0": [RunFailed("no")], "tasks.bad": [RunFailed("no")]}
    play = Playing(pattern if name == "branch" else failing("continue"), tmp_path, turns)
    first = play.run()
    play.turns = {}
    assert play.run().response == first.response
    assert play.made == []


def test_a_failure_that_stopped_the_run_is_tried_again_on_resume(tmp_path: Path) -> None:
    play = Playing(failing("stop"), tmp_path, {"tasks.bad": [RunFailed("no")]})
    play.fails(RunFailed)
    play.turns = {}
    assert play.run().response == "<z>"
    assert "tasks.bad/model.0" in play.made


ROUTES = "  routes: {a: {then: [{agent: writer, input: a}]}, b: {then: [{agent: writer, input: b}]}}\n"


@pytest.mark.parametrize("prompt", ["", ', input: "{{ topic }}?"'])
def test_a_router_that_invents_a_route_gets_the_error_and_is_asked_again(
    prompt: str, tmp_path: Path, wording: Wording
) -> None:
    play = Playing(
        f"type: routing\nconfig:\n  router: {{agent: judge{prompt}}}\n{ROUTES}",
        tmp_path,
        {"router": say({"route": "zebra"}), "router#2": [InvalidAnswer("prose")], "router#3": say({"route": "b"})},
    )
    assert play.run().response == "<b>"
    told = play.agents.requests[2].prompt
    question, _, correction = told.partition("\n\n")
    assert question.startswith("bees?" if prompt else "100 {% points"), "the question, as it was asked"
    assert re.search(r": a, b\.$", correction)
    wording(correction)


def test_a_router_that_never_names_a_route_leads_to_the_default_or_fails(tmp_path: Path, wording: Wording) -> None:
    config = f"type: routing\nconfig:\n  router: {{agent: judge, max_retries: 1}}\n{ROUTES}"
    turns = {"router": say({"route": "x"}), "router#2": say({"route": "y"})}
    error = Playing(config, tmp_path / "a", turns).fails(RunFailed)
    wording(error.message)
    wording(error.fix)
    play = Playing(f"{config}  default: b\n", tmp_path / "b", turns)
    assert play.run().response == "<b>"


def reviewed(site: Path, *answers: str) -> Playing:
    review = "review_router: {type: hitl, prompt: well?}"
    config = f"type: routing\nconfig:\n  router: {{agent: judge, {review}}}\n{ROUTES}"
    return Playing(config, site, {"router": say({"route": "a"})}, answers)


@pytest.mark.parametrize(("answer", "taken"), [("b", "<b>"), ("route:b", "<b>"), ("yes", "<a>")])
def test_a_review_may_name_another_route(answer: str, taken: str, tmp_path: Path) -> None:
    assert reviewed(tmp_path, answer).run().response == taken


def dead_after(key: str, *answers: str, site: Path) -> Playing:
    """Return a reviewed run that died when it had written the row of a step."""
    for number in range(1, 20):
        play = reviewed(site / str(number), *answers)
        play.journal.deadly = (number, "after")
        with pytest.raises(Died):
            play.run()
        play.journal.deadly = None
        row = play.journal.row(key)
        if row is not None and (row.status == "done" or row.kind == "step"):
            return play
    raise AssertionError(key)


STOPPED = """
type: evaluator_optimizer
config:
  producer: writer
  producer_input: go
  evaluator: {agent: judge}
  accept: {min_score: 90, max_iters: 3}
  review_gate: {type: hitl, prompt: well?}
"""


@pytest.mark.parametrize("answer", ["stop", " Abort", "END", "accept"])
def test_a_word_at_the_review_takes_the_draft(answer: str, tmp_path: Path) -> None:
    play = Playing(STOPPED, tmp_path, {"iterations.0.evaluator": say({"score": 5})}, [answer])
    assert play.run().response == "<go>"
    assert play.left() == {f"iterations.0.{step}" for step in ("producer", "evaluator", "review")} | {
        f"iterations.0.{step}/model.0" for step in ("producer", "evaluator")
    }


def test_the_last_draft_counts_when_the_iterations_are_used_up(tmp_path: Path) -> None:
    config = """
type: evaluator_optimizer
config: {producer: writer, producer_input: go, evaluator: {agent: judge}, accept: {min_score: 90, max_iters: 2}}
"""
    scores = {f"iterations.{n}.evaluator": say({"score": 50, "issues": ["dull"]}) for n in range(2)}
    with pytest.raises(FileAtFault):
        Playing(config, tmp_path, scores).run()
    play = Playing(config.replace("{producer:", "{on_reject: accept, producer:"), tmp_path / "again", scores)
    assert "Issues: dull" in play.run().response
    assert "<go>" in play.prompts["iterations.0.evaluator"]


ORCHESTRATOR = """
type: orchestrator_workers
config:
  orchestrator: {agent: judge, limits: LIMITS}
  worker_template: {agent: writer}
"""


def tasks_of(count: int) -> dict[str, list[Say]]:
    return {"orchestrator": say([{"task": f"t{n}"} for n in range(count)])}


@pytest.mark.parametrize("limits", ["{}", "{max_workers: 7}", "{max_tasks: 100}"])
def test_every_task_is_done(limits: str, tmp_path: Path) -> None:
    play = Playing(ORCHESTRATOR.replace("LIMITS", limits), tmp_path, tasks_of(100))
    assert play.run().response == "<t99>"
    assert play.of(RunWarning) == []


class InPairs(Answering):
    """Workers that end only when two of them work; the last one works alone."""

    open = most = 0

    async def run_agent(self, request: AgentRequest, scope: StepScope) -> AgentAnswer:
        if not scope.key.startswith("workers."):
            return await super().run_agent(request, scope)
        if self.open == 0:
            self.both = asyncio.Event()
        self.open, both = self.open + 1, self.both
        self.most = max(self.most, self.open)
        if self.open == 2 or scope.key == "workers.4":
            both.set()
        await both.wait()
        answer = await super().run_agent(request, scope)
        self.open -= 1
        return answer


def test_no_more_workers_than_allowed_work_at_the_same_time(tmp_path: Path) -> None:
    play = Playing(ORCHESTRATOR.replace("LIMITS", "{max_workers: 2}"), tmp_path)
    agents = InPairs(tasks_of(5))
    ports = Ports(play.journal, agents, ScriptedTools(), ScriptedHuman([]), FakeClock())
    asyncio.run(execute(play.plan, ports, "run-1", play.events.append, lambda _: []))
    assert agents.most == 2
    assert {f"workers.{n}" for n in range(5)} < play.left()


def test_more_tasks_than_the_limit_fail_before_the_first_worker(tmp_path: Path, wording: Wording) -> None:
    play = Playing(ORCHESTRATOR.replace("LIMITS", "{max_tasks: 4}"), tmp_path, tasks_of(5))
    error = play.fails(FileAtFault)
    wording(error.message)
    wording(error.fix)
    assert not any(key.startswith("workers") for key in play.left())


def test_the_limit_on_tasks_counts_those_of_all_rounds(tmp_path: Path) -> None:
    further = {"orchestrator#2": say([{"task": "x"}, {"task": "y"}])}
    limits = "{max_tasks: 4, max_rounds: 2}"
    play = Playing(ORCHESTRATOR.replace("LIMITS", limits), tmp_path, {**tasks_of(3), **further})
    play.fails(RunFailed)
    assert "workers.2" in play.left()
    assert "workers.3" not in play.left()


def test_gates_and_steps_know_the_numbers_of_tasks_and_workers(tmp_path: Path) -> None:
    text = "{{ task_count }} {{ worker_count }}"
    gates = '  decomposition_review: {type: hitl, prompt: "{{ task_count }}?"}\n'
    gates += f'  reduce_review: {{type: hitl, prompt: "{text}?"}}\n  reduce: {{agent: editor, input: "{text}"}}\n'
    play = Playing(ORCHESTRATOR.replace("LIMITS", "{}") + gates, tmp_path / "a", tasks_of(3), ["yes", "yes"])
    assert play.run().response == "<3 3>"
    rows = {row.key: row.detail.get("prompt") for row in play.journal.rows("human")}
    assert set(rows) == {"decomposition_review", "reduce_review"}


def test_no_task_at_all_ends_the_run_with_a_warning(tmp_path: Path, wording: Wording) -> None:
    pattern = ORCHESTRATOR.replace("LIMITS", "{}") + '  reduce: {tool: echo, input: {text: "{{ num_workers }}"}}\n'
    play = Playing(pattern, tmp_path, {"orchestrator": say([])})
    assert play.run().response == "0"
    (warned,) = play.of(RunWarning)
    wording(warned.message)


def test_an_orchestrator_sees_what_is_done_and_its_rounds_are_bounded(tmp_path: Path) -> None:
    turns = {"orchestrator": say([{"task": "x"}]), "orchestrator#2": say([{"task": "y"}])}
    play = Playing(ORCHESTRATOR.replace("LIMITS", "{max_rounds: 2}"), tmp_path, turns)
    assert play.run().response == "<y>"
    second = play.prompts["orchestrator#2"]
    assert second.startswith("100 {% points\n\nDone so far:\n- x: <x>\n"), "a prompt is no template without {{"


GRAPH = "type: graph\nconfig:\n  max_iterations: 3\n  nodes: {{{nodes}}}\n  edges: [{edges}]\n"


def graph(nodes: str, edges: str) -> str:
    named = ", ".join(f'{name}: {{agent: writer, input: "{name}"}}' for name in nodes.split())
    return GRAPH.format(nodes=named, edges=edges)


def test_a_loop_that_never_ends_is_stopped(tmp_path: Path, wording: Wording) -> None:
    play = Playing(graph("a b", "{from: a, to: b}, {from: b, to: a}"), tmp_path)
    error = play.fails(RunFailed)
    wording(error.message)
    assert len(play.made) == 6


def test_a_path_ends_where_no_choice_holds_and_says_so(tmp_path: Path) -> None:
    play = Playing(graph("a b", "{from: a, choose: [{when: \"'x' in nodes.a.response\", to: b}]}"), tmp_path)
    assert play.run().response == "<a>"
    assert [event.node for event in play.of(PathEnded)] == ["a"]


def test_a_join_runs_once_when_all_paths_that_lead_to_it_have_ended(tmp_path: Path) -> None:
    edges = "{from: a, to: [b, c]}, {from: b, to: join}, {from: c, to: d}, {from: d, to: join}"
    play = Playing(graph("a b c d join", edges), tmp_path)
    assert play.run().response == "<join>"
    assert play.agents.asked[-1] == "nodes.join#1/model.0"
    assert len(play.made) == 5


def test_a_join_does_not_wait_for_a_path_that_ended_elsewhere(tmp_path: Path) -> None:
    edges = '{from: a, to: [b, c]}, {from: b, to: join}, {from: c, choose: [{when: "false", to: join}]}'
    play = Playing(graph("a b c join", edges), tmp_path)
    assert play.run().response == "<join>"


def test_a_fan_out_inside_a_loop_joins_in_each_round(tmp_path: Path) -> None:
    edges = (
        "{from: a, to: [b, c]}, {from: b, to: d}, {from: c, to: e}, {from: e, to: d}, "
        "{from: d, choose: [{when: nodes.d.iteration == 1, to: a}]}"
    )
    play = Playing(graph("a b c d e", edges), tmp_path)
    play.run()
    assert [key.removesuffix("/model.0").removeprefix("nodes.") for key in play.agents.asked] == [
        "a#1",
        "b#1",
        "c#1",
        "e#1",
        "d#1",
        "a#2",
        "b#2",
        "c#2",
        "e#2",
        "d#2",
    ]


def test_edges_back_into_a_loop_do_not_lead_onward() -> None:
    node = {"agent": "x"}
    config = GraphConfig.model_validate(
        {
            "nodes": dict.fromkeys("abcd", node),
            "edges": [{"from": "a", "to": ["b", "a"]}, {"from": "b", "to": ["c"]}, {"from": "c", "to": ["a", "d"]}],
        }
    )
    assert Order(config.followers).ahead == {"a": ["b"], "b": ["c"], "c": ["d"], "d": []}
