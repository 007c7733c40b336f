"""What the dependencies of tasks imply: cycles, and which tasks are done before which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from strands_cli.spec.model import DagConfig


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


def ancestors(name: str, deps: Mapping[str, list[str]]) -> set[str]:
    """Return all tasks that are done before a task starts; in a circle also the task itself."""
    seen: set[str] = set()
    waiting = list(deps[name])
    while waiting:
        following = waiting.pop()
        if following not in seen:
            seen.add(following)
            waiting += deps[following]
    return seen
