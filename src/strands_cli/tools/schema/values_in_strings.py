"""Numbers and booleans that a model has written as strings, read where the schema leaves no other meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from strands_cli.texts.canonical_json import json_object
from strands_cli.tools.drafts import followed

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?")
_BOOLEANS = {"true": True, "false": False}
_WORDS: Mapping[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
MAX_LEVELS = 64


def coerced(schema: Mapping[str, Any], value: Any) -> Any:
    """Return a value in which `"5"` is 5 wherever the schema takes an integer and no string: as in the SDK.

    A string with two meanings, or one that the schema takes as it is, stays.
    """
    return _coerced(schema, schema, value, MAX_LEVELS)


def _coerced(root: Mapping[str, Any], schema: Any, value: Any, levels: int) -> Any:
    if not levels:
        return value
    if isinstance(value, str):
        return _from_string(value, _kinds(root, schema, levels))
    if isinstance(value, list):
        items = _part_for(root, schema, "array", levels).get("items")
        return [_coerced(root, items, item, levels - 1) for item in value]
    if not isinstance(value, Mapping):
        return value
    part = _part_for(root, schema, "object", levels)
    properties, others = json_object(part.get("properties")), part.get("additionalProperties")
    return {name: _coerced(root, properties.get(name, others), item, levels - 1) for name, item in value.items()}


def _from_string(text: str, kinds: frozenset[str] | None) -> Any:
    if not kinds or "string" in kinds:
        return text
    stripped = text.strip()
    if "boolean" in kinds and stripped.lower() in _BOOLEANS:
        return _BOOLEANS[stripped.lower()]
    found = _NUMBER.fullmatch(stripped)
    if found is None or not kinds & {"integer", "number"}:
        return text
    digits, fraction, exponent = stripped.partition(".")[0], found[2], found[3]
    if exponent is None and (fraction is None or ("number" not in kinds and not fraction.strip(".0"))):
        return int(digits)
    return float(stripped) if "number" in kinds else text


def _kinds(root: Mapping[str, Any], schema: Any, levels: int) -> frozenset[str] | None:
    """Return the types that a schema takes; None: not known."""
    schema = followed(root, schema)
    stated = schema.get("type")
    if isinstance(stated, (str, list)):
        return frozenset([stated] if isinstance(stated, str) else map(str, stated))
    if isinstance(schema.get("enum"), list):
        return frozenset(_WORDS.get(type(one), "other") for one in schema["enum"])
    found = [_kinds(root, part, levels - 1) for part in _alternatives(schema)] if levels else []
    return None if None in found or not found else frozenset().union(*filter(None, found))


def _part_for(root: Mapping[str, Any], schema: Any, kind: str, levels: int) -> Mapping[str, Any]:
    """Return the part of a schema that describes a value of this kind, if only one does."""
    target = followed(root, schema)
    parts = [] if "properties" in target or "items" in target else _alternatives(target)
    if not parts or not levels:
        return target
    fitting = [part for part in parts if kind in (_kinds(root, part, levels - 1) or {kind})]
    return _part_for(root, fitting[0], kind, levels - 1) if len(fitting) == 1 else {}


def _alternatives(schema: Mapping[str, Any]) -> list[Any]:
    return next((schema[word] for word in ("anyOf", "oneOf") if isinstance(schema.get(word), list)), [])
