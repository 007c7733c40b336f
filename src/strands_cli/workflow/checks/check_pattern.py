"""Whether the parts of a pattern fit together: agents, tasks, routes, branches, nodes and edges."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from strands_cli.errors import Finding, Severity, Where, did_you_mean
from strands_cli.workflow.checks.check_memory import check_memory
from strands_cli.workflow.checks.check_schema import check_regex
from strands_cli.workflow.document import escape
from strands_cli.workflow.graph_paths import targets_of
from strands_cli.workflow.model import (
    AgentStep,
    CallStep,
    Choice,
    DagConfig,
    EvaluatorOptimizer,
    GateStep,
    Graph,
    GraphConfig,
    OrchestratorWorkers,
    Parallel,
    Routing,
    WorkflowPattern,
    WorkflowSpec,
)
from strands_cli.workflow.task_graph import cycles, dependencies, reached
from strands_cli.workflow.template_sites import CONFIG, Placed, placed_steps, sites_of_step
from strands_cli.workflow.templates.bounded_regex import SlowPattern, fullmatch
from strands_cli.workflow.templates.template import Templates

if TYPE_CHECKING:
    from strands_cli.workflow.loader import Loaded


def check_pattern(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Yield every reference of the pattern that leads nowhere, and every part of it that cannot take effect."""
    yield from check_agents(spec, loaded)
    yield from _check_gates(spec, loaded)
    yield from check_memory(spec, loaded)
    yield from _check_schemas(spec, loaded)
    pattern = spec.pattern
    if isinstance(pattern, WorkflowPattern):
        yield from check_tasks(pattern.config, loaded)
    elif isinstance(pattern, Graph):
        yield from check_graph(pattern.config, loaded)
    elif isinstance(pattern, Routing):
        config = pattern.config
        if config.default is not None and config.default not in config.routes:
            yield unknown("route", config.default, config.routes, loaded.where(f"{CONFIG}/default"))
    elif isinstance(pattern, Parallel):
        ids = [branch.id for branch in pattern.config.branches]
        yield from duplicates("branch", ids, f"{CONFIG}/branches", loaded)
    elif isinstance(pattern, OrchestratorWorkers) and pattern.config.reduce_review and not pattern.config.reduce:
        message = "`reduce_review` has no effect without `reduce`"
        yield no_effect(message, loaded.where(f"{CONFIG}/reduce_review", key=True))


def unknown(kind: str, name: str, known: Iterable[str], where: Where) -> Finding:
    """Say that a name leads nowhere; `kind` is `agent`, `task`, `route` or `node`."""
    words = list(known)
    close = did_you_mean(name, words)
    fix = f"did you mean {close!r}?" if close else f"there are: {', '.join(words)}" if words else f"add the {kind}"
    return Finding(f"unknown-{kind}", f"there is no {kind} {name!r}", where, fix)


def no_effect(message: str, where: Where, fix: str = "remove it") -> Finding:
    """Say that a field is accepted but can do nothing where it stands."""
    return Finding("no-effect", message, where, fix, "warning")


def duplicates(kind: str, ids: Sequence[str], pointer: str, loaded: Loaded) -> Iterator[Finding]:
    """Report each id of a list that an earlier item has as well."""
    firsts: dict[str, int] = {}
    for index, name in enumerate(ids):
        first = firsts.setdefault(name, index)
        if first < index:
            line = loaded.where(f"{pointer}/{first}").line
            message = f"two of the {kind} ids are {name!r}, the first in line {line}"
            yield Finding("duplicate-id", message, loaded.where(f"{pointer}/{index}/id"), "give each an id of its own")


