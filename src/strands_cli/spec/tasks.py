"""What the dependencies of tasks imply: cycles, and which tasks are done before which."""

from __future__ import annotations

from collections.abc import Iterator

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


def ancestors(config: DagConfig) -> dict[str, set[str]]:
    """Return for each task all tasks that are done before it starts."""
    deps = dependencies(config)
    before: dict[str, set[str]] = {}
    for root in deps:
        seen: set[str] = set()
        waiting = list(deps[root])
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += () if name in before else deps[name]
                seen |= before.get(name, set())
        before[root] = seen
    return before
