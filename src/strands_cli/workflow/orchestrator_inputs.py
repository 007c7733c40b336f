"""Whether an orchestrator reads any of a run's inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.placed_steps import strings_in
from strands_cli.workflow.templates.template import Templates

if TYPE_CHECKING:
    from strands_cli.workflow.patterns.orchestrator_workers import OrchestratorConfig


def unread_inputs(spec: WorkflowSpec) -> list[str]:
    """Return the inputs of a workflow whose orchestrator's message and prompt read none of them."""
    config = _config_of(spec)
    if config is None:
        return []
    names, step, templates = [*spec.inputs.values, *spec.inputs.declared()], config.orchestrator, Templates()
    agent = spec.agents.get(step.agent)
    texts = [site.text for site in strings_in(step.vars, "", {})]
    texts += [step.input or "", (agent.prompt if agent is not None else None) or ""]
    read = set[str]().union(*map(templates.names_in, texts))
    return [] if read.intersection(names) else list(dict.fromkeys(names))


def _config_of(spec: WorkflowSpec) -> OrchestratorConfig | None:
    """Return the config of a workflow with an orchestrator; no other pattern is imported to see that."""
    return cast("OrchestratorConfig", spec.pattern.config) if spec.pattern.type == "orchestrator_workers" else None
