"""Checks of the JSON Schemas and regular expressions of a workflow."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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
    if _is_plain(schema):
        return None
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


def _is_plain(schema: Any) -> bool:
    """Return whether a schema is valid at first sight: it has only common keywords, with values as they must be."""
    if not isinstance(schema, Mapping):
        return isinstance(schema, bool)
    return all(keyword in _PLAIN and _PLAIN[keyword](value) for keyword, value in schema.items())


def _are_plain(schemas: Any) -> bool:
    return isinstance(schemas, Mapping) and all(map(_is_plain, schemas.values()))


def _are_names(value: Any) -> bool:
    """Return whether a value is a list of texts, each once."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value) and len(value) == len(set(value))


def _is_type(value: Any) -> bool:
    return value in _TYPES if isinstance(value, str) else bool(value) and _are_names(value) and {*value} <= {*_TYPES}


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_PLAIN: dict[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "required": _are_names,
    "enum": lambda value: isinstance(value, list),
    **dict.fromkeys(("properties", "$defs"), _are_plain),
    **dict.fromkeys(("items", "additionalProperties"), _is_plain),
    **dict.fromkeys(("title", "description"), _is_text),
    **dict.fromkeys(("const", "default"), lambda _value: True),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minimum", "maximum"), _is_number),
}


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
