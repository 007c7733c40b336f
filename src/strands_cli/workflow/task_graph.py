"""What the dependencies of tasks imply: cycles, and which tasks are done before which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from strands_cli.workflow.model import DagConfig


def dependencies(config: DagConfig) -> dict[str, list[str]]:
    """Return each task's dependencies that exist."""
    ids = {task.id for task in config.tasks}
    return {task.id: [name for name in task.deps if name in ids] for task in config.tasks}


def cycles(config: DagConfig) -> Iterator[list[str]]:
    """Yield cycles of tasks that wait for each other, each from the first of its tasks that is reached."""
    deps = dependencies(config)
    done: set[str] = set()
    for root in deps:
        path: list[str] = []
        stack = [(root, iter(deps[root]))] if root not in done else []
        while stack:
            name, rest = stack[-1]
            if len(path) < len(stack):
                path.append(name)
            following = next(rest, None)
            if following is None:
                done.add(name)
                stack.pop()
                path.pop()
            elif following in path:
                yield path[path.index(following) :]
            elif following not in done:
                stack.append((following, iter(deps[following])))


def reached(name: str, following: Mapping[str, Iterable[str]]) -> set[str]:
    """Return everything that steps from one name to those that follow it lead to; itself only in a circle."""
    seen: set[str] = set()
    waiting = list(following[name])
    while waiting:
        other = waiting.pop()
        if other not in seen:
            seen.add(other)
            waiting += following[other]
    return seen
