"""The steps of a plan: every place of a pattern that holds one, with its key, and its input as far as it is known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from strands_cli.planning.plan import Bounds, PlannedAgent, PlannedStep, PlannedTool, tools_in_step
from strands_cli.workflow.model import AgentStep, CallStep, GateStep, Step, WorkflowSpec
from strands_cli.workflow.templates.template import TemplateError, Templates

# How the part of a key begins that stands for an agent which is called as a tool.
AGENT_PART = "agent."
# What a step may hold besides; any other part of a key is a step of a workflow that is called as a tool.
_WITHIN_A_STEP = re.compile(r"(tool|model|summary|interrupt)\.|notes?$|approval$")


def steps_of(spec: WorkflowSpec) -> Iterator[tuple[str, str, Step]]:
    """Yield each step's key, JSON pointer and step, in the order of the file; keys are those of the journal.

    A step that a loop or an orchestrator repeats is yielded once, with `N` in place of its number.
    """
    config: Any = spec.pattern.config
    at = "/pattern/config"
    match spec.pattern.type:
        case "chain":
            yield from _sequence("steps", f"{at}/steps", config.steps)
        case "workflow":
            for index, task in enumerate(config.tasks):
                yield f"tasks.{task.id}", f"{at}/tasks/{index}", task
        case "routing":
            yield "router", f"{at}/router", config.router
            yield from _optional("router.review", f"{at}/router/review_router", config.router.review_router)
            for name, route in config.routes.items():
                yield from _sequence(f"routes.{name}.steps", f"{at}/routes/{name}/then", route.then)
        case "parallel":
            for index, branch in enumerate(config.branches):
                yield from _sequence(f"branches.{branch.id}.steps", f"{at}/branches/{index}/steps", branch.steps)
            yield from _optional("reduce", f"{at}/reduce", config.reduce)
        case "evaluator_optimizer":
            yield "iterations.N.producer", f"{at}/producer", _turn(config.producer, config.producer_input)
            yield "iterations.N.evaluator", f"{at}/evaluator", config.evaluator
            yield from _optional("iterations.N.review", f"{at}/review_gate", config.review_gate)
        case "orchestrator_workers":
            yield "orchestrator", f"{at}/orchestrator", config.orchestrator
            yield from _optional("decomposition_review", f"{at}/decomposition_review", config.decomposition_review)
            template = config.worker_template
            yield "workers.N", f"{at}/worker_template", _turn(template.agent, None, template.tools)
            for name in ("reduce_review", "reduce", "writeup"):
                yield from _optional(name, f"{at}/{name}", getattr(config, name))
        case "graph":
            for name, node in config.nodes.items():
                yield f"nodes.{name}#N", f"{at}/nodes/{name}", node


def agents_by_key(spec: WorkflowSpec) -> Callable[[str], tuple[str, ...]]:
    """Return what tells who acts at a key of the journal: the agent of the step, then the agents that are its tools.

    Below a workflow that is a tool, agents have names of their own, which are not told.
    """
    agents = {key.removesuffix("#N"): step.agent for key, _, step in steps_of(spec) if isinstance(step, AgentStep)}

    def agents_of(key: str) -> tuple[str, ...]:
        first, *inner = key.split("/")
        step = first.partition("#")[0]
        agent = agents.get(step) or agents.get(re.sub(r"^(iterations|workers)\.\d+", r"\1.N", step))
        acting = [agent] if agent else []
        for part in inner:
            if part.startswith(AGENT_PART):
                acting.append(part.removeprefix(AGENT_PART))
            elif _WITHIN_A_STEP.match(part) is None:
                break
        return tuple(acting)

    return agents_of


def _sequence(key: str, pointer: str, steps: tuple[Step, ...]) -> Iterator[tuple[str, str, Step]]:
    for index, step in enumerate(steps):
        yield f"{key}.{index}", f"{pointer}/{index}", step


def _optional(key: str, pointer: str, step: Step | None) -> Iterator[tuple[str, str, Step]]:
    if step is not None:
        yield key, pointer, step


def _turn(agent: str, template: str | None, tools: Any = None) -> AgentStep:
    return AgentStep.model_construct(agent=agent, input=template, vars={}, tool_overrides=tools)


def planned_steps(
    spec: WorkflowSpec,
    inputs: Mapping[str, Any],
    agents: Mapping[str, PlannedAgent],
    overrides: Mapping[str, tuple[PlannedTool, ...]],
    *,
    as_written: bool = False,
) -> tuple[PlannedStep, ...]:
    """Return the steps for a reader, inputs rendered where they need nothing but the run's inputs, or `as_written`."""
    templates = Templates()
    planned: list[PlannedStep] = []
    for key, _, step in steps_of(spec):
        kind, who, template = _describe(key, step, agents)
        text, rendered = _as_text(template), False
        if not as_written:
            text, rendered = _rendered(templates, template, inputs, getattr(step, "vars", {}))
        tools = tools_in_step(step, agents, overrides) if isinstance(step, AgentStep) else ()
        about = getattr(step, "description", None)
        planned.append(PlannedStep(key, kind, who, text, rendered, tuple(tool.name for tool in tools), about))
    return tuple(planned)


def _describe(key: str, step: Step, agents: Mapping[str, PlannedAgent]) -> tuple[str, str, Any]:
    if isinstance(step, GateStep):
        return "gate", "person", step.prompt
    if isinstance(step, CallStep):
        return "call", step.tool, dict(step.input)
    if step.input is not None:
        return "agent", step.agent, step.input
    follows = re.search(r"(^|\.)steps\.[1-9][0-9]*$", key) is not None
    return "agent", step.agent, "{{ last_response }}" if follows else agents[step.agent].prompt


def _rendered(
    templates: Templates, template: Any, inputs: Mapping[str, Any], own: Mapping[str, Any]
) -> tuple[str, bool]:
    try:
        value = templates.render_value(template, {**inputs, **templates.render_value(own, inputs)})
    except TemplateError:
        return _as_text(template), False
    return _as_text(value), True


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def bounds_of(spec: WorkflowSpec, steps: tuple[PlannedStep, ...], leads_on: bool = False) -> Bounds:
    """Return how often things happen at most: what the pattern implies, or the budget where it is lower.

    Args:
        spec: The workflow.
        steps: Its steps.
        leads_on: Whether a tool is made of others, so that one call may be many, and hold steps.
    """
    budgets = spec.runtime.budgets
    repeated = spec.pattern.type in ("graph", "evaluator_optimizer", "orchestrator_workers", "routing")
    agents = [step for step in steps if step.kind == "agent"]
    without_tools = not repeated and not leads_on and not any(step.tools for step in agents)
    calls_only = sum(step.kind == "call" for step in steps) if without_tools else None
    return Bounds(
        steps=_least(None if repeated or leads_on else len(steps), budgets.max_steps),
        model_calls=_least(len(agents) if without_tools else None, budgets.max_model_calls),
        tool_calls=_least(calls_only, budgets.max_tool_calls),
    )


def _least(*limits: int | None) -> int | None:
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else None
