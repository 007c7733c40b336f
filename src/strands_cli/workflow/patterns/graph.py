"""The graph: nodes joined by edges, with conditions and cycles."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from strands_cli.errors import Code, Finding
from strands_cli.workflow.findings import no_effect, unknown
from strands_cli.workflow.graph_paths import distance, in_loops, leading_to_each, reached, reached_from, waves_of
from strands_cli.workflow.pattern_model import (
    ANSWER,
    ANY,
    CONFIG,
    UNSHOWN,
    PatternModel,
    PlacedStep,
    Scope,
    SharedAgent,
    Site,
    StepEdge,
    Text,
    result_of,
    scope_of,
    text_of,
)
from strands_cli.workflow.patterns.graph_branches import Branches
from strands_cli.workflow.sections import FormatModel, Named
from strands_cli.workflow.steps import AgentStep, GateStep, Step
from strands_cli.yaml_files.document import escape

if TYPE_CHECKING:
    from strands_cli.workflow.findings import Locator

EDGE_FORM = Code("edge-form", "An edge with both or neither of `to` and `choose`.", "Keep one of the two.")
UNKNOWN_NODE = Code("unknown-node", "An edge names a node that is not defined.", "Correct the name or define the node.")
UNREACHABLE_NODE = Code(
    "unreachable-node", "A node that no path from the first node reaches.", "Add an edge, or remove the node."
)
NO_ELSE = Code(
    "no-else",
    "A choice without `else`: when no condition is true, the path ends.",
    "Add an `else` if it should continue.",
)

NODE: Scope = scope_of("agent", "status", "iteration", *UNSHOWN)
GATE: Scope = {**NODE, **scope_of("approved")}

STARTER = """\
agents:
  writer: {prompt: You write one sentence., tools: []}
  reviewer: {prompt: Answer with one word., tools: []}

pattern:
  type: graph
  config:
    max_iterations: 3
    nodes:
      write: {agent: writer, input: "{% if nodes.review is defined %}Again: {% endif %}One sentence on {{ topic }}."}
      review: {agent: reviewer, input: "{{ nodes.write.response }} Fine or boring?"}
      polish: {agent: writer, input: "Polish: {{ nodes.write.response }}"}
    edges:
      - {from: write, to: [review]}
      - from: review
        choose:
          - {when: "'fine' in nodes.review.response.lower()", to: polish}
          - {when: else, to: write}

outputs:
  overwrite: true   # a run replaces the file of the run before
  artifacts:
    - {path: "{{ name }}.md", from: "{{ last_response }}"}
"""
RECORDING = """\
recording: 1
steps:
  nodes.write#1: [{text: Bees fly.}]
  nodes.review#1: [{text: boring}]
  nodes.write#2: [{text: Bees dance the way to the flowers.}]
  nodes.review#2: [{text: fine}]
  nodes.polish#1: [{text: Bees dance each other the way to the flowers.}]
"""


class Choice(FormatModel):
    """One conditional edge."""

    when: str = Field(min_length=1, description="A condition, with or without `{{ }}`; or `else`.")
    to: str = Field(min_length=1, description="The node that follows.")


class Edge(FormatModel):
    """The nodes after a node: always `to`, or the first choice whose condition is true."""

    from_: str = Field(alias="from", min_length=1, description="The node that has just finished.")
    to: tuple[str, ...] | None = Field(default=None, min_length=1, description="Nodes that follow, together.")
    choose: tuple[Choice, ...] | None = Field(default=None, min_length=1, description="Choices, tried in order.")

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Read `to: node` as `to: [node]`."""
        if isinstance(value, dict) and isinstance(value.get("to"), str):
            return {**value, "to": [value["to"]]}
        return value

    def targets(self) -> tuple[str, ...]:
        """Return the nodes that the edge may lead to."""
        return (*(self.to or ()), *(choice.to for choice in self.choose or ()))


