"""Schemas of other drafts and of careless writers, in the words of draft 2020-12 wherever their meaning is sure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from strands_cli.texts.canonical_json import json_object

# Keywords that hold values and no schemas.
VALUES = ("const", "enum", "default", "examples")
# Keywords that hold schemas, by name, in a list, and one; `definitions` and `additionalItems` are of older drafts.
MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
PARTS = (
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
# What people write for them; `any` says nothing.
_MEANT = {
    **{kind: kind for kind in _TYPES},
    "str": "string",
    "text": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "dict": "object",
    "map": "object",
    "list": "array",
    "none": "null",
    "any": "",
}
_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def rewritten(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a schema in which each part that is an object is changed, the innermost first; values stay.

    Raises:
        RecursionError: It is nested too deeply.
    """
    if not isinstance(schema, Mapping):
        return schema
    parts: dict[str, Any] = {}
    for word, part in schema.items():
        if word in MAPS and isinstance(part, Mapping):
            parts[word] = {name: rewritten(one, change) for name, one in part.items()}
        elif (word in LISTS or word == "items") and isinstance(part, (list, tuple)):
            parts[word] = [rewritten(one, change) for one in part]
        else:
            parts[word] = rewritten(part, change) if word in PARTS else part
    return change(parts)


def named_types(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema whose types have the names of JSON, and in which a rule that is null is absent."""
    found: dict[str, Any] = rewritten(schema, _with_named_types)
    return found


def modern(schema: Any) -> Any:
    """Return a schema in the words of draft 2020-12: bounds, tuples, `nullable`, and `required` beside a property."""
    return rewritten(schema, _modern)


def _with_named_types(part: dict[str, Any]) -> dict[str, Any]:
    part = {word: rule for word, rule in part.items() if rule is not None or word in VALUES}
    if not isinstance(part.get("$schema", ""), str):
        del part["$schema"]
    if isinstance(part.get("type"), str) and (meant := _MEANT.get(part["type"].lower())) is not None:
        part["type"] = meant
    elif isinstance(part.get("type"), list):
        part["type"] = [_MEANT.get(one.lower(), one) if isinstance(one, str) else one for one in part["type"]]
        part["type"] = "" if "" in part["type"] else part["type"]
    if part.get("type") == "":
        del part["type"]
    for word in MAPS:
        if part.get(word) == []:  # PHP writes an object without members as a list
            part[word] = {}
    if isinstance(part.get("required"), str) and part["required"] in json_object(part.get("properties")):
        part["required"] = [part["required"]]
    if isinstance(part.get("required"), list):
        part["required"] = list(dict.fromkeys(name for name in part["required"] if isinstance(name, str)))
    return part


def _modern(part: dict[str, Any]) -> dict[str, Any]:
    for exclusive, bound in _BOUNDS:
        if isinstance(part.get(exclusive), bool):
            rule = part.pop(exclusive)
            if rule and bound in part:
                part[exclusive] = part.pop(bound)
    if isinstance(part.get("items"), list):
        part["prefixItems"] = part.pop("items")
        part |= {"items": part.pop("additionalItems")} if "additionalItems" in part else {}
    if part.get("nullable") is True:
        part = _nullable(part)
    return _with_required(part)


def _nullable(part: dict[str, Any]) -> dict[str, Any]:
    kinds = part.get("type")
    named = kinds if isinstance(kinds, list) else [kinds]
    if kinds is None:
        return part
    changed = {word: rule for word, rule in part.items() if word != "nullable"}
    if "null" not in named:
        changed["type"] = [*named, "null"]
    if isinstance(part.get("enum"), list) and None not in part["enum"]:
        changed["enum"] = [*part["enum"], None]
    return changed


def _with_required(part: dict[str, Any]) -> dict[str, Any]:
    """Return an object whose `required` names those properties that say of themselves that they are."""
    if isinstance(part.get("required"), bool) and "properties" in part:
        del part["required"]
    properties = part.get("properties")
    if not isinstance(properties, dict):
        return part
    marked = [name for name, one in properties.items() if isinstance(one, dict) and one.get("required") is True]
    plain = {
        name: {word: rule for word, rule in one.items() if word != "required"} if _is_marked(one) else one
        for name, one in properties.items()
    }
    names = [*(part.get("required") or ()), *marked] if marked else part.get("required")
    return {**part, "properties": plain, **({} if names is None else {"required": names})}


def _is_marked(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("required"), bool)


def name_of_step(step: str) -> str:
    """Return the name that a step of a reference has: a JSON pointer, in a URI."""
    return unquote(step).replace("~1", "/").replace("~0", "~")


def followed(root: Mapping[str, Any], schema: Any) -> Mapping[str, Any]:
    """Return the schema behind a local `$ref`; what cannot be followed says nothing, validation reports it."""
    for _ in range(16):
        ref = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(ref, str) or not ref.startswith("#/"):
            break
        schema = root
        for token in ref[2:].split("/"):
            if isinstance(schema, list) and token.isdecimal() and int(token) < len(schema):
                schema = schema[int(token)]
            else:
                schema = schema.get(name_of_step(token)) if isinstance(schema, Mapping) else None
    return json_object(schema)
