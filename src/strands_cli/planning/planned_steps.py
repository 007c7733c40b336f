"""The steps of a plan: who acts in each, and its input as far as it is known before the run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from strands_cli.planning.plan.plan_values import Bounds, PlannedAgent, PlannedStep, PlannedTool, tools_in_step
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.placed_steps import PlacedStep
from strands_cli.workflow.steps.step_models import AgentStep, CallStep, GateStep
from strands_cli.workflow.templates.plugin_filters import without_plugin_filters
from strands_cli.workflow.templates.template import Templates
from strands_cli.workflow.templates.template_errors import TemplateError

# The prefix of a key's part that names an agent which is called as a tool.
AGENT_PART = "agent."
# What a step may hold besides; any other part of a key is a step of a workflow that is called as a tool.
_WITHIN_A_STEP = re.compile(r"(tool|model|summary|interrupt)\.|notes?$|approval$")


def agents_by_key(spec: WorkflowSpec) -> Callable[[str], tuple[str, ...]]:
    """Return a function that gives who acts at a key of the journal: the step's agent, then the agents as its tools.

    It leaves out the agents of a workflow that is a tool, since these have names of their own.
    """
    steps = [(placed.key, placed.step) for placed in spec.pattern.placed]
    agents = {key.removesuffix("#N"): step.agent for key, step in steps if isinstance(step, AgentStep)}

    def agents_of(key: str) -> tuple[str, ...]:
        first, *inner = key.split("/")
        step = first.partition("#")[0]
        agent = agents.get(step) or agents.get(re.sub(r"\.\d+(?=\.|$)", ".N", step))
        acting = [agent] if agent else []
        for part in inner:
            if part.startswith(AGENT_PART):
                acting.append(part.removeprefix(AGENT_PART))
            elif _WITHIN_A_STEP.match(part) is None:
                break
        return tuple(acting)

    return agents_of


@without_plugin_filters()
def planned_steps(
    spec: WorkflowSpec,
    inputs: Mapping[str, Any],
    agents: Mapping[str, PlannedAgent],
    overrides: Mapping[str, tuple[PlannedTool, ...]],
    call_tools: Mapping[str, PlannedTool],
    *,
    as_written: bool = False,
) -> tuple[PlannedStep, ...]:
    """Return the steps for a reader, inputs rendered where they need nothing but the run's inputs, or `as_written`.

    What calls a template filter of a distribution is left as it is written.
    """
    templates, inputs = spec.templates(), spec.inputs.names_of(inputs)
    planned: list[PlannedStep] = []
    for placed in spec.pattern.placed:
        step = placed.step
        (kind, who), template = placed.actor, _template(placed, agents)
        text, rendered = _as_text(template), False
        if not as_written:
            text, rendered = _rendered(templates, template, inputs, getattr(step, "vars", {}))
        tools = tools_in_step(step, agents, overrides) if isinstance(step, AgentStep) else ()
        about = getattr(step, "description", None)
        decision = None
        if isinstance(step, CallStep) and step.tool in call_tools:
            known = {name: _known(templates, value, {} if as_written else inputs) for name, value in step.input.items()}
            decision = call_tools[step.tool].decision_for(known)
        names = tuple(tool.name for tool in tools)
        planned.append(PlannedStep(placed.key, kind, who, text, rendered, names, about, decision))
    return tuple(planned)


def _known(templates: Templates, value: Any, inputs: Mapping[str, Any]) -> Any:
    try:
        return templates.render_value(value, inputs)
    except TemplateError:
        return None


def _template(placed: PlacedStep, agents: Mapping[str, PlannedAgent]) -> Any:
    """Return the question, the input of the tool, or the message to the agent, as it is written."""
    step = placed.step
    if isinstance(step, GateStep):
        return step.prompt
    if isinstance(step, CallStep):
        return dict(step.input)
    if step.input is not None:
        return step.input
    return "{{ last_response }}" if placed.follows else agents[step.agent].prompt


def _rendered(
    templates: Templates, template: Any, inputs: Mapping[str, Any], extra_names: Mapping[str, Any]
) -> tuple[str, bool]:
    try:
        value = templates.render_value(template, {**inputs, **templates.render_value(extra_names, inputs)})
    except TemplateError:
        return _as_text(template), False
    return _as_text(value), True


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def bounds_of(
    spec: WorkflowSpec, steps: tuple[PlannedStep, ...], leads_on: bool = False, calls_others: bool = False
) -> Bounds:
    """Return how often things happen at most: what the pattern implies, or the budget where it is lower.

    Args:
        leads_on: Whether a tool is made of others, so that one call may be many, and hold steps.
        calls_others: Whether there are tools that only the code of another can call.
    """
    budgets = spec.runtime.budgets
    is_bounded = spec.pattern.is_bounded and not leads_on
    agents = [step for step in steps if step.kind == "agent"]
    without_tools = is_bounded and not any(step.tools for step in agents)
    calls_only = sum(step.kind == "call" for step in steps) if without_tools and not calls_others else None
    return Bounds(
        steps=_least(len(steps) if is_bounded else None, budgets.max_steps),
        model_calls=_least(len(agents) if without_tools else None, budgets.max_model_calls),
        tool_calls=_least(calls_only, budgets.max_tool_calls),
    )


def _least(*limits: int | None) -> int | None:
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else None