class GraphConfig(FormatModel):
    """Nodes joined by edges, cycles allowed; the first node is the entry."""

    nodes: Named[Step] = Field(min_length=1, description="The nodes, by id.")
    edges: tuple[Edge, ...] = Field(default=(), description="The edges between nodes.")
    max_iterations: int = Field(default=10, ge=1, description="How often one node may run.")
    all_nodes: bool = Field(default=False, description="Whether `nodes` has also nodes that have not run.")

    @functools.cached_property
    def followers(self) -> dict[str, list[str]]:
        """Return the followers of each node by its edges; other names than nodes are left out."""
        followers: dict[str, list[str]] = {node: [] for node in self.nodes}
        for edge in self.edges:
            if edge.from_ in followers:
                followers[edge.from_] += [name for name in edge.targets() if name in followers]
        return followers

    @functools.cached_property
    def gates(self) -> set[str]:
        """Return the nodes that ask a person."""
        return {name for name, node in self.nodes.items() if isinstance(node, GateStep)}

    def has_gate_before(self, node: str) -> bool:
        """Return whether a gate may be answered before a node begins, on a path to it or beside it."""
        return node in self._after_gates

    @functools.cached_property
    def _after_gates(self) -> set[str]:
        if not self.gates:
            return set()
        after = reached_from(self.gates, self.followers)
        after |= reached_from(in_loops(self.followers), self.followers)  # a loop may last as long as a gate needs
        first_gate = distance(next(iter(self.nodes)), self.gates, self.followers)
        if first_gate < len(self.nodes):
            after |= {node for node, before in leading_to_each(self.followers) if before.bit_count() > first_gate}
        return after


class Graph(PatternModel):
    """Nodes joined by edges."""

    runs = "strands_cli.engine.patterns.graph:graph"
    purpose = "Nodes joined by edges with conditions, cycles allowed; the first node is the entry."
    starter = STARTER
    recording = RECORDING
    joins_any = True

    type: Literal["graph"] = Field(description="The pattern's name.")
    config: GraphConfig = Field(description="Nodes and edges.")

    def steps(self) -> Iterator[PlacedStep]:
        """Yield the nodes."""
        for name, node in self.config.nodes.items():
            yield PlacedStep(f"nodes.{name}#N", f"{CONFIG}/nodes/{escape(name)}", node, self._scope(name))

    def names_at_end(self) -> Scope:
        """Return the results of the nodes, and which one ran last."""
        return {"terminal_node": ANY, **self._results}

    @functools.cached_property
    def _results(self) -> dict[str, Any]:
        nodes = self.config.nodes.items()
        return {"nodes": {name: _result_of(node) for name, node in nodes}}

    def _scope(self, node: str, *, is_after: bool = False) -> dict[str, Any]:
        """Return the names that a node's templates may use, or the conditions of the edges after it."""
        is_answered = self.config.has_gate_before(node) or (is_after and node in self.config.gates)
        last = self._last_of([node] if is_after else self._before[node])
        return {**self._results, "last_response": last, **(ANSWER if is_answered else {})}

    @functools.cached_property
    def _before(self) -> dict[str, list[str]]:
        before: dict[str, list[str]] = {node: [] for node in self.config.nodes}
        for node, followers in self.config.followers.items():
            for follower in followers:
                before[follower].append(node)
        return before

    def _last_of(self, nodes: Sequence[str]) -> Text:
        """Return the answer of one of these nodes."""
        known_nodes = [node for node in nodes if node in self.config.nodes]
        if len(known_nodes) == 1:
            return text_of(self.config.nodes[known_nodes[0]], ("nodes", known_nodes[0], "output"))
        return Text()

    def last_answer(self) -> Text:
        """Return the answer of the node at the end of the path, where there is only one such node."""
        return self._last_of([node for node, followers in self.config.followers.items() if not followers])

    def edges(self) -> list[StepEdge]:
        """Return the edges, with the conditions of choices."""
        edges: list[StepEdge] = []
        for edge in self.config.edges:
            before = f"nodes.{edge.from_}#N"
            edges += [StepEdge(before, f"nodes.{target}#N") for target in edge.to or ()]
            edges += [StepEdge(before, f"nodes.{choice.to}#N", choice.when) for choice in edge.choose or ()]
        return edges

    def templates(self) -> Iterator[Site]:
        """Yield the conditions of the choices."""
        for index, edge in enumerate(self.config.edges):
            scope = self._scope(edge.from_, is_after=True)
            for number, choice in enumerate(edge.choose or ()):
                pointer = f"{CONFIG}/edges/{index}/choose/{number}/when"
                yield Site(pointer, choice.when, scope, is_condition=True)

    def check(self, locator: Locator) -> Iterator[Finding]:
        """Report edges without a node or a form, choices without `else`, and nodes that no path leads to."""
        is_sound = True
        for index, edge in enumerate(self.config.edges):
            # One at a time: who asks stops after a number of mistakes, and each takes a search for a close name.
            for finding in _check_edge(edge, f"{CONFIG}/edges/{index}", self.config.nodes, locator):
                is_sound = is_sound and finding.severity != "error"
                yield finding
        if is_sound:  # an edge with a mistake may be the way to the others
            yield from _check_reachable(self.config, locator)

    def shared_agents(self, agents: Collection[str]) -> Iterator[SharedAgent]:
        """Yield agents of nodes that run at the same time; a warning where they only may."""
        nodes = self.config.nodes
        speaking = {name: node.agent for name, node in nodes.items() if isinstance(node, AgentStep)}
        speaking = {name: agent for name, agent in speaking.items() if agent in agents}
        if len(set(speaking.values())) == len(speaking):
            return
        certainty = _at_once(self.config, speaking)
        for name, is_certain in certainty.items():
            pointer = f"{CONFIG}/nodes/{escape(name)}/agent"
            yield SharedAgent(speaking[name], pointer, "error" if is_certain else "warning")

    def limits(self) -> Iterator[str]:
        """Yield how often a node may run."""
        yield f"One node runs at most {self.config.max_iterations} times."


