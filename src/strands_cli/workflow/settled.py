"""What follows from fields that speak for others: memory of agents, inputs of a schema, kept texts, secrets' places."""

from __future__ import annotations

from strands_cli.workflow.model import WorkflowSpec


def settled(spec: WorkflowSpec) -> WorkflowSpec:
    """Return a workflow with these written out, when its files are part of it; most have none and stay as they are."""
    if spec.context_policy.memory != "step":
        spec = _remembering(spec)
    if spec.schema_of_inputs is not None:
        from strands_cli.workflow.object_of_inputs import with_declared_inputs

        spec = with_declared_inputs(spec)
    if spec.inputs.keep_texts or spec.inputs.absent == "undefined":
        from strands_cli.workflow.given_inputs import as_given

        spec = spec.model_copy(update={"inputs": as_given(spec.inputs)})
    if spec.env.secrets:
        from strands_cli.workflow.secret_places import with_secret_names

        spec = with_secret_names(spec)
    return spec


def _remembering(spec: WorkflowSpec) -> WorkflowSpec:
    """Give each agent that names no memory the workflow's."""
    memory = spec.context_policy.memory
    agents = {
        name: agent if "memory" in agent.model_fields_set else agent.model_copy(update={"memory": memory})
        for name, agent in spec.agents.items()
    }
    return spec.model_copy(update={"agents": agents})
