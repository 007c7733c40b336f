"""Where the edges of a graph lead: all that a node reaches, what it leads onward to, and the waves of a plain graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from strands_cli.workflow.model import GraphConfig
from strands_cli.workflow.task_graph import reached


def targets_of(config: GraphConfig) -> dict[str, list[str]]:
    """Return the nodes that the edges of each node name; names of no node are left out."""
    targets: dict[str, list[str]] = {node: [] for node in config.nodes}
    for edge in config.edges:
        named = [*(edge.to or ()), *(choice.to for choice in edge.choose or ())]
        targets.setdefault(edge.from_, []).extend(name for name in named if name in config.nodes)
    return targets


def reach_of(config: GraphConfig) -> dict[str, frozenset[str]]:
    """Return all nodes that a path leads to from each node, through loops too; itself only where one leads back."""
    targets = targets_of(config)
    return {node: frozenset(reached(node, targets)) for node in config.nodes}


def onward_from(config: GraphConfig) -> dict[str, set[str]]:
    """Return which nodes each node leads to, without the edges that lead back into a loop."""
    targets = targets_of(config)
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


def ready(config: GraphConfig, pending: set[str], onward: Mapping[str, set[str]]) -> list[str]:
    """Return the nodes that run next, in the order of the file: no other that is about to run leads to them."""
    return [node for node in config.nodes if node in pending and not any(node in onward[other] for other in pending)]


def waves_of(config: GraphConfig) -> Iterator[list[str]] | None:
    """Return the nodes that run together, wave after wave; None where choices or loops leave that to the run."""
    reach = reach_of(config)
    if any(edge.choose for edge in config.edges) or any(node in reach[node] for node in reach):
        return None
    return _waves(config)


def _waves(config: GraphConfig) -> Iterator[list[str]]:
    targets, onward = targets_of(config), onward_from(config)
    pending = {next(iter(config.nodes))}
    while pending:
        wave = ready(config, pending, onward)
        yield wave
        pending = (pending - set(wave)) | {target for node in wave for target in targets[node]}
