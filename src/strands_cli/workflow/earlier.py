"""The earlier meaning of a workflow, in words of the present format."""

from __future__ import annotations

from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.object_of_inputs import with_declared_inputs
from strands_cli.workflow.orchestrator_inputs import with_inputs
from strands_cli.workflow.patterns import OrchestratorConfig
from strands_cli.workflow.steps import ToolEntry

_SKILL = ToolEntry(tool="Skill")


def as_earlier(spec: WorkflowSpec) -> WorkflowSpec:
    """Return a workflow of the earlier format with what it means written out; every other workflow as it is.

    Nothing in it moves, so that findings have their places in the file.
    """
    return _with_skills_of_workers(with_inputs(with_declared_inputs(_remembering(spec))))


def _remembering(spec: WorkflowSpec) -> WorkflowSpec:
    """An agent keeps its conversation over its steps, unless the file names a `memory` or its provider keeps it."""
    if spec.runtime.options.get("stateful"):
        return spec
    agents = {
        name: agent if "memory" in agent.model_fields_set else agent.model_copy(update={"memory": "run"})
        for name, agent in spec.agents.items()
    }
    return spec.model_copy(update={"agents": agents})


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