def _result_of(node: Step) -> Scope:
    answer = result_of(node)
    names = GATE if isinstance(node, GateStep) else NODE
    return {**names, "response": answer["response"], "output": answer["output"]}


def _check_edge(edge: Edge, pointer: str, nodes: Iterable[str], locator: Locator) -> Iterator[Finding]:
    if edge.from_ not in nodes:
        yield unknown(UNKNOWN_NODE, edge.from_, nodes, locator.where(f"{pointer}/from"))
    for number, name in enumerate(edge.to or ()):
        if name not in nodes:
            yield unknown(UNKNOWN_NODE, name, nodes, locator.where(f"{pointer}/to/{number}"))
    if (edge.to is None) == (edge.choose is None):
        how = "both `to` and `choose`" if edge.to else "neither `to` nor `choose`"
        message = f"an edge needs one of `to` and `choose`; this one has {how}"
        yield Finding(EDGE_FORM, message, locator.where(pointer))
    if edge.choose:
        yield from _check_choices(edge.choose, f"{pointer}/choose", nodes, locator)


def _check_choices(
    choices: Sequence[Choice], pointer: str, nodes: Iterable[str], locator: Locator
) -> Iterator[Finding]:
    is_else = [choice.when.strip().strip("{} ").lower() == "else" for choice in choices]
    for number, choice in enumerate(choices):
        if choice.to not in nodes:
            yield unknown(UNKNOWN_NODE, choice.to, nodes, locator.where(f"{pointer}/{number}/to"))
        if any(is_else[:number]):
            message = "a choice after `else` is never reached"
            yield no_effect(message, locator.where(f"{pointer}/{number}"), "put `else` last")
    if not any(is_else):
        message = "where none of these conditions is true, the path ends here"
        fix = "add `{when: else, to: ...}` to continue it"
        yield Finding(NO_ELSE, message, locator.where(pointer), fix, "warning")


def _check_reachable(config: GraphConfig, locator: Locator) -> Iterator[Finding]:
    entry = next(iter(config.nodes))
    reachable = {entry, *reached(entry, config.followers)}
    for name in config.nodes:
        if name not in reachable:
            where = locator.where(f"{CONFIG}/nodes/{escape(name)}", key=True)
            message = f"no path leads from the first node, {entry!r}, to {name!r}"
            yield Finding(UNREACHABLE_NODE, message, where, "add an edge, or remove the node", "warning")


def _at_once(config: GraphConfig, speaking: Mapping[str, str]) -> dict[str, bool]:
    """Return the nodes whose agents may work on an earlier node of the file at the same time; True where they must.

    Where choices or cycles leave the order to the run, these are nodes on paths that begin together.

    Args:
        speaking: The agents to examine, by their nodes.
    """
    followers = config.followers
    if any(edge.choose for edge in config.edges) or in_loops(followers):
        return Branches(followers, config.edges, speaking).at_once()
    certain: dict[str, bool] = {}
    for wave in waves_of(followers):
        seen: set[str] = set()
        for node in wave:
            if speaking.get(node) in seen:
                certain[node] = True
            elif node in speaking:
                seen.add(speaking[node])
    return certain
