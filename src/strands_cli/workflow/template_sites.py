"""Every template and condition of a workflow, each with its place and the names it may use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strands_cli.workflow.document import escape
from strands_cli.workflow.model import (
    AgentStep,
    CallStep,
    Chain,
    EvaluatorConfig,
    EvaluatorOptimizer,
    GateStep,
    Graph,
    GraphConfig,
    OrchestratorConfig,
    OrchestratorWorkers,
    Parallel,
    ParallelConfig,
    Routing,
    RoutingConfig,
    Step,
    WorkflowPattern,
    WorkflowSpec,
)
from strands_cli.workflow.template_scope import (
    ANY,
    BRANCH,
    EVALUATION,
    NODE,
    ORCHESTRATION,
    REVIEW,
    ROUTER,
    STEP,
    WORK,
    WRITEUP,
    Items,
    Scope,
    chain_scope,
    scope_at_end,
)

CONFIG = "/pattern/config"


@dataclass(frozen=True, slots=True)
class Site:
    """One template or condition: where it stands, its text, and the names it sees besides inputs."""

    pointer: str
    text: str
    scope: Scope
    is_condition: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """One step where it stands, and the names its templates see besides inputs."""

    pointer: str
    step: Step
    scope: Scope


def placed_steps(spec: WorkflowSpec) -> Iterator[Placed]:
    """Yield every step of the pattern, the gates and the single agents of the patterns included, in file order."""
    pattern = spec.pattern
    if isinstance(pattern, Chain):
        yield from _sequence(f"{CONFIG}/steps", pattern.config.steps, {})
    elif isinstance(pattern, WorkflowPattern):
        has_gate = any(isinstance(task, GateStep) for task in pattern.config.tasks)
        scope = {"tasks": {task.id: STEP for task in pattern.config.tasks}, **_gate_scope(has_gate)}
        for index, task in enumerate(pattern.config.tasks):
            yield Placed(f"{CONFIG}/tasks/{index}", task, scope)
    elif isinstance(pattern, Routing):
        yield from _routing(pattern.config)
    elif isinstance(pattern, Parallel):
        yield from _parallel(pattern.config)
    elif isinstance(pattern, EvaluatorOptimizer):
        yield from _evaluator(pattern.config)
    elif isinstance(pattern, OrchestratorWorkers):
        yield from _orchestrator(pattern.config)
    elif isinstance(pattern, Graph):
        graph_scope = _graph_scope(pattern.config)
        for name, node in pattern.config.nodes.items():
            yield Placed(f"{CONFIG}/nodes/{escape(name)}", node, graph_scope)


def _gate_scope(has_gate: bool) -> dict[str, Any]:
    return {"hitl_response": ANY} if has_gate else {}


def _graph_scope(config: GraphConfig) -> Scope:
    has_gate = any(isinstance(node, GateStep) for node in config.nodes.values())
    return {"nodes": dict.fromkeys(config.nodes, NODE), **_gate_scope(has_gate)}


def _sequence(pointer: str, steps: Sequence[Step], outer: Mapping[str, Any]) -> Iterator[Placed]:
    has_gate = "hitl_response" in outer
    for index, step in enumerate(steps):
        yield Placed(f"{pointer}/{index}", step, {**outer, **chain_scope(index, has_gate)})
        has_gate = has_gate or isinstance(step, GateStep)


def _routing(config: RoutingConfig) -> Iterator[Placed]:
    yield Placed(f"{CONFIG}/router", config.router, {})
    review = config.router.review_router
    if review:
        yield Placed(f"{CONFIG}/router/review_router", review, {"router": ROUTER})
    outer = {"router": ROUTER, **_gate_scope(review is not None)}
    for name, route in config.routes.items():
        yield from _sequence(f"{CONFIG}/routes/{escape(name)}/then", route.then, outer)


def _parallel(config: ParallelConfig) -> Iterator[Placed]:
    for index, branch in enumerate(config.branches):
        yield from _sequence(f"{CONFIG}/branches/{index}/steps", branch.steps, {})
    if config.reduce:
        yield Placed(f"{CONFIG}/reduce", config.reduce, {"branches": {branch.id: BRANCH for branch in config.branches}})


def _evaluator(config: EvaluatorConfig) -> Iterator[Placed]:
    yield Placed(f"{CONFIG}/evaluator", config.evaluator, EVALUATION)
    if config.review_gate:
        yield Placed(f"{CONFIG}/review_gate", config.review_gate, REVIEW)


def _orchestrator(config: OrchestratorConfig) -> Iterator[Placed]:
    yield Placed(f"{CONFIG}/orchestrator", config.orchestrator, {})
    gates = _gate_scope(config.decomposition_review is not None)
    if config.decomposition_review:
        yield Placed(f"{CONFIG}/decomposition_review", config.decomposition_review, ORCHESTRATION)
    if config.reduce_review:
        yield Placed(f"{CONFIG}/reduce_review", config.reduce_review, {**WORK, **gates})
        gates = _gate_scope(True)
    if config.reduce:
        yield Placed(f"{CONFIG}/reduce", config.reduce, {**WORK, **gates})
    if config.writeup:
        yield Placed(f"{CONFIG}/writeup", config.writeup, {**(WRITEUP if config.reduce else WORK), **gates})


def template_sites(spec: WorkflowSpec) -> Iterator[Site]:
    """Yield every template and condition of a workflow; those of composite tools have names of their own."""
    for name, agent in spec.agents.items():
        if agent.prompt is not None and "{{" in agent.prompt:
            yield Site(f"/agents/{escape(name)}/prompt", agent.prompt, {})
    for placed in placed_steps(spec):
        yield from sites_of_step(placed)
    yield from _sites_of_pattern(spec)
    at_end = scope_at_end(spec.pattern)
    for index, artifact in enumerate(spec.outputs.artifacts):
        yield Site(f"/outputs/artifacts/{index}/path", artifact.path, at_end)
        yield Site(f"/outputs/artifacts/{index}/from", artifact.from_, at_end)
    yield from _sites_of_composites(spec)


def sites_of_step(placed: Placed) -> Iterator[Site]:
    """Yield the templates of one step."""
    step, pointer, scope = placed.step, placed.pointer, placed.scope
    if isinstance(step, AgentStep):
        yield from _strings_in(step.vars, f"{pointer}/vars", scope)
        if step.input is not None:
            yield Site(f"{pointer}/input", step.input, {**scope, **dict.fromkeys(step.vars, ANY)})
    elif isinstance(step, CallStep):
        yield from _strings_in(step.input, f"{pointer}/input", scope)
    else:
        yield Site(f"{pointer}/prompt", step.prompt, scope)
        if step.context_display is not None:
            yield Site(f"{pointer}/context_display", step.context_display, scope)


def _strings_in(value: Any, pointer: str, scope: Scope) -> Iterator[Site]:
    if isinstance(value, str):
        yield Site(pointer, value, scope)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _strings_in(item, f"{pointer}/{escape(key)}", scope)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _strings_in(item, f"{pointer}/{index}", scope)


def _sites_of_pattern(spec: WorkflowSpec) -> Iterator[Site]:
    pattern = spec.pattern
    if isinstance(pattern, EvaluatorOptimizer):
        if pattern.config.producer_input is not None:
            yield Site(f"{CONFIG}/producer_input", pattern.config.producer_input, {})
        if pattern.config.revise_prompt is not None:
            gates = _gate_scope(pattern.config.review_gate is not None)
            yield Site(f"{CONFIG}/revise_prompt", pattern.config.revise_prompt, {**EVALUATION, **gates})
    elif isinstance(pattern, Graph):
        scope = _graph_scope(pattern.config)
        for index, edge in enumerate(pattern.config.edges):
            for number, choice in enumerate(edge.choose or ()):
                yield Site(f"{CONFIG}/edges/{index}/choose/{number}/when", choice.when, scope, is_condition=True)


def _sites_of_composites(spec: WorkflowSpec) -> Iterator[Site]:
    for index, tool in enumerate(spec.tools.composite):
        pointer = f"/tools/composite/{index}"
        properties = tool.input_schema.get("properties")
        scope: dict[str, Any] = dict.fromkeys(properties if isinstance(properties, Mapping) else (), ANY)
        scope = {"input": ANY, **scope, "steps": Items(STEP, 0)}
        for number, step in enumerate(tool.steps):
            yield from _strings_in(step.input, f"{pointer}/steps/{number}/input", dict(scope))
            if step.save_as:
                scope[step.save_as] = ANY
            scope |= {"last_response": ANY, "steps": Items(STEP, number + 1)}
        if tool.output is not None:
            yield Site(f"{pointer}/output", tool.output, scope)
