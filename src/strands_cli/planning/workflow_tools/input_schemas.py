"""The JSON Schema of what a workflow takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.workflow.model import WorkflowSpec
    from strands_cli.workflow.sections import InputSpec


def workflow_input_schema(spec: WorkflowSpec) -> Mapping[str, Any]:
    """Return what a workflow takes as a tool: the inputs that it declares."""
    declared = spec.inputs.declared()
    properties = {name: _property(one) for name, one in declared.items()}
    required = [name for name in spec.inputs.required if spec.inputs.required[name].default is None]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _property(declared: InputSpec) -> dict[str, Any]:
    known = {
        "type": declared.type,
        "description": declared.description,
        "default": declared.default,
        "enum": list(declared.enum) if declared.enum is not None else None,
    }
    return {word: value for word, value in known.items() if value is not None}
