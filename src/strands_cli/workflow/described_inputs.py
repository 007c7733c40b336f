"""Inputs that a JSON Schema describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from strands_cli.canonical_json import json_object
from strands_cli.workflow.sections import InputSpec


class _OfAnyType(InputSpec):
    """An input whose schema does not name one type: its value stays as it is."""

    def coerced(self, value: Any) -> Any:
        """Return the value."""
        return value


def inputs_in(schema: Mapping[str, Any]) -> tuple[dict[str, InputSpec], dict[str, InputSpec]]:
    """Return what an object of this schema must have and what it may have, as inputs."""
    required = schema.get("required")
    needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    properties = json_object(schema.get("properties"))
    found = {name: _input_of(json_object(properties.get(name))) for name in (*properties, *needed)}
    return (
        {name: one for name, one in found.items() if name in needed},
        {name: one for name, one in found.items() if name not in needed},
    )


def _input_of(part: Mapping[str, Any]) -> InputSpec:
    """Return an input as its own schema describes it."""
    described = {name: part[name] for name in ("type", "default", "enum") if name in part}
    try:
        return InputSpec.model_validate(described) if "type" in part else _OfAnyType(default=part.get("default"))
    except ValidationError:  # several types, for example
        return _OfAnyType(default=part.get("default"))
