"""The parts of a JSON Schema that describe a place of a document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from strands_cli_lsp.cursor import MARK

Schema = Mapping[str, Any]


def schemas_at(schema: Schema, path: Sequence[str | int], data: Any) -> list[Schema]:
    """Return the schemas of a place; of alternatives those that have most of the keys that are written."""
    schemas, value = _fitting(schema, [schema], data), data
    for token in path:
        children = [child for each in schemas for child in _children(each, token)]
        try:
            value = value[token]
        except (KeyError, IndexError, TypeError):
            value = None
        schemas = _fitting(schema, children, value)
    return schemas


def values_of(schemas: Sequence[Schema]) -> list[str]:
    """Return the values that schemas name."""
    values = [
        value for each in schemas for value in [*each.get("enum", ()), *([each["const"]] if "const" in each else ())]
    ]
    if any(each.get("type") == "boolean" for each in schemas):
        values += ["true", "false"]
    return list(dict.fromkeys(str(value) for value in values if value is not None))


def _fitting(root: Schema, schemas: Sequence[Schema], value: Any) -> list[Schema]:
    flat = [each for schema in schemas for each in _flat(root, schema)]
    if not isinstance(value, Mapping):
        return flat
    of_type = [each for each in flat if _has_type(root, each, value.get("type"))]
    counts = [sum(key in each.get("properties", ()) for key in value) for each in of_type]
    return [each for each, count in zip(of_type, counts, strict=True) if count == max(counts)]


def _has_type(root: Schema, schema: Schema, word: Any) -> bool:
    constant = schema.get("properties", {}).get("type", {}).get("const")
    return constant is None or word is None or MARK in str(word) or constant == word


def _flat(root: Schema, schema: Any) -> Iterator[Schema]:
    if not isinstance(schema, Mapping):
        return
    if (ref := schema.get("$ref")) is not None:
        described = {"description": schema["description"]} if "description" in schema else {}
        for each in _flat(root, root["$defs"][ref.rpartition("/")[2]]):
            yield {**each, **described}
        return
    alternatives = [
        each for word in ("anyOf", "oneOf") for each in schema.get(word, ()) if "required" not in each or len(each) > 1
    ]
    if "properties" in schema or not alternatives:
        yield schema
    for each in alternatives:
        for inner in _flat(root, each):
            yield {**({"description": schema["description"]} if "description" in schema else {}), **inner}


def _children(schema: Schema, token: str | int) -> Iterator[Any]:
    if isinstance(token, int):
        yield schema.get("items")
        return
    if token in schema.get("properties", {}):
        yield schema["properties"][token]
        return
    yield from (child for pattern, child in schema.get("patternProperties", {}).items() if re.search(pattern, token))
    yield schema.get("additionalProperties")
