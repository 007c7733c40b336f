"""Which nodes of a graph with choices or loops may work at the same time: those on paths that begin together.

The nodes that a node leads to are a number with a bit for each examined node, so that many are compared at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import or_
from typing import Protocol

from strands_cli.workflow.graph_paths import Order, components


class Edge(Protocol):
    """The nodes after a node."""

    @property
    def from_(self) -> str:
        """The finished node."""

    @property
    def to(self) -> Sequence[str] | None:
        """Nodes that follow together."""

    @property
    def choose(self) -> Sequence[object] | None:
        """Choices, of which one follows."""

    def targets(self) -> tuple[str, ...]:
        """Return the nodes that the edge may lead to."""


class Branches:
    """The paths that begin together at some node.

    Args:
        followers: The graph, in the order of the file.
        edges: Its edges.
        agents: The agents to examine, by their nodes.
    """

    def __init__(self, followers: Mapping[str, list[str]], edges: Sequence[Edge], agents: Mapping[str, str]) -> None:
        self._edges = edges
        self._names = [node for node in followers if node in agents]
        self._bit = {node: 1 << position for position, node in enumerate(self._names)}
        of_agent: dict[str, int] = {}
        for node in self._names:
            of_agent[agents[node]] = of_agent.get(agents[node], 0) | self._bit[node]
        ahead = Order(followers).ahead
        behind: dict[str, list[str]] = {node: [] for node in ahead}
        for node, targets in ahead.items():
            for target in targets:
                behind[target].append(node)
        after, before = (self._leading_to(components(direction), direction) for direction in (ahead, behind))
        self._beside = {
            node: of_agent[agents[node]] & ~(after[node] | before[node] | self._bit[node]) for node in self._names
        }
        reach = self._leading_to(components(followers), followers)
        self._branch = {node: reach[node] | self._bit.get(node, 0) for node in followers}

    def _leading_to(self, groups: Iterable[list[str]], followers: Mapping[str, list[str]]) -> dict[str, int]:
        """Return for each node those that a path from it leads to."""
        masks: dict[str, int] = {}
        for group in groups:
            targets = {target for node in group for target in followers[node]}
            mask = 0
            for target in targets:
                mask |= self._bit.get(target, 0) | masks.get(target, 0)
            masks |= dict.fromkeys(group, mask)
        return masks

    def at_once(self) -> dict[str, bool]:
        """Return the nodes that may work while an earlier one of their agent does; True where they must."""
        edges: dict[str, list[Edge]] = {}
        for edge in self._edges:
            edges.setdefault(edge.from_, []).append(edge)
        mask, certain, known_pairs = 0, 0, set[tuple[int, int]]()
        for node in self._branch:
            starts = [
                (edge, [target for target in edge.targets() if target in self._branch], edge.to is not None)
                for edge in edges.get(node, ())
            ]
            for pair in self._begun_together(starts):
                if pair not in known_pairs and (pair[0] | pair[1]) & ~mask:
                    known_pairs.add(pair)
                    mask |= self._later(*pair)
            together = [target for edge, targets, is_certain in starts if is_certain for target in targets]
            if len(together) > 1:
                certain |= self._certain([start for start in starts if start[2]])
        mask |= certain
        return {node: bool(certain & self._bit[node]) for node in self._nodes_of(mask)}

    def _begun_together(self, starts: list[tuple[Edge, list[str], bool]]) -> Iterator[tuple[int, int]]:
        """Yield the nodes of each path that begins at a node, with those of the paths that begin beside it."""
        unions = [_union(self._branch[target] for target in targets) for _, targets, _ in starts]
        for (edge, targets, _), others in zip(starts, _without_each(unions), strict=True):
            own = [self._branch[target] for target in targets]
            beside = [0] * len(own) if edge.choose else _without_each(own)
            yield from ((own_bit, others | near) for own_bit, near in zip(own, beside, strict=True) if others | near)

    def _certain(self, starts: list[tuple[Edge, list[str], bool]]) -> int:
        """Return the later nodes of those that begin together without a choice."""
        own = [[self._bit.get(target, 0) for target in targets] for _, targets, _ in starts]
        unions = [_union(bits) for bits in own]
        mask = 0
        for (edge, _, _), bits, others in zip(starts, own, _without_each(unions), strict=True):
            beside = [0] * len(bits) if edge.choose else _without_each(bits)
            for bit, near in zip(bits, beside, strict=True):
                mask |= self._later(bit, others | near)
        return mask

    def _later(self, some: int, others: int) -> int:
        """Return the later one of each two nodes, one of some and one of others, of which none leads to the other."""
        mask = 0
        for node in self._nodes_of(some):
            bit, beside = self._bit[node], others & self._beside[node]
            before = beside & (bit - 1)
            mask |= (beside ^ before) | (bit if before else 0)
        return mask

    def _nodes_of(self, mask: int) -> Iterator[str]:
        while mask:
            bit = mask & -mask
            yield self._names[bit.bit_length() - 1]
            mask ^= bit


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _without_each(masks: list[int]) -> list[int]:
    """Return for each of some masks the union of all others."""
    before = list(accumulate(masks, or_, initial=0))[:-1]
    after = list(accumulate(masks[::-1], or_, initial=0))[-2::-1] if masks else []
    return [left | other for left, other in zip(before, after, strict=True)]
