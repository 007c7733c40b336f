"""The inputs of a workflow as one object, against the schema that a workflow of the earlier format has for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strands_cli.errors import Finding, has_errors
from strands_cli.planning.run_inputs import BAD_INPUT

if TYPE_CHECKING:
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.workflow.loaded import Loaded


def faults_of_inputs(planned: Plan, loaded: Loaded) -> list[Finding]:
    """Return what is wrong with the inputs of a plan as one object; nothing if the workflow has no schema of it."""
    schema = planned.spec.schema_of_inputs
    if schema is None or has_errors(planned.findings):
        return []
    from strands_cli.tools.schema.schemas import first_problem  # imports the validator

    if (problem := first_problem(schema, planned.spec.object_of_inputs(planned.inputs))) is None:
        return []
    agent = next(iter(planned.spec.agents))
    where = loaded.where(f"/agents/{agent}/input_schema")
    return [Finding(BAD_INPUT, f"the inputs do not fit the input_schema of the agent '{agent}': {problem}", where)]
