"""Tool inputs against their JSON Schema: defaults filled in, and the first problem in words a model can act on."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Mapping
from typing import Any


def fill_defaults(schema: Mapping[str, Any], arguments: Any) -> Any:
    """Return a copy of the arguments with the top-level and nested object defaults of the schema filled in."""
    if not isinstance(arguments, Mapping):
        return arguments
    filled = {name: copy.deepcopy(value) for name, value in arguments.items()}
    properties = schema.get("properties")
    for name, part in (properties if isinstance(properties, Mapping) else {}).items():
        if not isinstance(part, Mapping):
            continue
        if name not in filled and "default" in part:
            filled[name] = copy.deepcopy(part["default"])
        elif name in filled and "properties" in part:
            filled[name] = fill_defaults(part, filled[name])
    return filled


def first_problem(schema: Mapping[str, Any], arguments: Any) -> str | None:
    """Return what is wrong with the arguments, with the place, or None; a schema that is none is a problem too."""
    import jsonschema

    try:
        validator = _validator(json.dumps(schema, sort_keys=True))
        error = next(iter(sorted(validator.iter_errors(arguments), key=lambda error: list(map(str, error.path)))), None)
    except (jsonschema.SchemaError, RecursionError) as problem:
        return f"the tool's schema does not compile: {getattr(problem, 'message', problem)}"
    except Exception as problem:  # noqa: BLE001 - an unresolvable $ref raises a type of another library
        return f"the tool's schema cannot be used: {problem}"
    if error is None:
        return None
    place = error.json_path.removeprefix("$").lstrip(".")
    return f"{place}: {error.message}" if place else str(error.message)


@functools.lru_cache(maxsize=256)
def _validator(schema_text: str) -> Any:
    import jsonschema
    import referencing

    schema = json.loads(schema_text)
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    kind.check_schema(schema)
    # An empty registry: a `$ref` to another document is an error and never a request.
    return kind(schema, registry=referencing.Registry())
