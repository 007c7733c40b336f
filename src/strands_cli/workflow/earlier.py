"""The earlier meaning of a workflow, in words of the present format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands_cli.workflow.base_model import FormatModel
from strands_cli.workflow.earlier_inputs import as_given
from strands_cli.workflow.earlier_prompts import with_prompts_as_text
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.object_of_inputs import with_declared_inputs
from strands_cli.workflow.orchestrator_inputs import with_inputs
from strands_cli.workflow.patterns.orchestrator_workers import OrchestratorConfig
from strands_cli.workflow.steps.step_models import AgentStep
from strands_cli.workflow.steps.tool_entries import ToolEntry

_SKILL = ToolEntry(tool="Skill")


def as_earlier(spec: WorkflowSpec) -> WorkflowSpec:
    """Return a workflow of the earlier format with what it means written out; every other workflow as it is.

    Nothing in it moves, so that findings have their places in the file.
    """
    spec = with_declared_inputs(_without_empty_overrides(_remembering(spec)))
    spec = spec.model_copy(update={"inputs": as_given(spec.inputs)})
    return with_prompts_as_text(_with_skills_of_workers(with_inputs(spec)))


def _remembering(spec: WorkflowSpec) -> WorkflowSpec:
    """An agent keeps its conversation over its steps, unless the file names a `memory` or its provider keeps it."""
    if spec.runtime.options.get("stateful"):
        return spec
    agents = {
        name: agent if "memory" in agent.model_fields_set else agent.model_copy(update={"memory": "run"})
        for name, agent in spec.agents.items()
    }
    return spec.model_copy(update={"agents": agents})


def _without_empty_overrides(spec: WorkflowSpec) -> WorkflowSpec:
    """An empty list of tools in a step is none at all."""
    if not any(isinstance(one.step, AgentStep) and one.step.tool_overrides == () for one in spec.pattern.placed):
        return spec
    return spec.model_copy(update={"pattern": _without(spec.pattern)})


def _without(value: Any) -> Any:
    if isinstance(value, AgentStep) and value.tool_overrides == ():
        value = value.model_copy(update={"tool_overrides": None})
    if isinstance(value, FormatModel):
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        return value.model_copy(update={name: _without(one) for name, one in fields.items() if _holds(one)})
    if isinstance(value, tuple):
        return tuple(map(_without, value))
    return {name: _without(one) for name, one in value.items()} if isinstance(value, Mapping) else value


def _holds(value: Any) -> bool:
    return isinstance(value, (FormatModel, tuple, Mapping))


def _with_skills_of_workers(spec: WorkflowSpec) -> WorkflowSpec:
    """The list of tools in a worker's template takes no skills away, as that of an agent does not."""
    config = spec.pattern.config
    if not spec.skills or not isinstance(config, OrchestratorConfig) or config.worker_template.tools is None:
        return spec
    template, entries = config.worker_template, config.worker_template.tools
    agent = spec.agents.get(template.agent)
    has_it = any(entry.tool == _SKILL.tool for entry in entries)
    if has_it or agent is None or agent.skills is not None:
        return spec
    template = template.model_copy(update={"tools": (*entries, _SKILL)})
    pattern = spec.pattern.model_copy(update={"config": config.model_copy(update={"worker_template": template})})
    return spec.model_copy(update={"pattern": pattern})
