"""Paths in a directed graph, given as each node's followers: reach, cycles, and which nodes are ready to run.

The nodes that a path leads to are never kept for all nodes at once, which would be the square of their number. They are
asked for one node, or go through the graph as a number with a bit for each node, dropped behind the last node that
needs it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

Followers = Mapping[str, Iterable[str]]


def reached(node: str, followers: Followers) -> set[str]:
    """Return all nodes that a path from one node leads to; the node itself only where a path leads back to it."""
    return reached_from([node], followers)


def reached_from(nodes: Iterable[str], followers: Followers, *, beyond: Collection[str] = ()) -> set[str]:
    """Return all nodes that a path from any of these leads to.

    Args:
        beyond: Nodes that no path goes through or to.
    """
    seen: set[str] = set()
    waiting = [other for node in nodes for other in followers[node]]
    while waiting:
        other = waiting.pop()
        if other not in seen and other not in beyond:
            seen.add(other)
            waiting += followers[other]
    return seen


def distance(first: str, lasts: Collection[str], followers: Followers) -> int:
    """Return the number of edges on the shortest path to any of some nodes; without one, that of the nodes reached."""
    seen, wave, edges = {first}, {first}, 0
    while wave:
        if not wave.isdisjoint(lasts):
            return edges
        wave = {other for node in wave for other in followers[node]} - seen
        seen |= wave
        edges += 1
    return len(seen)


def components(followers: Followers) -> Iterator[list[str]]:
    """Yield the nodes in groups: those that lead to each other together, and a group after its followers."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    is_open: dict[str, None] = {}  # in the order in which they were found
    for root in followers:
        stack = [] if root in numbers else [(root, iter(followers[root]))]
        while stack:
            node, rest = stack[-1]
            if node not in numbers:
                numbers[node] = lowest[node] = len(numbers)
                is_open[node] = None
            target = next(rest, None)
            if target is None:
                stack.pop()
                if stack:
                    lowest[stack[-1][0]] = min(lowest[stack[-1][0]], lowest[node])
                if lowest[node] == numbers[node]:
                    yield _closed(node, is_open)
            elif target not in numbers:
                stack.append((target, iter(followers[target])))
            elif target in is_open:
                lowest[node] = min(lowest[node], numbers[target])


def _closed(node: str, is_open: dict[str, None]) -> list[str]:
    """Take the nodes that were found since one, and return them."""
    group = []
    while (last := is_open.popitem()[0]) != node:
        group.append(last)
    return [node, *group]


def in_loops(followers: Followers) -> set[str]:
    """Return the nodes that a path leads back to."""
    return {node for group in components(followers) for node in group if len(group) > 1 or node in followers[node]}


def leading_to_each(followers: Followers) -> Iterator[tuple[str, int]]:
    """Yield each node with those from which a path leads to it: bit N is the node at place N of `followers`.

    A node comes after those that lead to it, and the number for these is dropped when their followers have it.
    """
    bit = {node: 1 << position for position, node in enumerate(followers)}
    groups = list(components(followers))[::-1]
    group_of = {node: number for number, group in enumerate(groups) for node in group}
    before = dict.fromkeys(range(len(groups)), 0)
    for number, group in enumerate(groups):
        own = sum(bit[node] for node in group)
        leading = before.pop(number)
        targets = {group_of[target] for node in group for target in followers[node]}
        if number in targets:
            leading |= own
        for target in targets - {number}:
            before[target] |= leading | own
        yield from ((node, leading) for node in group)


def connected(pairs: Iterable[tuple[str, str]], followers: Followers) -> set[tuple[str, str]]:
    """Return those of the pairs of which a path leads from the first node to the second."""
    places = {node: position for position, node in enumerate(followers)}
    firsts_of: dict[str, set[str]] = {}
    for first, second in pairs:
        firsts_of.setdefault(second, set()).add(first)
    return {
        (first, second)
        for second, leading in (leading_to_each(followers) if firsts_of else ())
        for first in firsts_of.get(second, ())
        if leading >> places[first] & 1
    }


def leading_nodes(nodes: Iterable[str], leading: int) -> list[str]:
    """Return those of the nodes whose bit is set, in their order."""
    digits = f"{leading:b}"[::-1]
    return [node for node, digit in zip(nodes, digits, strict=False) if digit == "1"]


def cycles(followers: Followers) -> Iterator[list[str]]:
    """Yield cycles, each from its first reached node."""
    done: set[str] = set()
    for root in followers:
        path: dict[str, int] = {}
        stack = [(root, iter(followers[root]))] if root not in done else []
        while stack:
            node, rest = stack[-1]
            path.setdefault(node, len(path))
            following = next(rest, None)
            if following is None:
                done.add(node)
                stack.pop()
                path.popitem()
            elif following in path:
                yield list(path)[path[following] :]
            elif following not in done:
                stack.append((following, iter(followers[following])))


class Order:
    """Which nodes go before which, by paths without the edges that lead back into a loop.

    Args:
        followers: The graph, in the order of the file.
    """

    def __init__(self, followers: Followers) -> None:
        self._places = {node: position for position, node in enumerate(followers)}
        self.ahead, last_first = _without_loops(followers)
        # Each edge leads to a deeper node, so that a search for some nodes ends at their depth.
        self._depths = dict.fromkeys(followers, 0)
        for node in reversed(last_first):
            for target in self.ahead[node]:
                self._depths[target] = max(self._depths[target], self._depths[node] + 1)

    def ready(self, pending: Collection[str]) -> list[str]:
        """Return the pending nodes that no other pending node leads to, in the order of the file."""
        deepest = max((self._depths[node] for node in pending), default=0)
        seen: set[str] = set()
        waiting = list(pending)
        while waiting:
            node = waiting.pop()
            if self._depths[node] < deepest:
                fresh = [target for target in self.ahead[node] if target not in seen]
                seen.update(fresh)
                waiting += fresh
        return sorted(set(pending) - seen, key=self._places.__getitem__)


def _without_loops(followers: Followers) -> tuple[dict[str, list[str]], list[str]]:
    """Return the followers without the edges that lead back, and all nodes, each after those that it leads to."""
    ahead: dict[str, list[str]] = {}
    last_first: list[str] = []
    for root in followers:
        trail = [] if root in ahead else [(root, iter(followers[root]))]
        on_trail = {root} if trail else set()
        ahead.setdefault(root, [])
        while trail:
            node, rest = trail[-1]
            target = next(rest, None)
            if target is None:
                trail.pop()
                on_trail.discard(node)
                last_first.append(node)
            elif target not in on_trail:
                ahead[node].append(target)
                if target not in ahead:
                    ahead[target] = []
                    on_trail.add(target)
                    trail.append((target, iter(followers[target])))
    return ahead, last_first


def waves_of(followers: Followers) -> Iterator[list[str]]:
    """Yield the nodes that run together, wave after wave from the first node on; the graph has no cycle."""
    order, pending = Order(followers), {next(iter(followers))}
    while pending:
        wave = order.ready(pending)
        yield wave
        pending = (pending - set(wave)) | {target for node in wave for target in followers[node]}
