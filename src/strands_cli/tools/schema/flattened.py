"""JSON Schemas without composition: references written out, `allOf` merged, alternatives joined into one object."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from strands_cli.texts.canonical_json import json_object
from strands_cli.tools.property_names import LISTS, MAPS, PARTS, followed

# Numbers and booleans that a model has written as strings, read where the schema leaves no other meaning.


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
    match = _NUMBER.fullmatch(stripped)
    if match is None or not kinds & {"integer", "number"}:
        return text
    digits, fraction, exponent = stripped.partition(".")[0], match[2], match[3]
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
        return frozenset(_WORDS.get(type(constant), "other") for constant in schema["enum"])
    kinds = [_kinds(root, part, levels - 1) for part in _alternatives(schema)] if levels else []
    return None if None in kinds or not kinds else frozenset().union(*filter(None, kinds))


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


Schema = dict[str, Any]

# More would be sent with every request; parts that a reference multiplies beyond it are left out.
MAX_PARTS = 2_000
ANYTHING: Schema = {
    "anyOf": [
        {"type": "string"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "object"},
        {"type": "array", "items": {}},
        {"type": "null"},
    ]
}


class TooManyPartsError(Exception):
    """A schema whose references are written out would be larger than any request."""


@dataclass(slots=True)
class References:
    """Writes the local references of one schema out; one that comes back to itself ends as its bare type."""

    root: Mapping[str, Any]
    _open: list[str] = field(default_factory=list)
    _parts: int = 0

    def written_out(self, schema: Any) -> Any:
        """Return a schema without references and definitions.

        Raises:
            TooManyPartsError: it would be too large.
        """
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise TooManyPartsError
        if not isinstance(schema, Mapping):
            return schema
        ref = schema.get("$ref")
        if isinstance(ref, str):
            return self._followed(ref, {word: part for word, part in schema.items() if word != "$ref"})
        return {word: self._part(word, part) for word, part in schema.items() if word not in ("$defs", "definitions")}

    def _part(self, word: str, part: Any) -> Any:
        if word in MAPS and isinstance(part, Mapping):
            return {name: self.written_out(subschema) for name, subschema in part.items()}
        if word in LISTS and isinstance(part, list):
            return [self.written_out(subschema) for subschema in part]
        return self.written_out(part) if word in PARTS else copy.deepcopy(part)

    def _followed(self, ref: str, beside: Mapping[str, Any]) -> Any:
        target = target_of(self.root, ref)
        if ref in self._open:
            bare = {"type": target["type"]} if "type" in target else ANYTHING
            return {**bare, "description": "The same again, as deep as needed."}
        self._open.append(ref)
        try:
            written = self.written_out(target)
            own = self.written_out(beside)
        finally:
            self._open.pop()
        return merged([written, own]) if own else written


def target_of(root: Mapping[str, Any], ref: str) -> Mapping[str, Any]:
    """Return the target of a local reference; an empty schema for one that cannot be followed here."""
    target: Any = root
    for token in ref.removeprefix("#").split("/")[1:] if ref.startswith("#") else ("",):
        target = json_object(target).get(token.replace("~1", "/").replace("~0", "~"))
    return json_object(target)


def merged(parts: Sequence[Any]) -> Schema:
    """Return one schema for several that all must hold; where two say different things the first one is kept."""
    whole: Schema = {}
    for part in parts:
        for word, rule in json_object(part).items():
            whole[word] = _both(word, whole[word], rule) if word in whole else copy.deepcopy(rule)
    return whole


def _both(word: str, left: Any, right: Any) -> Any:
    if word == "properties":
        return {
            name: _joined_property(name, left, right) for name in [*left, *(name for name in right if name not in left)]
        }
    if word == "required":
        return [*left, *(name for name in right if name not in left)]
    if word == "enum":
        return [value for value in left if value in right]
    if word in ("minimum", "minLength", "minItems"):
        return max(left, right)
    if word in ("maximum", "maxLength", "maxItems"):
        return min(left, right)
    return [*left, *right] if word == "allOf" else left


def _joined_property(name: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> Any:
    if name in left and name in right:
        return merged([left[name], right[name]])
    return copy.deepcopy(left[name] if name in left else right[name])


def joined(alternatives: Iterable[Any]) -> Schema:
    """Return the properties of all alternatives in one object; the ones that each requires are required."""
    parts = [part for part in alternatives if isinstance(part, Mapping)]
    properties: dict[str, list[Any]] = {}
    for part in parts:
        for name, schema in (part.get("properties") or {}).items():
            alternatives_of_name = properties.setdefault(name, [])
            if schema not in alternatives_of_name:
                alternatives_of_name.append(copy.deepcopy(schema))
    required = list(parts[0].get("required") or ()) if parts else []
    for part in parts[1:]:
        required = [name for name in required if name in (part.get("required") or ())]
    return {"properties": {name: _any_of(schemas) for name, schemas in properties.items()}, "required": required}


def _any_of(schemas: list[Any]) -> Any:
    """Return one schema for a property that alternatives describe differently; values that they name become a list."""
    if len(schemas) == 1:
        return schemas[0]
    values = [_values(part) for part in schemas]
    if all(value is not None for value in values):
        return {"enum": [constant for value in values for constant in value or ()]}
    return {"anyOf": schemas}


def _values(part: Any) -> list[Any] | None:
    if not isinstance(part, Mapping):
        return None
    return [part["const"]] if "const" in part else part.get("enum")
