"""Tool inputs against their JSON Schema: defaults filled in, and the first problem in words a model can act on."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Mapping
from typing import Any

MAX_MESSAGE = 500
# Keywords that hold values and no schemas.
_VALUES = ("const", "enum", "default", "examples")


class SchemaFaultError(Exception):
    """The schema itself cannot be used; the message says why."""


def prepared(schema: Mapping[str, Any], arguments: Any) -> Any:
    """Return a copy of the arguments as the tool shall get them.

    Defaults are filled in, in nested objects and in the objects of lists too. A null for an optional property that
    knows no null counts as absent, because models write it so; a default of null is left out for the same reason.
    """
    return _prepared(schema, schema, arguments)


def _prepared(root: Mapping[str, Any], schema: Any, value: Any) -> Any:
    schema = _followed(root, schema)
    if isinstance(value, list):
        return [_prepared(root, schema.get("items"), item) for item in value]
    if not isinstance(value, Mapping):
        return value
    properties, required = schema.get("properties"), schema.get("required") or ()
    parts: Mapping[str, Any] = properties if isinstance(properties, Mapping) else {}
    filled = {}
    for name, item in value.items():
        part = _followed(root, parts.get(name))
        if item is not None or name in required or _knows_null(part):
            filled[name] = _prepared(root, part, item)
    for name, part in parts.items():
        if name not in filled and isinstance(part, Mapping) and part.get("default") is not None:
            filled[name] = copy.deepcopy(part["default"])
    return filled


def _followed(root: Mapping[str, Any], schema: Any) -> Mapping[str, Any]:
    """Return the schema behind a local `$ref`; what cannot be followed says nothing, validation reports it."""
    for _ in range(16):
        ref = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(ref, str) or not ref.startswith("#/"):
            break
        schema = root
        for token in ref[2:].split("/"):
            schema = schema.get(token.replace("~1", "/").replace("~0", "~")) if isinstance(schema, Mapping) else None
    return schema if isinstance(schema, Mapping) else {}


def _knows_null(part: Mapping[str, Any]) -> bool:
    kinds = part.get("type")
    return not isinstance(kinds, (str, list)) or "null" in ([kinds] if isinstance(kinds, str) else kinds)


def first_problem(schema: Mapping[str, Any], value: Any) -> str | None:
    """Return what is wrong with a value, with its place, or None.

    Raises:
        SchemaFaultError: The schema does not compile, or refers to a document that is not at hand.
    """
    import jsonschema

    try:
        validator = _validator(json.dumps(schema, sort_keys=True))
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
    except (jsonschema.SchemaError, RecursionError) as problem:
        raise SchemaFaultError(f"it does not compile: {getattr(problem, 'message', problem)}") from problem
    except Exception as problem:  # an unresolvable $ref raises another library's type
        raise SchemaFaultError(f"{type(problem).__name__}: {problem}") from problem
    if error is None:
        return None
    place = error.json_path.removeprefix("$").lstrip(".")
    return _shortened(f"{place}: {error.message}" if place else error.message)


def require_schema(schema: Mapping[str, Any]) -> None:
    """Check that a schema compiles and that each of its references leads somewhere inside it.

    Raises:
        SchemaFaultError: It does not.
    """
    import jsonschema
    import referencing.jsonschema

    try:
        _validator(json.dumps(schema, sort_keys=True))
        resource = referencing.Resource.from_contents(schema, referencing.jsonschema.DRAFT202012)
        resolver = referencing.Registry().resolver_with_root(resource)
        for ref in _references(schema):
            resolver.lookup(ref)
    except (jsonschema.SchemaError, RecursionError) as problem:
        raise SchemaFaultError(f"it does not compile: {getattr(problem, 'message', problem)}") from problem
    except Exception as problem:  # `referencing` and `re` raise types of their own
        raise SchemaFaultError(f"{type(problem).__name__}: {problem}") from problem


def _references(schema: Any) -> list[str]:
    """Return each `$ref`, but for those in parts with an address of their own, from which they would be read."""
    if isinstance(schema, Mapping):
        own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
        parts = [part for word, part in schema.items() if word not in _VALUES]
        return own + [ref for part in parts if not _has_address(part) for ref in _references(part)]
    return [ref for part in schema for ref in _references(part)] if isinstance(schema, list) else []


def _has_address(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("$id"), str)


@functools.lru_cache(maxsize=256)
def _validator(schema_text: str) -> Any:
    import jsonschema
    import referencing

    schema = json.loads(schema_text)
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    kind.check_schema(schema)
    # An empty registry: a `$ref` to another document is an error and never a request.
    return kind(schema, registry=referencing.Registry())


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}..."
