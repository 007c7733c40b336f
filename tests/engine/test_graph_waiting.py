"""A graph in which a node waits for a person continues elsewhere, and ends as if it had not waited."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.engine.journal.journal_rows import Answer
from strands_cli.engine.plan_execution import execute
from strands_cli.engine.ports import Ports
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import RunFailed, WaitingForPerson
from tests.engine.test_patterns import Answering
from tests.fakes.plans import plan_of
from tests.fakes.ports import FakeClock, ScriptedHuman, ScriptedTools

# All orders of late answers take seconds.
pytestmark = pytest.mark.hostile

HEAD = """
version: 2
name: test
runtime: {provider: openai, model_id: m}
agents: {writer: {prompt: You write.}, keeper: {prompt: You remember., memory: run}}
"""


class Graph:
    """A graph that can be run again and again over one journal; nodes are lines of YAML by name."""

    def __init__(self, nodes: dict[str, str], edges: str, limit: int = 3) -> None:
        listed = "".join(f"      {name}: {{{node}}}\n" for name, node in nodes.items())
        config = f"    max_iterations: {limit}\n    nodes:\n{listed}    edges: [{edges}]\n"
        self.plan = plan_of(f"{HEAD}pattern:\n  type: graph\n  config:\n{config}")
        self.journal = MemoryJournal()
        self.asked: list[str] = []
        self.questions: list[str] = []

    def run(self, *answers: Any) -> str:
        agents, human = Answering({}), ScriptedHuman(list(answers))
        ports = Ports(self.journal, agents, ScriptedTools(), human, FakeClock())
        try:
            return asyncio.run(execute(self.plan, ports, "run-1", lambda event: None, lambda _: [])).response
        finally:
            self.asked = [key.removeprefix("nodes.").removesuffix("/model.0") for key in agents.asked]
            self.questions = [question.key for question in human.asked]

    def waits(self, *answers: Any) -> list[str]:
        try:
            self.run(*answers, *[Answer("waiting")] * 9)
        except WaitingForPerson:
            return self.asked
        raise AssertionError("it did not wait")


WRITE, GATE = "agent: writer, input: go", "type: hitl, prompt: well?"
FAN = "{from: start, to: [gate, a]}, {from: a, to: b}"


def test_other_paths_go_on_to_their_ends_while_a_gate_waits() -> None:
    graph = Graph(
        {
            "start": WRITE,
            "gate": GATE,
            "a": WRITE,
            "b": "agent: writer",
            "c": "agent: writer, input: '{{ nodes.b.agent }}'",
        },
        f"{FAN}, {{from: b, to: c}}",
    )
    assert graph.waits() == ["start#1", "a#1", "b#1", "c#1"]
    graph.run("fine")
    assert graph.asked == []


def test_a_join_and_what_the_gate_leads_to_wait_for_the_answer() -> None:
    nodes = {"start": WRITE, "gate": GATE, "a": WRITE, "b": WRITE, "after": WRITE, "join": WRITE}
    graph = Graph(nodes, f"{FAN}, {{from: gate, to: after}}, {{from: after, to: join}}, {{from: b, to: join}}")
    assert graph.waits() == ["start#1", "a#1", "b#1"]
    graph.run("fine")
    assert graph.asked == ["after#1", "join#1"]


def test_a_node_that_looks_at_the_answer_waits_with_its_path_and_the_rest_goes_on() -> None:
    for look in (
        "{% if nodes.gate is defined %}{{ nodes.gate.response }}{% endif %}x",
        "{% for name in nodes %}{{ name }}{% endfor %}",
        "{{ hitl_response | default('x') }}",
        "{{ nodes['ga' ~ 'te'] | default('x') }}",
    ):
        graph = Graph(
            {
                "start": WRITE,
                "gate": GATE,
                "a": f'agent: writer, input: "{look}"',
                "b": WRITE,
                "other": WRITE,
                "end": WRITE,
            },
            "{from: start, to: [gate, other]}, {from: start, to: a}, {from: a, to: b}, {from: other, to: end}",
        )
        # The first wave is given the same with and without the answer; `a` is in it.
        assert graph.waits() == ["start#1", "a#1", "other#1", "b#1", "end#1"]
        graph = Graph(
            {
                "start": WRITE,
                "gate": GATE,
                "b": WRITE,
                "a": f'agent: writer, input: "{look}"',
                "after": WRITE,
                "other": WRITE,
                "end": WRITE,
            },
            "{from: start, to: [gate, other, b]}, {from: b, to: a}, {from: a, to: after}, {from: other, to: end}",
        )
        assert graph.waits() == ["start#1", "b#1", "other#1", "end#1"]
        graph.run("fine")
        assert graph.asked == ["a#1", "after#1"]


def test_a_node_that_looks_at_what_is_behind_the_gate_waits_too() -> None:
    look = "agent: writer, input: '{{ nodes.after.response | upper if nodes.after is defined else 1 }}'"
    nodes = {"start": WRITE, "gate": GATE, "after": WRITE, "a": WRITE, "b": WRITE, "c": look}
    graph = Graph(nodes, f"{FAN}, {{from: gate, to: after}}, {{from: b, to: c}}")
    assert graph.waits() == ["start#1", "a#1", "b#1"]
    graph.run("fine")
    assert graph.asked == ["after#1", "c#1"]


def test_a_choice_that_looks_at_the_answer_is_made_when_it_is_there() -> None:
    nodes = {"start": WRITE, "gate": GATE, "a": WRITE, "b": WRITE, "c": WRITE}
    when = "nodes.gate is defined and nodes.gate.response == 'fine'"
    graph = Graph(
        nodes,
        f'{{from: start, to: [gate, a]}}, {{from: a, choose: [{{when: "{when}", to: b}}, {{when: else, to: c}}]}}',
    )
    assert graph.waits() == ["start#1", "a#1"]
    graph.run("fine")
    assert graph.asked == ["b#1"]


def test_a_loop_through_the_gate_leaves_the_keys_what_they_are() -> None:
    back = '{from: gate, choose: [{when: "nodes.gate.iteration == 1", to: b}]}, {from: b, to: gate}'
    graph = Graph({"start": WRITE, "gate": GATE, "a": WRITE, "b": WRITE}, f"{FAN}, {back}")
    assert graph.waits() == ["start#1", "a#1"], "b may run again, so which time is its first is not known"


def test_several_gates_wait_together_and_are_asked_at_once() -> None:
    nodes = {"start": WRITE, "gate": GATE, "a": WRITE, "b": GATE, "c": WRITE, "d": WRITE}
    graph = Graph(nodes, f"{FAN}, {{from: b, to: c}}, {{from: a, to: d}}")
    assert graph.waits() == ["start#1", "a#1", "d#1"]
    assert graph.questions == ["nodes.gate#1", "nodes.b#1"]
    assert graph.waits("fine") == []
    assert graph.questions == ["nodes.gate#1", "nodes.b#1"]
    graph.run("good")
    assert graph.asked == ["c#1"]


def test_a_conversation_keeps_its_order() -> None:
    nodes = {
        "start": WRITE,
        "gate": GATE,
        "a": WRITE,
        "b": "agent: keeper, input: two",
        "c": "agent: keeper, input: one",
    }
    graph = Graph(nodes, f"{FAN}, {{from: gate, to: c}}, {{from: c, to: b}}")
    assert graph.waits() == ["start#1", "a#1"]
    graph = Graph(
        {**nodes, "d": WRITE}, "{from: start, to: [gate, a]}, {from: gate, to: c}, {from: a, to: d}, {from: d, to: b}"
    )
    assert graph.waits() == ["start#1", "a#1", "d#1"]
    graph.run("fine")
    assert graph.asked == ["c#1", "b#1"]


def test_a_node_without_an_input_is_given_the_response_of_the_one_that_led_to_it() -> None:
    nodes = {
        "start": WRITE,
        "a": "agent: writer, input: one",
        "b": "agent: writer, input: two",
        "after": "agent: writer",
    }
    graph = Graph(nodes, "{from: start, to: [a, b]}, {from: a, to: after}")
    assert graph.run() == "<<one>>"


NAMES = "abcdef"
INPUTS = [
    "",
    ", input: go",
    *(f", input: '{{% if nodes.{n} is defined %}}{{{{ nodes.{n}.response }}}}{{% endif %}}.'" for n in NAMES),
]
WHENS = ["else", *(f"nodes.{n} is defined and nodes.{n}.iteration == 1" for n in NAMES)]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, str], str]:
    names = NAMES[: draw(st.integers(2, 6))]
    usable = [text for text in INPUTS if "nodes." not in text or any(f"nodes.{n} " in text for n in names)]
    whens = [text for text in WHENS if text == "else" or any(f"nodes.{n} " in text for n in names)]
    step = st.one_of(st.just(GATE), st.sampled_from(usable).map(lambda text: f"agent: writer{text}"))
    edges = []
    for _ in range(draw(st.integers(1, 8))):
        start = draw(st.sampled_from(names))
        if draw(st.booleans()):
            targets = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
            edges.append(f"{{from: {start}, to: [{', '.join(targets)}]}}")
        else:
            when, target = draw(st.sampled_from(whens)), draw(st.sampled_from(names))
            edges.append(f'{{from: {start}, choose: [{{when: "{when}", to: {target}}}]}}')
    return {name: draw(step) for name in names}, ", ".join(edges)


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_a_late_answer_brings_what_an_answer_at_once_would_have_brought(drawn: tuple[dict[str, str], str]) -> None:
    at_once, late = Graph(*drawn, limit=2), Graph(*drawn, limit=2)
    try:
        at_once.run(*["yes"] * 40)
        fails = None
    except RunFailed as error:
        fails = error.message
    made: list[str] = []
    for attempt in range(40):
        try:
            late.run(*["yes"][:attempt], *[Answer("waiting")] * 20)
        except WaitingForPerson:
            made += late.asked
        except RunFailed:
            assert fails is not None
            return
        else:
            made += late.asked
            break
    assert fails is None
    assert len(set(made)) == len(made)
    left = [{row.key: (row.digest, row.output) for row in graph.journal.rows()} for graph in (at_once, late)]
    assert left[0] == left[1]
