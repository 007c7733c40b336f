"""A layered layout for small graphs: a layer for each node, an order in each layer, places in pixels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_SWEEPS = 4
Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where nodes are, from the top down.

    Attributes:
        places: The middle of each node, in units of columns and of layers; a column may be a half.
        paths: For each edge that leads down, the middles that it passes, from node to node.
        back: The edges that lead back or stay.
        columns: How many columns there are, and `layers` likewise.
    """

    places: Mapping[str, tuple[float, int]]
    paths: Mapping[Edge, Sequence[tuple[float, int]]]
    back: tuple[Edge, ...]
    columns: float
    layers: int


def layout_of(nodes: Sequence[str], edges: Iterable[Edge]) -> Layout:
    """Return the places of nodes: each below those that lead to it, without the edges that lead back."""
    unique = list(dict.fromkeys(edges))
    back = _leading_back(nodes, unique)
    down = [edge for edge in unique if edge not in back]
    layer = _layers(nodes, down)
    chains = {edge: _chain(edge, layer) for edge in down}
    rows: list[list[object]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for name in nodes:
        rows[layer[name]].append(name)
    for edge, chain in chains.items():
        for node in chain[1:-1]:
            rows[layer[edge[0]] + chain.index(node)].append(node)
    _order(rows, chains.values())
    columns = max((len(row) for row in rows), default=0)
    middle = {
        node: ((columns - len(row)) / 2 + column + 0.5, number)
        for number, row in enumerate(rows)
        for column, node in enumerate(row)
    }
    return Layout(
        places={name: middle[name] for name in nodes},
        paths={edge: [middle[node] for node in chain] for edge, chain in chains.items()},
        back=tuple(edge for edge in unique if edge in back),
        columns=columns,
        layers=len(rows),
    )


def _leading_back(nodes: Sequence[str], edges: Sequence[Edge]) -> set[Edge]:
    """Return the edges that lead back: those of a cycle to a node not later in the order of the nodes."""
    number_of = {name: number for number, name in enumerate(nodes)}
    followers: dict[str, list[str]] = {name: [] for name in nodes}
    for before, after in edges:
        followers[before].append(after)
    upward = [edge for edge in edges if number_of[edge[1]] <= number_of[edge[0]]]
    below = {after: _reached(after, followers) for after in {after for _, after in upward}}
    return {(before, after) for before, after in upward if before in below[after]}


def _reached(node: str, followers: Mapping[str, Sequence[str]]) -> set[str]:
    """Return a node, and all that a path from it leads to."""
    reached, waiting = {node}, [node]
    while waiting:
        fresh = set(followers[waiting.pop()]) - reached
        reached |= fresh
        waiting += fresh
    return reached


def _layers(nodes: Sequence[str], down: Sequence[Edge]) -> dict[str, int]:
    """Return the length of the longest way to each node."""
    waiting = dict.fromkeys(nodes, 0)
    followers: dict[str, list[str]] = {name: [] for name in nodes}
    for before, after in down:
        waiting[after] += 1
        followers[before].append(after)
    layer = dict.fromkeys(nodes, 0)
    ready = [name for name in nodes if not waiting[name]]
    for name in ready:
        for after in followers[name]:
            layer[after] = max(layer[after], layer[name] + 1)
            waiting[after] -= 1
            if not waiting[after]:
                ready.append(after)
    return layer


def _chain(edge: Edge, layer: Mapping[str, int]) -> list[object]:
    """Return the places that an edge passes: its nodes, and one of its own in each layer between."""
    before, after = edge
    between = [(before, after, number) for number in range(layer[before] + 1, layer[after])]
    return [before, *between, after]


def _order(rows: list[list[object]], chains: Iterable[Sequence[object]]) -> None:
    """Sort each layer so that nodes are near those that they are joined with."""
    above: dict[object, list[object]] = {}
    below: dict[object, list[object]] = {}
    for chain in chains:
        for upper, lower in pairwise(chain):
            above.setdefault(lower, []).append(upper)
            below.setdefault(upper, []).append(lower)
    for sweep in range(_SWEEPS):
        is_down = sweep % 2 == 0
        for fixed, moved in list(pairwise(rows if is_down else rows[::-1])):
            moved[:] = _near(moved, fixed, above if is_down else below)


def _near(
    moved: Sequence[object], fixed: Sequence[object], neighbours: Mapping[object, Sequence[object]]
) -> list[object]:
    """Return a layer sorted by the middle of those in the next layer that each of it is joined with."""
    places = {node: (number + 0.5) / len(fixed) for number, node in enumerate(fixed)}
    middles = {node: (number + 0.5) / len(moved) for number, node in enumerate(moved)}
    for node in moved:
        near = [places[neighbour] for neighbour in neighbours.get(node, ()) if neighbour in places]
        middles[node] = sum(near) / len(near) if near else middles[node]
    return sorted(moved, key=middles.__getitem__)
