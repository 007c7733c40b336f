"""The graph: nodes joined by edges, cycles and fan-out allowed, each node bounded by `max_iterations`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects.effect import Job, Outcome, combined
from strands_cli.engine.step_results import StepResult, with_unshown
from strands_cli.errors import RunFailed, WaitingForPerson
from strands_cli.workflow.graph_paths import Order, reached_from
from strands_cli.workflow.pattern_model import ANSWER, PlacedStep
from strands_cli.workflow.steps import AgentStep, GateStep
from strands_cli.workflow.templates.sandbox import Results
from strands_cli.workflow.templates.template import is_prompt_template

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.errors import WaitingForPerson
    from strands_cli.workflow.patterns.graph import Edge, GraphConfig


# The nodes of a graph that must wait while a question waits for a person.


class WaitingNodes:
    """The nodes of one graph that wait for a person, and those that must wait with them.

    A node is `open` while an answer may change whether, how often or with which input it runs: it waits itself, or a
    path leads to it from a node that does. A node whose templates read an open node waits too, and is then open. So
    the nodes that run meanwhile get the same input as if the answer had been there at once.
    """

    def __init__(self, run: Run, config: GraphConfig) -> None:
        self._run = run
        self._config = config
        self._open: set[str] = set()
        self._waiting: dict[str, WaitingForPerson] = {}

    def wait(self, node: str, reason: WaitingForPerson) -> None:
        """Add a node that waits for a person."""
        self._waiting[node] = reason
        self._open_after([node])

    @property
    def reasons(self) -> list[WaitingForPerson]:
        """The questions, in the order of the file."""
        return [self._waiting[node] for node in self._config.nodes if node in self._waiting]

    def free(self, nodes: list[str]) -> list[str]:
        """Return those of these nodes that can run now; the others wait until the run is resumed."""
        while blocked := [node for node in nodes if self._blocks(node)]:
            self._open_after(blocked)
            nodes = [node for node in nodes if node not in blocked]
        return nodes

    def blocks_edges(self, node: str) -> bool:
        """Return whether an answer may change where a finished node leads; its edges are then not followed."""
        conditions = [choice.when for edge in self._config.edges if edge.from_ == node for choice in edge.choose or ()]
        if not self._open or not self._reads(conditions, are_conditions=True):
            return False
        self._open |= reached_from([node], self._config.followers, beyond=self._open)
        return True

    def _open_after(self, nodes: list[str]) -> None:
        """Open nodes and all that they lead to; the followers of open nodes are open already."""
        self._open |= {*nodes, *reached_from(nodes, self._config.followers, beyond=self._open)}

    def _blocks(self, node: str) -> bool:
        if not self._open:
            return False
        step = self._config.nodes[node]
        texts = [site.text for site in PlacedStep("", "", step).sites()]
        if isinstance(step, AgentStep) and is_prompt_template(prompt := self._run.plan.agents[step.agent].prompt):
            texts.append(prompt)
        return node in self._open or self._shares_conversation(node) or self._reads(texts)

    def _shares_conversation(self, node: str) -> bool:
        """Return whether an open node uses the same conversation (`memory: run`), whose order must be defined."""
        step = self._config.nodes[node]
        if not isinstance(step, AgentStep) or not self._run.step_inputs.conversations.has_one(step):
            return False
        others = (self._config.nodes[other] for other in self._open)
        return any(isinstance(other, AgentStep) and other.agent == step.agent for other in others)

    def _reads(self, texts: Iterable[str], *, are_conditions: bool = False) -> bool:
        """Return whether templates read an open node, or a name that any node may change."""
        templates = self._run.step_inputs.templates
        for text in texts:
            paths = templates.reads_in(text, "nodes", is_condition=are_conditions)
            if any(len(path) < 2 or path[1] == "*" or path[1] in self._open for path in paths):
                return True
            if any(templates.reads_in(text, name, is_condition=are_conditions) for name in ANSWER):
                return True
        return False


async def graph(run: Run, config: GraphConfig) -> dict[str, Any]:
    """Start at the first node and follow the edges to the ends of all paths.

    The nodes that edges lead to run together and see the results of the nodes before them: the outcome does not depend
    on which of them is faster. A node waits for every path that still leads to it, so that a join runs once. Where a
    node waits for a person, the paths that its answer cannot change continue.
    """
    return await _Walk(run, config).to_the_end()


class _Walk:
    """One walk through a graph.

    Attributes:
        names: The names for the templates of the next nodes.
        visits: How often each node has begun.
        origins: The node that led to each node last.
        last: The last finished node; of those that ran together the last in the file.
        finished: The keys of the nodes before the next ones, wave after wave.
    """

    def __init__(self, run: Run, config: GraphConfig) -> None:
        self.names: dict[str, Any] = {"nodes": _before_all(run, config), "last_response": ""}
        self.visits: Counter[str] = Counter()
        self.origins: dict[str, str] = {}
        self.last = ""
        self.finished: tuple[str, ...] = ()
        self._run = run
        self._config = config
        self._waiting = WaitingNodes(run, config)

    async def to_the_end(self) -> dict[str, Any]:
        """Run the nodes wave after wave; return the names that artifacts may use."""
        order = Order(self._config.followers)
        pending = {next(iter(self._config.nodes))}
        while wave := self._waiting.free(order.ready(pending)):
            results = await self._run_wave(wave)
            for node, result in results.items():
                self._add(node, result)
            pending -= set(results)
            for node in results:
                targets = [] if self._waiting.blocks_edges(node) else self._next(node)
                self.origins |= dict.fromkeys(targets, node)
                pending |= set(targets)
        if self._waiting.reasons:
            raise combined(self._waiting.reasons)
        return {**self.names, **self._run.unless_inputs(terminal_node=self.last)}

    async def _run_wave(self, wave: list[str]) -> dict[str, StepResult]:
        """Run nodes side by side; return the results of those that did not have to wait."""
        done: dict[str, StepResult] = {}
        for node in wave:
            self._count(node)

        def keep(node: str, outcome: Outcome) -> None:
            if outcome.value is not None:
                done[node] = outcome.value

        await self._run.jobs({node: Job(partial(self._perform, node)) for node in wave}, keep)
        return {node: done[node] for node in wave if node in done}

    def _count(self, node: str) -> None:
        self.visits[node] += 1
        if self.visits[node] > self._config.max_iterations:
            raise RunFailed(
                f"the node '{node}' would run {self.visits[node]} times; max_iterations is"
                f" {self._config.max_iterations}",
                fix="raise pattern.config.max_iterations, or give the loop an edge that leaves it",
            )

    async def _perform(self, node: str) -> StepResult | None:
        """Run one node; without an input it gets the response of the node that led to it."""
        origin = self.origins.get(node)
        response = self.names["nodes"][origin]["response"] if origin is not None else ""
        names, index = {**self.names, "last_response": response}, int(origin is not None)
        try:
            step, before = self._config.nodes[node], self.finished
            return await self._run.step(self._key(node), step, names, index=index, remembers=before)
        except WaitingForPerson as error:
            self._waiting.wait(node, error)
            return None

    def _key(self, node: str) -> str:
        return f"nodes.{node}#{self.visits[node]}"

    def _add(self, node: str, result: StepResult) -> None:
        self.last = node
        fields = {name: getattr(result, name) for name in ("response", "output", "agent", "status")}
        node_result = {**fields, "iteration": self.visits[node]}
        if self._run.step_inputs.conversations.has_one(self._config.nodes[node]):
            self.finished = (*self.finished, self._key(node))
        if isinstance(self._config.nodes[node], GateStep):
            node_result["approved"] = result.approved
        self.names = {
            **self.names,
            "nodes": _with(self.names["nodes"], node, with_unshown(node_result, result)),
            "last_response": result.response,
        }
        if isinstance(self._config.nodes[node], GateStep):
            self.names |= result.of_person

    def _next(self, node: str) -> list[str]:
        """Return where the edges of a finished node lead."""
        return [target for edge in self._config.edges if edge.from_ == node for target in self._targets(edge)]

    def _targets(self, edge: Edge) -> list[str]:
        if edge.to is not None:
            return list(edge.to)
        names = {**self.names, "last_response": self.names["nodes"][edge.from_]["response"]}
        for choice in edge.choose or ():
            if self._run.step_inputs.holds(choice.when, names, where=f"the edges from '{edge.from_}'"):
                return [choice.to]
        self._run.path_ended(edge.from_)
        return []


def _before_all(run: Run, config: GraphConfig) -> dict[str, Any]:
    """Return the nodes before any has run; without `all_nodes` they have their fields and are not defined."""
    fields = {"response": "", "output": None, "agent": "", "status": "not_executed", "iteration": 0}
    gate = {**fields, "approved": False}
    kinds = {name: run.step_inputs.in_words(StepResult(""), node) for name, node in config.nodes.items()}
    absent = {
        name: with_unshown(gate if isinstance(node, GateStep) else fields, kinds[name])
        for name, node in config.nodes.items()
    }
    return absent if config.all_nodes else Results({}, absent)


def _with(nodes: dict[str, Any], node: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return the nodes with the result of one; those before it see them as they were."""
    changed = {**nodes, node: result}
    return Results(changed, nodes.absent) if isinstance(nodes, Results) else changed
