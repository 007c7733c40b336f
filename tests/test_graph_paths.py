"""Paths in graphs: the same answers as the closure of small graphs gives, and little memory for large ones."""

from __future__ import annotations

import itertools
import random
import tracemalloc
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from strands_cli.workflow.graph_paths import (
    Order,
    components,
    distance,
    in_loops,
    leading_nodes,
    leading_to_each,
    reached,
)
from strands_cli.workflow.patterns.graph import Graph, GraphConfig

Followers = dict[str, list[str]]
AGENTS = ("one", "two")


def graphs(count: int) -> Iterator[Followers]:
    """Yield small graphs of every density, with and without loops."""
    chance = random.Random(24)
    for number in range(count):
        nodes = [f"n{place}" for place in range(1 + number % 7)]
        density = chance.random() * 0.7
        pairs = [(one, two) for one in nodes for two in nodes if number % 2 or int(one[1:]) < int(two[1:])]
        edges = [pair for pair in pairs if chance.random() < density]
        order = chance.sample(nodes, len(nodes)) if number % 3 else nodes
        yield {node: [two for one, two in edges if one == node] for node in order}


def closure(followers: Followers) -> dict[str, frozenset[str]]:
    return {node: frozenset(reached(node, followers)) for node in followers}


def ahead_of(followers: Followers) -> dict[str, set[str]]:
    """Return what each node leads to without the edges that lead back: the closure, as it was kept for all nodes."""
    ahead: dict[str, set[str]] = {}
    for root in followers:
        trail = [] if root in ahead else [(root, iter(followers[root]))]
        ahead.setdefault(root, set())
        while trail:
            node, rest = trail[-1]
            target = next(rest, None)
            if target is None:
                trail.pop()
                if trail:
                    ahead[trail[-1][0]] |= {node, *ahead[node]}
            elif target not in ahead:
                ahead[target] = set()
                trail.append((target, iter(followers[target])))
            elif all(target != passed for passed, _ in trail):
                ahead[node] |= {target, *ahead[target]}
    return ahead


def test_components_loops_and_what_leads_to_each_node_are_those_of_the_closure() -> None:
    for followers in graphs(600):
        reach = closure(followers)
        groups = list(components(followers))
        assert sorted(itertools.chain(*groups)) == sorted(followers)
        for number, group in enumerate(groups):
            assert all(one == two or two in reach[one] for one in group for two in group)
            later = set(itertools.chain(*groups[number + 1 :]))
            assert not any(reach[one] & later for one in group)
        assert in_loops(followers) == {node for node in followers if node in reach[node]}
        leading = {node: leading_nodes(followers, mask) for node, mask in leading_to_each(followers)}
        assert leading == {node: [one for one in followers if node in reach[one]] for node in followers}


def test_the_nodes_that_are_ready_are_those_of_the_closure() -> None:
    chance = random.Random(1)
    for followers in graphs(600):
        order, ahead = Order(followers), ahead_of(followers)
        assert closure(order.ahead) == {node: frozenset(after) for node, after in ahead.items()}
        for _ in range(5):
            pending = set(chance.sample(list(followers), chance.randint(0, len(followers))))
            ready = [one for one in followers if one in pending and not any(one in ahead[other] for other in pending)]
            assert order.ready(pending) == ready


def test_the_distance_is_that_to_the_nearest() -> None:
    followers = {"a": ["b", "c"], "b": ["d"], "c": ["e"], "d": [], "e": ["f"], "f": [], "g": []}
    assert distance("a", {"f", "d"}, followers) == 2
    assert distance("a", {"a"}, followers) == 0
    assert distance("a", {"g"}, followers) == 6  # all nodes that it leads to


