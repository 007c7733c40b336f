"""The inputs of a workflow as one object, against the schema that its only agent may have for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Finding
from strands_cli.planning.row_planner import BAD_INPUT

if TYPE_CHECKING:
    from strands_cli.workflow.model import LoadedWorkflow, WorkflowSpec


def faults_of_inputs(spec: WorkflowSpec, inputs: Mapping[str, Any], workflow: LoadedWorkflow) -> list[Finding]:
    """Return the faults of inputs as one object; none if the workflow has no schema of it."""
    schema = spec.schema_of_inputs
    if schema is None:
        return []
    from strands_cli.tools.schema.schemas import first_problem  # imports the validator

    if (problem := first_problem(schema, spec.object_of_inputs(inputs))) is None:
        return []
    agent = next(iter(spec.agents))
    where = workflow.where(f"/agents/{agent}/input_schema")
    return [Finding(BAD_INPUT, f"the inputs do not fit the input_schema of the agent '{agent}': {problem}", where)]
