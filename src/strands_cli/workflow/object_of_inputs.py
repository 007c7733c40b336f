"""The `input_schema` of an agent that describes the inputs of a run (`input_schema_for: run`)."""

from __future__ import annotations

from strands_cli.workflow.model import WorkflowSpec


def unchecked_schemas(spec: WorkflowSpec) -> list[str]:
    """Return the agents whose schema is about the input of an agent by itself, in a workflow of more than that."""
    about_inputs = [name for name, agent in spec.agents.items() if agent.input_schema_for == "run"]
    if not about_inputs or spec.only_agent is not None:
        return []
    return [name for name in about_inputs if spec.agents[name].takes_object]


def with_declared_inputs(spec: WorkflowSpec) -> WorkflowSpec:
    """Return a workflow that declares what its schema of inputs describes, besides what it declares itself."""
    from strands_cli.workflow.described_inputs import inputs_in  # most workflows have no such schema

    schema = spec.schema_of_inputs or {}
    known = {*spec.inputs.declared(), *spec.inputs.values}
    needed, optional = ({name: one for name, one in part.items() if name not in known} for part in inputs_in(schema))
    update = {"required": {**spec.inputs.required, **needed}, "optional": {**spec.inputs.optional, **optional}}
    return spec.model_copy(update={"inputs": spec.inputs.model_copy(update=update)})
