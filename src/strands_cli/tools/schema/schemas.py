"""Values against their JSON Schema: defaults filled in, and the first problem in words a model can act on."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.texts.canonical_json import json_object
from strands_cli.texts.phrases import shortened
from strands_cli.tools.property_names import VALUES, followed
from strands_cli.tools.schema.validators import (
    MAX_BYTES,
    MAX_DEPTH,
    compiled,
    depth_of,
    errors_in,
    has_dear_names,
)

MAX_MESSAGE = 500
# The nearest of these problems is reported.
MAX_PROBLEMS = 50
# The values on which a loaded schema is tried: one that never ends does so at once.
_TRIED: tuple[Any, ...] = ({}, [], "")


class SchemaFaultError(Exception):
    """The schema itself cannot be used; the message says why."""


def prepared(schema: Mapping[str, Any], arguments: Any) -> Any:
    """Return a copy of the arguments as the tool shall get them.

    Defaults are filled in, in nested objects and in the objects of lists too. A null for an optional property that
    knows no null counts as absent, because models write it so; a default of null is left out for the same reason.
    """
    return _prepared(schema, schema, arguments)


def _prepared(root: Mapping[str, Any], schema: Any, value: Any) -> Any:
    schema = followed(root, schema)
    if isinstance(value, list):
        return [_prepared(root, schema.get("items"), item) for item in value]
    if not isinstance(value, Mapping):
        return value
    properties, required = schema.get("properties"), schema.get("required") or ()
    parts: Mapping[str, Any] = json_object(properties)
    filled = {}
    for name, item in value.items():
        part = followed(root, parts.get(name))
        if item is not None or name in required or _knows_null(part):
            filled[name] = _prepared(root, part, item)
    for name, part in parts.items():
        if name not in filled and isinstance(part, Mapping) and part.get("default") is not None:
            filled[name] = copy.deepcopy(part["default"])
    return filled


def _knows_null(part: Mapping[str, Any]) -> bool:
    kinds = part.get("type")
    return (
        part.get("nullable") is True
        or not isinstance(kinds, (str, list))
        or "null" in ([kinds] if isinstance(kinds, str) else kinds)
    )


@contextlib.contextmanager
def _schema_faults() -> Iterator[None]:
    """Raise a `SchemaFaultError` for whatever the libraries raise about a schema."""
    import jsonschema

    try:
        yield
    except SchemaFaultError:
        raise
    except RecursionError as problem:
        raise SchemaFaultError("it refers to itself without end, or is nested too deeply") from problem
    except jsonschema.SchemaError as problem:
        raise SchemaFaultError(f"it does not compile: {problem.message}") from problem
    except Exception as problem:  # `referencing` and `re` raise types of their own
        raise SchemaFaultError(f"{type(problem).__name__}: {problem}") from problem


def first_problem(schema: Mapping[str, Any], value: Any, redactor: Redactor = HIDE_NOTHING) -> str | None:
    """Return the fault of a value, with its place and without secrets, or None.

    Raises:
        SchemaFaultError: The schema does not compile, refers to another document, or never ends.
    """
    import jsonschema

    with _schema_faults():
        problems = itertools.islice(errors_in(compiled(schema), value), MAX_PROBLEMS)
        error = jsonschema.exceptions.best_match(problems)
    if error is None:
        return None
    path = error.json_path.removeprefix("$").lstrip(".")
    # Redacted before it is cut: half a secret at the edge would not be found.
    return shortened(redactor.text(f"{path}: {error.message}" if path else error.message), MAX_MESSAGE)


def problem_of_text(schema: Mapping[str, Any], text: str) -> str | None:
    """Return the fault of a text that represents a value, as `first_problem`: JSON where it is JSON, else text.

    A text of JSON by chance (`42`) fits a schema of texts too.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return first_problem(schema, text)
    problem = first_problem(schema, value)
    kinds = schema.get("type")
    takes_text = kinds == "string" or (isinstance(kinds, list) and "string" in kinds)
    return first_problem(schema, text) if problem is not None and takes_text else problem


def require_schema(schema: Mapping[str, Any]) -> None:
    """Check that a schema compiles, that each of its references leads somewhere inside it, and that it ends.

    Raises:
        SchemaFaultError: It does not, or it is larger or nested deeper than any provider takes.
    """
    import referencing.jsonschema

    with _schema_faults():
        _require_size(schema)
        validator = compiled(schema)
        # The validator's own copy: at a `$schema` the library would go on with validators that count no steps.
        root = validator.schema
        resource = referencing.Resource.from_contents(root, referencing.jsonschema.DRAFT202012)
        resolver = referencing.Registry().resolver_with_root(resource)
        targets = [resolver.lookup(ref).contents for ref in _references(root)]
        for part in (root, *targets):
            for value in _TRIED:
                all(errors_in(validator.evolve(schema=part), value))


def schema_fault(schema: Any) -> str | None:
    """Return why a value cannot be used as a schema (see `require_schema`), or None."""
    try:
        require_schema(schema)
    except (SchemaFaultError, TypeError, ValueError) as fault:
        return str(fault)
    return None


def _require_size(schema: Mapping[str, Any]) -> None:
    if depth_of(schema) > MAX_DEPTH:
        raise SchemaFaultError(f"it is nested deeper than {MAX_DEPTH} levels")
    if len(json.dumps(schema)) > MAX_BYTES:
        raise SchemaFaultError(f"it has more than {MAX_BYTES:,} bytes")
    if has_dear_names(schema):
        raise SchemaFaultError("a pattern of its patternProperties could take exponential time")


def _references(schema: Any) -> list[str]:
    """Return each `$ref`, but for those in parts with an address of their own, from which they would be read."""
    if isinstance(schema, Mapping):
        own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
        parts = [part for word, part in schema.items() if word not in VALUES]
        return own + [ref for part in parts if not _has_address(part) for ref in _references(part)]
    return [ref for part in schema for ref in _references(part)] if isinstance(schema, list) else []


def _has_address(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("$id"), str)
