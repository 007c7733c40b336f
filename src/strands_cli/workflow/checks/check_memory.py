"""Whether conversations can be kept as the workflow says: in one order, and made smaller in one way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import TYPE_CHECKING

from strands_cli.errors import Finding, Severity
from strands_cli.workflow.document import escape
from strands_cli.workflow.graph_paths import onward_from, reach_of, waves_of
from strands_cli.workflow.model import (
    AgentStep,
    DagConfig,
    Graph,
    GraphConfig,
    OrchestratorWorkers,
    Parallel,
    WorkflowPattern,
    WorkflowSpec,
)
from strands_cli.workflow.task_graph import dependencies, reached
from strands_cli.workflow.template_sites import CONFIG, placed_steps

if TYPE_CHECKING:
    from strands_cli.workflow.loader import Loaded


def check_memory(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Report agents with `memory: run` in steps that may run at the same time, and two ways to cut a conversation."""
    yield from _cut_twice(spec, loaded)
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


def _cut_twice(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    policy = spec.context_policy
    if policy.window is not None and policy.compaction is not None and policy.compaction.enabled:
        message = "`window` leaves out the messages that `compaction` would sum up"
        where = loaded.where("/context_policy/window", key=True)
        yield Finding(
            "window-and-compaction", message, where, "keep one of the two, or set `compaction.enabled: false`"
        )


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
        before = reached(task.id, deps)
        if any(other not in before and task.id not in reached(other, deps) for other in others):
            yield _concurrent(task.agent, f"{CONFIG}/tasks/{index}/agent", loaded)
        earlier.append((task.id, task.agent))


def _in_nodes(config: GraphConfig, keeping: set[str], loaded: Loaded) -> Iterator[Finding]:
    """Look at nodes that run together; where choices or loops decide which do, those that may are a warning."""
    speaking = {
        name: node.agent for name, node in config.nodes.items() if isinstance(node, AgentStep) and node.agent in keeping
    }
    if len(set(speaking.values())) == len(speaking):
        return
    waves = waves_of(config)
    pairs = _meeting(config) if waves is None else ((a, b, True) for wave in waves for a, b in combinations(wave, 2))
    told: dict[str, bool] = {}
    for one, other, is_certain in pairs:
        if one in speaking and other in speaking and speaking[one] == speaking[other] and one != other:
            later = max(one, other, key=list(config.nodes).index)
            told[later] = told.get(later, False) or is_certain
    for name, is_certain in told.items():
        pointer = f"{CONFIG}/nodes/{escape(name)}/agent"
        yield _concurrent(speaking[name], pointer, loaded, severity="error" if is_certain else "warning")


def _meeting(config: GraphConfig) -> Iterator[tuple[str, str, bool]]:
    """Yield pairs of nodes on paths that begin together, and whether the nodes themselves do."""
    reach, onward = reach_of(config), onward_from(config)
    for name in config.nodes:
        starts = [(number, edge, target) for number, edge in enumerate(config.edges) if edge.from_ == name
                  for target in (*(edge.to or ()), *(choice.to for choice in edge.choose or ()))
                  if target in reach]  # fmt: skip
        for (number, edge, first), (following, other, second) in combinations(starts, 2):
            if number == following and edge.choose:
                continue  # one of them at most
            certain = edge.to is not None and other.to is not None
            for one, two in product((first, *reach[first]), (second, *reach[second])):
                if one != two and two not in onward[one] and one not in onward[two]:
                    yield one, two, certain and (one, two) == (first, second)


def _concurrent(name: str, pointer: str, loaded: Loaded, *, severity: Severity = "error") -> Finding:
    message = f"the agent {name!r} keeps its conversation (`memory: run`) but may work on two steps at once"
    fix = "use an agent for each, or `memory: step`"
    return Finding("concurrent-memory", message, loaded.where(pointer), fix, severity)