def pairs_of(config: GraphConfig) -> Iterator[tuple[str, str, bool]]:
    """Yield nodes that may run at the same time, by the closure of the graph."""
    followers = config.followers
    reach, ahead = closure(followers), ahead_of(followers)
    if not any(edge.choose for edge in config.edges) and not any(node in reach[node] for node in reach):
        pending = {next(iter(followers))}
        while pending:
            wave = [one for one in followers if one in pending and not any(one in ahead[other] for other in pending)]
            yield from ((one, two, True) for one, two in itertools.combinations(wave, 2))
            pending = (pending - set(wave)) | {target for node in wave for target in followers[node]}
        return
    for name in config.nodes:
        edges = [(number, edge) for number, edge in enumerate(config.edges) if edge.from_ == name]
        starts = [(number, edge, node) for number, edge in edges for node in edge.targets() if node in reach]
        for (number, edge, first), (following, other, second) in itertools.combinations(starts, 2):
            if number == following and edge.choose:
                continue
            certain = edge.to is not None and other.to is not None
            for one, two in itertools.product((first, *reach[first]), (second, *reach[second])):
                if one != two and two not in ahead[one] and one not in ahead[two]:
                    yield one, two, certain and (one, two) == (first, second)


def expected(config: GraphConfig, agents: Mapping[str, str]) -> dict[str, bool]:
    certainty: dict[str, bool] = {}
    for one, two, is_certain in pairs_of(config):
        if agents[one] == agents[two] and one != two:
            later = max(one, two, key=list(config.nodes).index)
            certainty[later] = certainty.get(later, False) or is_certain
    return certainty


def config_of(followers: Followers, chance: random.Random, *, chooses: float) -> dict[str, Any]:
    edges: list[dict[str, Any]] = []
    for node, targets in followers.items():
        left = list(targets)
        while left:
            taken, left = left[: (count := chance.randint(1, 3))], left[count:]
            choice = {"choose": [{"when": "x", "to": one} for one in taken]}
            edges.append({"from": node, **(choice if chance.random() < chooses else {"to": taken})})
    nodes = {node: {"agent": chance.choice(AGENTS), "input": "x"} for node in followers}
    return {"nodes": nodes, "edges": edges}


@pytest.mark.parametrize("chooses", [0.0, 0.4])
def test_agents_of_two_nodes_at_once_are_those_of_the_closure(chooses: float) -> None:
    chance = random.Random(3)
    for followers in graphs(600):
        config = config_of(followers, chance, chooses=chooses)
        pattern = Graph.model_validate({"type": "graph", "config": config})
        agents = {node: step["agent"] for node, step in config["nodes"].items()}
        found = {one.pointer.split("/")[4]: one.severity == "error" for one in pattern.shared_agents(AGENTS)}
        assert found == expected(pattern.config, agents), config


CHAIN = {f"n{place}": [f"n{place + 1}"] if place < 5999 else [] for place in range(6000)}
SHAPES: dict[str, Followers] = {
    "chain": CHAIN,
    "wide": {"n0": [f"n{place}" for place in range(1, 5999)], **{f"n{place}": ["last"] for place in range(1, 5999)}},
    "loop": {**CHAIN, "n5999": ["n0"]},
    "loops": {node: [*targets, f"n{max(0, int(node[1:]) - 1)}"] for node, targets in CHAIN.items()},
    "layers": {
        f"n{place}": [f"n{(place // 50 + 1) * 50 + other}" for other in range(50)] if place < 5950 else []
        for place in range(6000)
    },
    "combs": {f"n{place}": [f"n{other}" for other in (place + 1, place + 2) if other < 6000] for place in range(6000)},
}
SHAPES["wide"]["last"] = []


@pytest.mark.hostile
@pytest.mark.parametrize("shape", SHAPES)
def test_a_large_graph_takes_memory_by_its_nodes_and_edges(shape: str) -> None:
    followers = SHAPES[shape]
    edges = sum(map(len, followers.values()))
    tracemalloc.start()
    try:
        order = Order(followers)
        pending, waves = {next(iter(followers))}, 0
        while pending and waves < 100:
            wave, waves = order.ready(pending), waves + 1
            pending = (pending - set(wave)) | {target for node in wave for target in order.ahead[node]}
        leading = sum(mask.bit_count() for _, mask in leading_to_each(followers))
        assert len(in_loops(followers)) in (0, 6000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert leading >= len(followers) - 1
    assert peak < 1200 * len(followers) + 120 * edges
