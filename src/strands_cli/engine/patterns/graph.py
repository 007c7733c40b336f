"""The graph: nodes joined by edges, cycles and fan-out allowed, each node bounded by `max_iterations`."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from strands_cli.engine.concurrency import Job, Outcome, joined
from strands_cli.engine.patterns.graph_waiting import Holding
from strands_cli.errors import RunFailed, WaitingForPerson
from strands_cli.workflow.graph_paths import onward_from, ready
from strands_cli.workflow.model import GateStep

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.engine.step_results import StepResult
    from strands_cli.workflow.patterns.graph import Edge, GraphConfig


async def graph(run: Run, config: GraphConfig) -> dict[str, Any]:
    """Start at the first node and follow the edges until no edge leads on.

    The nodes that edges lead to run together and see the nodes as those before left them: the outcome does not depend
    on which of them is faster. A node that a path still under way leads to waits for it, so that a join runs once.
    Where a node waits for a person, paths that its answer cannot change go on.
    """
    names: dict[str, Any] = {"nodes": {}, "last_response": ""}
    visits: Counter[str] = Counter()
    led_by: dict[str, str] = {}
    onward, holding = onward_from(config.followers()), Holding(run, config)
    pending = {next(iter(config.nodes))}
    while wave := holding.free(ready(config.nodes, pending, onward)):
        visits.update(wave)
        _require_bounded(wave, visits, config)
        results = await _run_wave(run, config, wave, visits, names, led_by, holding)
        for node, result in results.items():
            seen = {"response": result.response, "output": result.output, "agent": result.agent,
                    "status": result.status, "iteration": visits[node]}  # fmt: skip
            names = {**names, "nodes": {**names["nodes"], node: seen}, "last_response": result.response}
            if isinstance(config.nodes[node], GateStep):
                names["hitl_response"] = result.response
        pending -= set(results)
        for node in results:
            targets = [] if holding.holds_edges(node) else _next(run, config, node, names)
            led_by |= dict.fromkeys(targets, node)
            pending |= set(targets)
    if holding.reasons:
        raise joined(holding.reasons)
    return names


def _require_bounded(wave: list[str], visits: Counter[str], config: GraphConfig) -> None:
    for node in wave:
        if visits[node] > config.max_iterations:
            raise RunFailed(
                f"the node '{node}' would run a {visits[node]}th time, and max_iterations is {config.max_iterations}",
                fix="raise pattern.config.max_iterations, or give the loop a way out",
            )


async def _run_wave(
    run: Run,
    config: GraphConfig,
    wave: list[str],
    visits: Counter[str],
    names: dict[str, Any],
    led_by: dict[str, str],
    holding: Holding,
) -> dict[str, StepResult]:
    """Run nodes side by side; a node without an input is given the response of the one that led to it."""
    done: dict[str, StepResult] = {}

    async def perform(node: str) -> StepResult | None:
        before = names["nodes"][led_by[node]]["response"] if node in led_by else ""
        seen = {**names, "last_response": before}
        try:
            return await run.step(f"nodes.{node}#{visits[node]}", config.nodes[node], seen, index=int(node in led_by))
        except WaitingForPerson as error:
            holding.wait(node, error)
            return None

    def tell(node: str, outcome: Outcome) -> None:
        if outcome.value is not None:
            done[node] = outcome.value

    await run.jobs({node: Job(partial(perform, node)) for node in wave}, tell)
    return {node: done[node] for node in wave if node in done}


def _next(run: Run, config: GraphConfig, node: str, names: dict[str, Any]) -> list[str]:
    """Return where the edges of a finished node lead; a node without a matching choice ends its path."""
    return [target for edge in config.edges if edge.from_ == node for target in _targets(run, edge, names)]


def _targets(run: Run, edge: Edge, names: dict[str, Any]) -> list[str]:
    if edge.to is not None:
        return list(edge.to)
    for choice in edge.choose or ():
        if run.holds(choice.when, names, where=f"the edges from '{edge.from_}'"):
            return [choice.to]
    run.path_ended(edge.from_)
    return []
