"""The earlier meaning of a workflow, in words of the present format."""

from __future__ import annotations

from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.object_of_inputs import with_declared_inputs
from strands_cli.workflow.orchestrator_inputs import with_inputs


def as_earlier(spec: WorkflowSpec) -> WorkflowSpec:
    """Return a workflow of the earlier format with what it means written out; every other workflow as it is.

    Nothing in it moves, so that findings have their places in the file.
    """
    return with_inputs(with_declared_inputs(_remembering(spec)))


def _remembering(spec: WorkflowSpec) -> WorkflowSpec:
    """An agent keeps its conversation over its steps, unless the file names a `memory` or its provider keeps it."""
    if spec.runtime.options.get("stateful"):
        return spec
    agents = {
        name: agent if "memory" in agent.model_fields_set else agent.model_copy(update={"memory": "run"})
        for name, agent in spec.agents.items()
    }
    return spec.model_copy(update={"agents": agents})
