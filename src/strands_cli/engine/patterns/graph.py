"""The graph: nodes joined by edges, cycles and fan-out allowed, each node bounded by `max_iterations`."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from strands_cli.engine.concurrency import Job, Outcome
from strands_cli.errors import RunFailed
from strands_cli.spec.model import GateStep

if TYPE_CHECKING:
    from strands_cli.engine.results import StepResult
    from strands_cli.engine.run import Run
    from strands_cli.spec.model import Edge, GraphConfig


async def graph(run: Run, config: GraphConfig) -> dict[str, Any]:
    """Start at the first node and follow the edges until no edge leads on.

    The nodes that edges lead to run together and see the nodes as those before left them: the outcome does not depend
    on which of them is faster. A node that a path still under way leads to waits for it, so that a join runs once.
    """
    names: dict[str, Any] = {"nodes": {}, "last_response": ""}
    visits: Counter[str] = Counter()
    onward = onward_from(config)
    pending = {next(iter(config.nodes))}
    while pending:
        wave = [
            node for node in config.nodes if node in pending and not any(node in onward[other] for other in pending)
        ]
        visits.update(wave)
        _require_bounded(wave, visits, config)
        results = await _run_wave(run, config, wave, visits, names)
        for node, result in results.items():
            seen = {"response": result.response, "output": result.output, "agent": result.agent,
                    "status": result.status, "iteration": visits[node]}  # fmt: skip
            names = {**names, "nodes": {**names["nodes"], node: seen}, "last_response": result.response}
            if isinstance(config.nodes[node], GateStep):
                names["hitl_response"] = result.response
        following = {target for node in wave for target in _next(run, config, node, names)}
        pending = (pending - set(wave)) | following
    return names


def onward_from(config: GraphConfig) -> dict[str, set[str]]:
    """Return which nodes each node leads to, without the edges that lead back into a loop."""
    targets: dict[str, list[str]] = {node: [] for node in config.nodes}
    for edge in config.edges:
        targets[edge.from_] += [*(edge.to or ()), *(choice.to for choice in edge.choose or ())]
    onward: dict[str, set[str]] = {}
    for root in config.nodes:
        trail = [] if root in onward else [(root, iter(targets[root]))]
        onward.setdefault(root, set())
        while trail:
            node, left = trail[-1]
            target = next(left, None)
            if target is None:
                trail.pop()
                if trail:
                    onward[trail[-1][0]] |= {node, *onward[node]}
            elif target not in onward:
                onward[target] = set()
                trail.append((target, iter(targets[target])))
            elif all(target != passed for passed, _ in trail):
                onward[node] |= {target, *onward[target]}
    return onward


def _require_bounded(wave: list[str], visits: Counter[str], config: GraphConfig) -> None:
    for node in wave:
        if visits[node] > config.max_iterations:
            raise RunFailed(
                f"the node '{node}' would run a {visits[node]}th time, and max_iterations is {config.max_iterations}",
                fix="raise pattern.config.max_iterations, or give the loop a way out",
            )


async def _run_wave(
    run: Run, config: GraphConfig, wave: list[str], visits: Counter[str], names: dict[str, Any]
) -> dict[str, StepResult]:
    done: dict[str, StepResult] = {}

    async def perform(node: str) -> StepResult:
        return await run.step(f"nodes.{node}#{visits[node]}", config.nodes[node], names, index=len(names["nodes"]))

    def tell(node: str, outcome: Outcome) -> None:
        done[node] = outcome.value

    await run.jobs({node: Job(partial(perform, node)) for node in wave}, tell)
    return {node: done[node] for node in wave}


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
