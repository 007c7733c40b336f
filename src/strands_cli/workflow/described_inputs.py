"""Inputs that a JSON Schema describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import PrivateAttr, ValidationError

from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.sections import InputSpec


class _OfAnyType(InputSpec):
    """An input whose schema does not name one type: its value stays as it is."""

    def coerced(self, value: Any) -> Any:
        """Return the value."""
        return value


class _Described(InputSpec):
    """An input whose schema may have defaults for parts of an object."""

    _schema: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    def coerced(self, value: Any) -> Any:
        """Return the value with the defaults of the parts that it lacks."""
        return _with_defaults(super().coerced(value), self._schema)


def _with_defaults(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, list) and (each := json_object(schema.get("items"))):
        return [_with_defaults(item, each) for item in value]
    if not isinstance(value, dict):
        return value
    parts = {name: json_object(part) for name, part in json_object(schema.get("properties")).items()}
    absent = {name: part["default"] for name, part in parts.items() if "default" in part and name not in value}
    return {name: _with_defaults(item, parts.get(name, {})) for name, item in {**value, **absent}.items()}


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
        if "type" not in part:
            return _OfAnyType(default=part.get("default"))
        found = _Described.model_validate(described)
        found._schema = part
        return found
    except ValidationError:  # several types, for example
        return _OfAnyType(default=part.get("default"))
