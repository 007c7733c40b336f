"""Whether an agent that keeps its conversation can do so: two steps at once would have no one order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from strands_cli.errors import Finding
from strands_cli.spec.document import escape
from strands_cli.spec.model import (
    AgentStep,
    DagConfig,
    Graph,
    GraphConfig,
    OrchestratorWorkers,
    Parallel,
    WorkflowPattern,
    WorkflowSpec,
)
from strands_cli.spec.sites import CONFIG, placed_steps
from strands_cli.spec.tasks import ancestors, dependencies

if TYPE_CHECKING:
    from strands_cli.spec.loader import Loaded


def check_memory(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Report agents with `memory: run` in steps that may run at the same time."""
    keeping = {name for name, agent in spec.agents.items() if agent.memory == "run"}
    if not keeping:
        return
    pattern = spec.pattern
    if isinstance(pattern, Parallel):
        yield from _in_branches(spec, len(pattern.config.branches), keeping, loaded)
    elif isinstance(pattern, WorkflowPattern):
        yield from _in_tasks(pattern.config, keeping, loaded)
    elif isinstance(pattern, Graph):
        yield from _in_nodes(pattern.config, keeping, loaded)
    elif isinstance(pattern, OrchestratorWorkers) and pattern.config.worker_template.agent in keeping:
        yield _concurrent(pattern.config.worker_template.agent, f"{CONFIG}/worker_template/agent", loaded)


def _in_branches(spec: WorkflowSpec, count: int, keeping: set[str], loaded: Loaded) -> Iterator[Finding]:
    seen: set[str] = set()
    for index in range(count):
        here = set()
        for placed in placed_steps(spec):
            if not isinstance(placed.step, AgentStep) or not placed.pointer.startswith(f"{CONFIG}/branches/{index}/"):
                continue
            here.add(placed.step.agent)
            if placed.step.agent in seen & keeping:
                yield _concurrent(placed.step.agent, f"{placed.pointer}/agent", loaded)
        seen |= here


def _in_tasks(config: DagConfig, keeping: set[str], loaded: Loaded) -> Iterator[Finding]:
    deps = dependencies(config)
    earlier: list[tuple[str, str]] = []
    for index, task in enumerate(config.tasks):
        if not isinstance(task, AgentStep) or task.agent not in keeping:
            continue
        others = [other for other, agent in earlier if agent == task.agent]
        before = ancestors(task.id, deps)
        if any(other not in before and task.id not in ancestors(other, deps) for other in others):
            yield _concurrent(task.agent, f"{CONFIG}/tasks/{index}/agent", loaded)
        earlier.append((task.id, task.agent))


def _in_nodes(config: GraphConfig, keeping: set[str], loaded: Loaded) -> Iterator[Finding]:
    """Look at nodes that one edge starts together; paths that only meet later are refused when they do."""
    told: set[str] = set()
    for edge in config.edges:
        seen: set[str] = set()
        for name in dict.fromkeys(edge.to or ()):
            node = config.nodes.get(name)
            if not isinstance(node, AgentStep) or node.agent not in keeping:
                continue
            if node.agent in seen and name not in told:
                told.add(name)
                yield _concurrent(node.agent, f"{CONFIG}/nodes/{escape(name)}/agent", loaded)
            seen.add(node.agent)


def _concurrent(name: str, pointer: str, loaded: Loaded) -> Finding:
    message = f"the agent {name!r} keeps its conversation (`memory: run`) but may work on two steps at once"
    fix = "use an agent for each, or `memory: step`"
    return Finding("concurrent-memory", message, loaded.where(pointer), fix)