def check_agents(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Report steps whose agent does not exist, and agents no step uses."""
    mentions = [
        (f"{placed.pointer}/agent", placed.step.agent)
        for placed in placed_steps(spec)
        if isinstance(placed.step, AgentStep)
    ]
    if isinstance(spec.pattern, EvaluatorOptimizer):
        mentions.append((f"{CONFIG}/producer", spec.pattern.config.producer))
    elif isinstance(spec.pattern, OrchestratorWorkers):
        mentions.append((f"{CONFIG}/worker_template/agent", spec.pattern.config.worker_template.agent))
    for pointer, name in mentions:
        if name not in spec.agents:
            yield unknown("agent", name, spec.agents, loaded.where(pointer))
    used = {name for _, name in mentions} | _agents_as_tools(spec)
    # An agent whose name was mistyped where it is used is not unused.
    used |= {did_you_mean(name, spec.agents) or "" for _, name in mentions if name not in spec.agents}
    for name in spec.agents:
        if name not in used:
            where = loaded.document.where(f"/agents/{escape(name)}", key=True)
            yield Finding("unused-agent", f"no step uses the agent {name!r}", where, "use it or remove it", "warning")


def _agents_as_tools(spec: WorkflowSpec) -> set[str]:
    entries = [*spec.tools.python, *(entry for agent in spec.agents.values() for entry in agent.tools or ())]
    for placed in placed_steps(spec):
        if isinstance(placed.step, AgentStep):
            entries += placed.step.tool_overrides or ()
    called = [placed.step.tool for placed in placed_steps(spec) if isinstance(placed.step, CallStep)]
    called += [step.tool for composite in spec.tools.composite for step in composite.steps]
    named = [*called, *(entry.tool for entry in entries)]
    return {name.removeprefix("agent:") for name in named if name.startswith("agent:")}


def _check_schemas(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Report an `output_schema` where the pattern itself says what its agent answers."""
    for role, answers, step in _deciders(spec):
        agent = spec.agents.get(step.agent)
        if agent is None or agent.output_schema is None:
            continue
        where = loaded.where(f"/agents/{escape(step.agent)}/output_schema", key=True)
        message = (
            f"`output_schema` of the agent {step.agent!r} has no effect where it is the {role}: it answers {answers}"
        )
        yield no_effect(message, where, f"remove it, or use an agent of its own as the {role}")


def _deciders(spec: WorkflowSpec) -> Iterator[tuple[str, str, AgentStep]]:
    """Yield the agents whose answer the pattern reads: their part in it, what they answer, and their step."""
    pattern = spec.pattern
    if isinstance(pattern, Routing):
        yield "router", '`{"route": name}`', pattern.config.router
    elif isinstance(pattern, EvaluatorOptimizer):
        yield "evaluator", "`{score, issues, fixes}`", pattern.config.evaluator
    elif isinstance(pattern, OrchestratorWorkers):
        yield "orchestrator", 'a list of `{"task": ...}`', pattern.config.orchestrator


def _check_gates(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    for placed in placed_steps(spec):
        gate, pointer = placed.step, placed.pointer
        if not isinstance(gate, GateStep):
            continue
        if gate.timeout_seconds is not None and gate.default is None:
            message = "`timeout_seconds` has no effect without a `default` to take when the time is over"
            yield no_effect(message, loaded.where(f"{pointer}/timeout_seconds", key=True), "add `default:`")
        pattern = gate.validation.pattern if gate.validation else None
        if pattern is None:
            continue
        problem = check_regex(pattern, loaded.where(f"{pointer}/validation/pattern"))
        if problem is not None:
            yield problem
        elif gate.default is not None:
            yield from _check_default(gate.default, pattern, pointer, loaded)


def _check_default(default: str, pattern: str, pointer: str, loaded: Loaded) -> Iterator[Finding]:
    try:
        fits = fullmatch(pattern, default) is not None
    except SlowPattern as error:
        yield Finding("bad-regex", str(error), loaded.where(f"{pointer}/validation/pattern"), "write a simpler one")
        return
    if not fits:
        message = f"the default {default!r} does not match the pattern {pattern!r}"
        yield Finding("bad-value", message, loaded.where(f"{pointer}/default"), "change one of the two")


def check_tasks(config: DagConfig, loaded: Loaded) -> Iterator[Finding]:
    """Report task ids that occur twice, dependencies that do not exist, cycles, and reads without a dependency."""
    pointer = f"{CONFIG}/tasks"
    ids = [task.id for task in config.tasks]
    known = set(ids)
    yield from duplicates("task", ids, pointer, loaded)
    for index, task in enumerate(config.tasks):
        for number, name in enumerate(task.deps):
            where = loaded.where(f"{pointer}/{index}/deps/{number}")
            if name not in known:
                yield unknown("task", name, ids, where)
            elif name in task.deps[:number]:
                yield no_effect(f"the dependency {name!r} is named twice", where)
    for cycle in cycles(config):
        where = loaded.where(f"{pointer}/{ids.index(cycle[0])}/deps")
        path = " -> ".join((*cycle, cycle[0]))
        yield Finding("task-cycle", f"tasks wait for each other: {path}", where, "remove one of these dependencies")
    yield from _check_reads(config, loaded)


def _check_reads(config: DagConfig, loaded: Loaded) -> Iterator[Finding]:
    """Report tasks that read another one's answer without waiting for it.

    A task sees only what it waits for, so such a read fails whenever it is reached: an error where the template always
    reaches it, a warning where a branch may pass it by.
    """
    deps = dependencies(config)
    before = functools.cache(lambda name: reached(name, deps))
    for reader, name, pointer, is_certain in _reads(config):
        if name not in deps or name in before(reader):
            continue
        severity: Severity = "error" if is_certain else "warning"
        where = loaded.where(pointer)
        if name == reader or reader in before(name):
            message = f"task {reader!r} reads {name!r}, which is not done before it"
            yield Finding("unknown-name", message, where, "turn the dependency round", severity)
        else:
            message = f"task {reader!r} reads {name!r} without depending on it, and sees only what it depends on"
            yield Finding("missing-dependency", message, where, f"add {name!r} to `deps`", severity)


def _reads(config: DagConfig) -> Iterator[tuple[str, str, str, bool]]:
    """Yield each task, a task whose answer it reads, the pointer of the template, and whether it surely reads it."""
    templates = Templates()
    for index, task in enumerate(config.tasks):
        for site in sites_of_step(Placed(f"{CONFIG}/tasks/{index}", task, {})):
            certain = templates.certain_reads_in(site.text, "tasks")
            paths = {path[:2] for path in templates.paths_in(site.text) if path[0] == "tasks" and len(path) > 1}
            for path in sorted(paths | certain, key=str):
                yield task.id, str(path[1]), site.pointer, path in certain


def check_graph(config: GraphConfig, loaded: Loaded) -> Iterator[Finding]:
    """Report edges that lead nowhere or do not say how they go on, choices without `else`, and unreachable nodes."""
    nodes = config.nodes
    for index, edge in enumerate(config.edges):
        pointer = f"{CONFIG}/edges/{index}"
        if edge.from_ not in nodes:
            yield unknown("node", edge.from_, nodes, loaded.where(f"{pointer}/from"))
        for number, name in enumerate(edge.to or ()):
            if name not in nodes:
                yield unknown("node", name, nodes, loaded.where(f"{pointer}/to/{number}"))
        if (edge.to is None) == (edge.choose is None):
            how = "both `to` and `choose`" if edge.to else "neither `to` nor `choose`"
            yield Finding(
                "edge-form", f"an edge needs one of `to` and `choose`; this one has {how}", loaded.where(pointer)
            )
        if edge.choose:
            yield from _check_choices(edge.choose, f"{pointer}/choose", nodes, loaded)
    yield from _check_reachable(config, loaded)


def _check_choices(choices: Sequence[Choice], pointer: str, nodes: Iterable[str], loaded: Loaded) -> Iterator[Finding]:
    is_else = [choice.when.strip().strip("{} ") == "else" for choice in choices]
    for number, choice in enumerate(choices):
        if choice.to not in nodes:
            yield unknown("node", choice.to, nodes, loaded.where(f"{pointer}/{number}/to"))
        if any(is_else[:number]):
            yield no_effect(
                "a choice after `else` is never reached", loaded.where(f"{pointer}/{number}"), "put `else` last"
            )
    if not any(is_else):
        message = "where none of these choices holds, the path ends here"
        yield Finding(
            "no-else", message, loaded.where(pointer), "add `{when: else, to: ...}` if it should go on", "warning"
        )


def _check_reachable(config: GraphConfig, loaded: Loaded) -> Iterator[Finding]:
    entry = next(iter(config.nodes))
    seen = {entry, *reached(entry, targets_of(config))}
    for name in config.nodes:
        if name not in seen:
            where = loaded.where(f"{CONFIG}/nodes/{escape(name)}", key=True)
            message = f"no path leads from the first node, {entry!r}, to {name!r}"
            yield Finding("unreachable-node", message, where, "add an edge, or remove the node", "warning")
