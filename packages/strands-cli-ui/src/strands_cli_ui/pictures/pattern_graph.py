"""The pattern of a run as a graph: its steps with their states, and its edges with those that the run took."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strands_cli.api import Branch, PatternModel, PlacedStep, RunStatus, RunSummary

# How many steps are drawn; of more, those that tell something and then the first ones.
MOST_NODES = 60
# How many workers of an orchestrator are drawn each for itself; the others are one node.
MOST_WORKERS = 12
_WORKERS = "workers.N"
_REST = "workers.rest"
# The key of a step of a route or a branch.
_WITHIN_PART = re.compile(r"^(routes|branches)\.(.*)\.steps\.(\d+)$", re.DOTALL)
# The more telling state of effects that share a node comes first.
_TELLING = ("failed", "waiting", "running", "stopped", "done", "reused")


@dataclass(frozen=True, slots=True)
class PatternNode:
    """One step of a pattern.

    Attributes:
        id: Its key; `N` replaces the number of a repeated step.
        name: Its key without the part that all steps of its pattern have in common.
        who: Its agent, its tool, or `person`.
        kind: `agent`, `gate` or `call`.
        state: The status of its effect. `skipped` is a step that the run went past; one of a run that has not come to
            it is `not-begun`.
        key: The effect in the journal, the last one of a repeated step; None where there is none.
        times: How many effects it is of.
    """

    id: str
    name: str
    kind: str
    who: str
    state: str = "not-begun"
    key: str | None = None
    times: int = 0


@dataclass(frozen=True, slots=True)
class PatternEdge:
    """An arrow between two nodes by their ids, with the condition or the name that chooses it.

    `is_taken` says that both of its steps have begun; of a choice the run shows no more.
    """

    before: str
    after: str
    label: str = ""
    is_taken: bool = False


@dataclass(frozen=True, slots=True)
class PatternGraph:
    """A pattern with the states of its steps.

    Attributes:
        type: The name of the pattern.
        steps: How many nodes it has; more than there are `nodes` where not all are drawn.
    """

    type: str
    nodes: tuple[PatternNode, ...]
    edges: tuple[PatternEdge, ...]
    steps: int


def pattern_graph_of(
    pattern: PatternModel, summary: RunSummary | None = None, tree: Sequence[Branch] = ()
) -> PatternGraph:
    """Return a pattern with the state of each of its steps.

    Args:
        summary: That of the run; None for a workflow without one, whose steps have all not begun.
        tree: The effects of the run as trees.
    """
    tops: dict[str, list[Branch]] = {}
    placed = list(pattern.placed)
    ids = {step.key.removesuffix("#N") for step in placed}
    for top in tree:
        tops.setdefault(_id_of(top.key, ids), []).append(top)
    nodes, edges = _nodes(pattern, placed, tops), _edges(pattern, tree)
    nodes = _with_skipped(nodes, summary.run.status) if summary else nodes
    nodes, edges = _with_workers(nodes, edges, tops.get(_WORKERS, []))
    drawn_nodes = _drawn(nodes)
    node_ids = {node.id for node in drawn_nodes}
    drawn_edges = (edge for edge in _with_taken(edges, nodes) if edge.before in node_ids and edge.after in node_ids)
    return PatternGraph(pattern.type, tuple(drawn_nodes), tuple(drawn_edges), len(nodes))


def _with_taken(edges: Iterable[PatternEdge], nodes: Sequence[PatternNode]) -> Iterator[PatternEdge]:
    """Yield the edges with whether the run took them: one that leads back was, where its end ran again."""
    times = {node.id: node.times for node in nodes}
    places = {node.id: number for number, node in enumerate(nodes)}
    for edge in edges:
        leads_back = places.get(edge.after, 0) <= places.get(edge.before, 0)
        is_taken = times.get(edge.before, 0) > 0 and times.get(edge.after, 0) > leads_back
        yield replace(edge, is_taken=is_taken)


def _id_of(key: str, ids: Iterable[str]) -> str:
    """Return the id of the node that a key of the journal belongs to, without the mark of a repetition."""
    step = key.partition("#")[0]
    return step if step in ids else re.sub(r"\.\d+(?=\.|$)", ".N", step)


def _nodes(pattern: PatternModel, placed: Sequence[PlacedStep], tops: dict[str, list[Branch]]) -> list[PatternNode]:
    nodes = []
    for step in placed:
        kind, who = step.actor
        name = _WITHIN_PART.sub(r"\2.\3", pattern.step_name(step.key))
        node = PatternNode(step.key, name, kind, who)
        nodes.append(_with_state(node, tops.get(step.key.removesuffix("#N"), [])))
    return nodes


def _with_state(node: PatternNode, branches: Sequence[Branch]) -> PatternNode:
    """Return a node with the state of its last effect; one that needs a person comes before it."""
    if not branches:
        return node
    pressing = [branch for branch in branches if branch.status in ("waiting", "running")]
    branch_shown = (pressing or branches)[-1]
    return replace(node, state=branch_shown.status, key=branch_shown.key, times=len(branches))


def _edges(pattern: PatternModel, tree: Sequence[Branch]) -> list[PatternEdge]:
    edges = [PatternEdge(*edge) for edge in pattern.edges()]
    if any(top.key.startswith("orchestrator#") for top in tree):
        edges.append(PatternEdge(_WORKERS, "orchestrator", "next round"))
    return edges


def _with_skipped(nodes: list[PatternNode], status: RunStatus) -> list[PatternNode]:
    """Return the nodes, those that the run went past as skipped: all other ones when it is complete.

    Before that it is known of the routes beside the begun one.
    """
    begun = {node.id for node in nodes if node.times}
    past = {node.id for node in nodes} - begun if status == "completed" else _beside_route(begun, nodes)
    return [replace(node, state="skipped") if node.id in past - begun else node for node in nodes]


def _beside_route(begun: Iterable[str], nodes: Iterable[PatternNode]) -> set[str]:
    chosen = {_route_of(name) for name in begun} - {None}
    routes = {node.id: _route_of(node.id) for node in nodes} if chosen else {}
    return {name for name, route in routes.items() if route is not None and route not in chosen}


def _route_of(step: str) -> str | None:
    match = _WITHIN_PART.match(step)
    return match[2] if match and match[1] == "routes" else None


def _with_workers(
    nodes: list[PatternNode], edges: list[PatternEdge], workers: Sequence[Branch]
) -> tuple[list[PatternNode], list[PatternEdge]]:
    """Return the graph with a node for each of the first workers, and one for the others."""
    template = next((node for node in nodes if node.id == _WORKERS), None)
    if template is None or not workers:
        return nodes, edges
    own, rest = workers[:MOST_WORKERS], workers[MOST_WORKERS:]
    worker_nodes = [_with_state(replace(template, id=worker.key, name=worker.key), [worker]) for worker in own]
    if rest:
        telling = min(rest, key=lambda worker: _TELLING.index(worker.status))
        others = replace(template, id=_REST, name=f"{len(rest)} more workers", times=len(rest))
        worker_nodes.append(replace(others, state=telling.status, key=telling.key))
    number = nodes.index(template)
    several = [spread for edge in edges for spread in _spread(edge, [node.id for node in worker_nodes])]
    return [*nodes[:number], *worker_nodes, *nodes[number + 1 :]], several


def _spread(edge: PatternEdge, workers: Sequence[str]) -> Iterator[PatternEdge]:
    """Yield the edges that replace one at the template of workers."""
    if edge.before == _WORKERS:
        yield from (replace(edge, before=name) for name in workers)
    elif edge.after == _WORKERS:
        yield from (replace(edge, after=name) for name in workers)
    else:
        yield edge


def _drawn(nodes: list[PatternNode]) -> list[PatternNode]:
    """Return the drawn nodes, in their order."""
    if len(nodes) <= MOST_NODES:
        return nodes
    urgent = [node.id for node in nodes if node.state in ("failed", "waiting", "running", "stopped")]
    chosen = set(list(dict.fromkeys([*urgent, *(node.id for node in nodes)]))[:MOST_NODES])
    return [node for node in nodes if node.id in chosen]
