"""The inputs of a run in the message to an orchestrator: whether it reads any, and a message that lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.placed_steps import strings_in
from strands_cli.workflow.steps.step_models import question_to
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


def with_inputs(spec: WorkflowSpec) -> WorkflowSpec:
    """Return a workflow whose orchestrator gets the inputs after its message, where it reads none of them."""
    names, config = unread_inputs(spec), _config_of(spec)
    if not names or config is None:
        return spec
    step, agent = config.orchestrator, spec.agents.get(config.orchestrator.agent)
    message = question_to(step, (agent.prompt if agent is not None else None) or "")
    step = step.model_copy(update={"input": message + _listed(spec, names)})
    pattern = spec.pattern.model_copy(update={"config": config.model_copy(update={"orchestrator": step})})
    return spec.model_copy(update={"pattern": pattern})


def _config_of(spec: WorkflowSpec) -> OrchestratorConfig | None:
    """Return the config of a workflow with an orchestrator; no other pattern is imported to see that."""
    return cast("OrchestratorConfig", spec.pattern.config) if spec.pattern.type == "orchestrator_workers" else None


def _listed(spec: WorkflowSpec, names: list[str]) -> str:
    """Return the template of a list of inputs; one that need not be given is in it if it has a value."""
    optional = {name for name, one in spec.inputs.optional.items() if one.default is None} - {*spec.inputs.values}
    lines = []
    for name in names:
        line = f"\n- {name}: {{{{ {name} if {name} is string else {name} | tojson }}}}"
        lines.append(f"{{% if {name} is defined %}}{line}{{% endif %}}" if name in optional else line)
    has_any = " or ".join(f"{name} is defined" for name in names)
    listed = "\n\nInputs:" + "".join(lines)
    return listed if optional != {*names} else f"{{% if {has_any} %}}{listed}{{% endif %}}"
