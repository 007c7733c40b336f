"""Paths in a directed graph, given as each node's followers: reach, cycles, and which nodes are ready to run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

Followers = Mapping[str, Iterable[str]]


def reached(node: str, followers: Followers) -> set[str]:
    """Return all nodes that a path from one node leads to; the node itself only where a path leads back to it."""
    return reached_from([node], followers)


def reached_from(nodes: Iterable[str], followers: Followers) -> set[str]:
    """Return all nodes that a path from any of these leads to."""
    seen: set[str] = set()
    waiting = [other for node in nodes for other in followers[node]]
    while waiting:
        other = waiting.pop()
        if other not in seen:
            seen.add(other)
            waiting += followers[other]
    return seen


def distance(first: str, last: str, followers: Followers) -> int:
    """Return the number of edges on the shortest path between two nodes; where there is none, that of all nodes."""
    seen, wave = {first}, {first}
    for edges in range(len(list(followers))):
        if last in wave:
            return edges
        wave = {other for node in wave for other in followers[node]} - seen
        seen |= wave
    return len(seen)


def reach_of(followers: Followers) -> dict[str, frozenset[str]]:
    """Return for each node all nodes that a path from it leads to."""
    return {node: frozenset(reached(node, followers)) for node in followers}


def cycles(followers: Followers) -> Iterator[list[str]]:
    """Yield cycles, each from the first of its nodes that is reached."""
    done: set[str] = set()
    for root in followers:
        path: list[str] = []
        stack = [(root, iter(followers[root]))] if root not in done else []
        while stack:
            node, rest = stack[-1]
            if len(path) < len(stack):
                path.append(node)
            following = next(rest, None)
            if following is None:
                done.add(node)
                stack.pop()
                path.pop()
            elif following in path:
                yield path[path.index(following) :]
            elif following not in done:
                stack.append((following, iter(followers[following])))


def reach_without_loops(followers: Followers) -> dict[str, set[str]]:
    """Return which nodes each node leads to, without the edges that lead back into a loop."""
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


def ready(nodes: Iterable[str], pending: set[str], ahead: Mapping[str, set[str]]) -> list[str]:
    """Return the pending nodes that no other pending node leads to, in the order of `nodes`."""
    return [node for node in nodes if node in pending and not any(node in ahead[other] for other in pending)]


def waves_of(followers: Followers) -> Iterator[list[str]]:
    """Yield the nodes that run together, wave after wave from the first node on; the graph has no cycle."""
    ahead = reach_without_loops(followers)
    pending = {next(iter(followers))}
    while pending:
        wave = ready(followers, pending, ahead)
        yield wave
        pending = (pending - set(wave)) | {target for node in wave for target in followers[node]}
