"""Checks of the JSON Schemas and regular expressions of a workflow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from strands_cli.errors import Code, Finding, Where, suggest
from strands_cli.workflow.findings import BAD_SCHEMA

BAD_REGEX = Code(
    "bad-regex", "A regular expression that does not compile or can take too long.", "Correct the expression."
)

# A schema is compared with that of schemas, object by object.
MOST_OBJECTS = 5000
_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")


def check_schema(schema: Mapping[str, Any], where: Where) -> Finding | None:
    """Report a schema that is not valid (by Draft 2020-12, or by its `$schema`) or has references to other files."""
    if _objects(schema) > MOST_OBJECTS:
        message = f"the schema has more than {MOST_OBJECTS:,} objects"
        return Finding(BAD_SCHEMA, message, where, "check the parts that matter")
    from jsonschema.validators import Draft202012Validator, validator_for  # 140 ms; most workflows have no schema

    validator: Any = validator_for(schema, default=Draft202012Validator)
    error = next(
        iter(sorted(validator(validator.META_SCHEMA).iter_errors(schema), key=lambda item: list(map(str, item.path)))),
        None,
    )
    if error is not None:
        place = "".join(f"/{token}" for token in error.path)
        message = f"this is not a JSON Schema: {error.message}" + (f" (at {place})" if place else "")
        is_type = list(error.path)[-1:] == ["type"] and isinstance(error.instance, str)
        fix = suggest(error.instance, _TYPES) if is_type else None
        return Finding(BAD_SCHEMA, message, where, fix or "see json-schema.org for the keywords")
    outside = next((ref for ref in _refs(schema) if not ref.startswith("#")), None)
    if outside is not None:
        message = f"the schema points to {outside!r}; only references inside it (`#/...`) are followed"
        return Finding(BAD_SCHEMA, message, where, "copy what it points to into `$defs`")
    return None


def _objects(value: Any) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(map(_objects, value.values()))
    return sum(map(_objects, value)) if isinstance(value, (list, tuple)) else 0


def _refs(schema: Any) -> list[str]:
    if isinstance(schema, Mapping):
        own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
        return own + [ref for key, item in schema.items() if key not in ("const", "enum") for ref in _refs(item)]
    if isinstance(schema, (list, tuple)):
        return [ref for item in schema for ref in _refs(item)]
    return []


def check_regex(pattern: str, where: Where) -> Finding | None:
    """Report a regular expression that does not compile."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return Finding(BAD_REGEX, f"{pattern!r} is not a regular expression: {error}", where)
    return None
