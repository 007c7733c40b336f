"""The graph: nodes joined by edges, cycles and fan-out allowed, each node bounded by `max_iterations`."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects.concurrency import Job, Outcome, combined
from strands_cli.engine.patterns.graph_waiting import WaitingNodes
from strands_cli.engine.step_results import StepResult, with_unshown
from strands_cli.errors import RunFailed, WaitingForPerson
from strands_cli.workflow.graph_paths import Order
from strands_cli.workflow.steps.step_models import GateStep
from strands_cli.workflow.templates.not_executed import Results

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.workflow.patterns.graph import Edge, GraphConfig


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
        names: What the templates of the next nodes may use.
        visits: How often each node has begun.
        origins: The node that led to each node last.
        last: The node that has finished last; of those that ran together the last in the file.
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
        seen = {**fields, "iteration": self.visits[node]}
        if self._run.step_inputs.conversations.has_one(self._config.nodes[node]):
            self.finished = (*self.finished, self._key(node))
        if isinstance(self._config.nodes[node], GateStep):
            seen["approved"] = result.approved
        self.names = {
            **self.names,
            "nodes": _with(self.names["nodes"], node, with_unshown(seen, result)),
            "last_response": result.response,
        }
        if isinstance(self._config.nodes[node], GateStep):
            self.names["hitl_response"] = result.response

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
