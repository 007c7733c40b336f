"""The form of a tool's input schema for a provider; rules that it cannot express go into the description.

The permission check compares calls with the written schema; this form is only for the model.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.texts.phrases import short_json
from strands_cli.tools.property_names import modern
from strands_cli.tools.schema.flattened import (
    ANYTHING,
    References,
    Schema,
    TooManyPartsError,
    joined,
    merged,
    target_of,
)

if TYPE_CHECKING:
    from strands_cli.tools.manifest_check import LoadedTool

MAX_WORDS = 2_000
SPEC_KEYS = ("name", "description", "inputSchema", "outputSchema", "annotations")
_COMPOSITION = ("allOf", "anyOf", "oneOf")
# Rules that services refuse at the top of a function's parameters, even if they accept them further down.
_NOT_ON_TOP = frozenset(
    {
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "enum",
        "const",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "unevaluatedProperties",
    }
)
# Rules that not every service knows, at any place.
_RARE = _NOT_ON_TOP - {"anyOf", "enum"} | {
    "prefixItems",
    "additionalItems",
    "contains",
    "minContains",
    "maxContains",
    "unevaluatedItems",
    "uniqueItems",
    "multipleOf",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
}
# The meaning of a rule depends on the other one; without the first, the second would forbid too much.
_TOGETHER = (("patternProperties", "additionalProperties"), ("prefixItems", "items"))
# The words that the client of Ollama keeps of a property; it leaves everything else out without a word.
_OLLAMA = frozenset({"type", "items", "description", "enum"})
_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """The words of JSON Schema that a service takes in the parameters of a function.

    Attributes:
        is_wide: Whether everything is taken below the top, references too.
        top: The only words that it takes at the top; None: all but composition.
        keywords: The only keywords of a property that arrive; None: all.
        anchored: Whether a pattern must begin with `^` and end with `$`.
    """

    is_wide: bool = False
    top: frozenset[str] | None = None
    keywords: frozenset[str] | None = None
    anchored: bool = False


WIDE = Dialect(is_wide=True)
# For a provider outside this table: the words that every service takes.
NARROW = Dialect()
DIALECTS: Mapping[str, Dialect] = {
    "openai": WIDE,
    "openai_responses": WIDE,
    "anthropic": WIDE,
    "replay": WIDE,
    # Of the models behind it, Nova takes nothing else at the top.
    "bedrock": Dialect(top=frozenset({"type", "properties", "required"})),
    "gemini": NARROW,
    "ollama": Dialect(keywords=_OLLAMA),
    # Its grammar compiler refuses the whole request for one pattern without anchors.
    "llamacpp": Dialect(anchored=True),
    "mistral": NARROW,
    "litellm": NARROW,
    "writer": NARROW,
    "sagemaker": NARROW,
}


def offered_spec(tool: LoadedTool) -> dict[str, Any]:
    """Return a tool's spec as it is handed to the SDK, which makes text of every property that names no type."""
    spec = {key: tool.spec[key] for key in SPEC_KEYS if tool.spec.get(key) is not None}
    return {**spec, "inputSchema": {"json": _typed(tool.schema)}}


def offered_specs(specs: Iterable[Any] | None, provider: str) -> list[Any] | None:
    """Return the SDK's tool specs in the form that a provider accepts."""
    dialect = DIALECTS.get(provider, NARROW)
    return None if specs is None else [_offered(spec, dialect) for spec in specs]


def offered_schema(schema: Mapping[str, Any], provider: str) -> tuple[Schema, str]:
    """Return an input schema in the form that a provider accepts, and in words the rules that it lacks."""
    text, words = _converted(json.dumps(schema), DIALECTS.get(provider, NARROW))
    offered: Schema = json.loads(text)
    return offered, words


def _offered(spec: Any, dialect: Dialect) -> Any:
    text, words = _converted(json.dumps(spec["inputSchema"]["json"]), dialect)
    description = f"{spec['description']}\n\n{words}" if words else spec["description"]
    return {**spec, "description": description, "inputSchema": {"json": json.loads(text)}}


@functools.lru_cache(maxsize=512)
def _converted(text: str, dialect: Dialect) -> tuple[str, str]:
    schema = modern(json.loads(text))
    try:
        plain = schema if dialect.is_wide else References(schema).written_out(schema)
        dropped: Schema = {}
        top = _on_top(plain, dialect, dropped)
        top["properties"] = {
            name: _below(part, dialect) for name, part in top["properties"].items() if part is not False
        }
    except (TooManyPartsError, RecursionError):
        top, dropped = _names_only(schema), {}
    return json.dumps(top), _in_words(dropped)


def _names_only(schema: Mapping[str, Any]) -> Schema:
    """Return an object with the names of a schema's properties, for a schema too large to be written out."""
    properties = schema.get("properties")
    names = list(properties) if isinstance(properties, Mapping) else []
    return {
        "type": "object",
        "properties": {name: dict(ANYTHING) for name in names},
        "required": [name for name in schema.get("required") or () if name in names],
    }


def _on_top(schema: Mapping[str, Any], dialect: Dialect, dropped: Schema) -> Schema:
    """Return the schema as one plain object; `dropped` gets the removed rules."""
    whole = _opened(schema, schema, dropped)
    left_out = _NOT_ON_TOP | {word for rare, word in _TOGETHER if rare in whole}
    dropped |= {word: whole[word] for word in whole if word in left_out}
    keywords = {word: part for word, part in whole.items() if word not in left_out and not word.startswith("$")}
    if dialect.is_wide and "$defs" in schema:
        keywords["$defs"] = schema["$defs"]
    if dialect.is_wide and "definitions" in schema:
        keywords["definitions"] = schema["definitions"]
    if dialect.top is not None:
        keywords = {word: part for word, part in keywords.items() if word in dialect.top}
    properties = keywords.get("properties")
    named = dict(properties) if isinstance(properties, Mapping) else {}
    required = [name for name in keywords.get("required") or () if name in named]
    return {**keywords, "type": "object", "properties": named, "required": required}


def _opened(schema: Any, root: Mapping[str, Any], dropped: Schema, depth: int = 0) -> Schema:
    """Return a schema with its reference followed, its `allOf` merged and its alternatives joined, at this level."""
    if not isinstance(schema, Mapping) or depth > 16:
        return {}
    base = {word: part for word, part in schema.items() if word not in (*_COMPOSITION, "$ref")}
    parts: list[Schema] = [base]
    if isinstance(schema.get("$ref"), str):
        parts.append(_opened(target_of(root, schema["$ref"]), root, dropped, depth + 1))
    parts += [_opened(part, root, dropped, depth + 1) for part in schema.get("allOf") or ()]
    for word in ("anyOf", "oneOf"):
        if schema.get(word):
            dropped[word] = [*dropped.get(word, ()), *schema[word]] if word in dropped else schema[word]
            parts.append(joined([_opened(part, root, {}, depth + 1) for part in schema[word]]))
    # A part that closes its object knows only its own properties.
    closed = [part for part in parts if "additionalProperties" in part]
    whole = merged(parts)
    if closed and len([part for part in parts if part.get("properties")]) > 1:
        whole.pop("additionalProperties", None)
    return whole


def _below(schema: Any, dialect: Dialect) -> Any:
    """Return a property in the form that the service takes; its description has the removed rules."""
    if dialect.is_wide:
        return _with_items(schema)
    dropped: Schema = {}
    part = _narrowed(schema, dialect, dropped)
    if dialect.keywords is not None:
        other_rules = {word: rule for word, rule in part.items() if word not in (*dialect.keywords, "title")}
        dropped |= {} if other_rules == ANYTHING else other_rules
        part = {**{word: rule for word, rule in part.items() if word in dialect.keywords}, **_types(part)}
    return _described(part, dropped)


def _narrowed(schema: Any, dialect: Dialect, dropped: Schema) -> Schema:
    """Return a schema of common words; `dropped` gets the removed rules of this level."""
    if not isinstance(schema, Mapping):
        return dict(ANYTHING)
    if schema.get("allOf"):
        rest = {word: part for word, part in schema.items() if word != "allOf"}
        return _narrowed(merged([rest, *schema["allOf"]]), dialect, dropped)
    part: Schema = {}
    rare = _RARE | {word for first, word in _TOGETHER if first in schema}
    for word, rule in schema.items():
        if word in ("anyOf", "oneOf"):
            part.setdefault("anyOf", []).extend(_inner(subschema, dialect) for subschema in rule)
            dropped |= {word: rule} if word == "oneOf" and len(rule) > 1 and not _are_disjoint(rule) else {}
        elif word == "const":
            part["enum"] = [rule]
        elif word in rare or word.startswith("$") or (word == "pattern" and dialect.anchored and not _anchored(rule)):
            dropped |= {} if word.startswith("$") else {word: rule}
        elif word == "properties":
            part[word] = {
                name: _inner(subschema, dialect) for name, subschema in rule.items() if subschema is not False
            }
        elif word in ("items", "additionalProperties") and isinstance(rule, Mapping):
            part[word] = _inner(rule, dialect) if rule else {}
        else:
            part[word] = rule
    narrowed: Schema = _with_items({**part, **_type_of(part)})
    return narrowed


def _inner(schema: Any, dialect: Dialect) -> Schema:
    dropped: Schema = {}
    return _described(_narrowed(schema, dialect, dropped), dropped)


def _are_disjoint(alternatives: Iterable[Any]) -> bool:
    """Return whether no value fits two alternatives because of their types, so that `oneOf` equals `anyOf`."""
    types = [alternative.get("type") if isinstance(alternative, Mapping) else None for alternative in alternatives]
    return all(isinstance(kind, str) for kind in types) and len(set(types)) == len(types)


def _anchored(pattern: Any) -> bool:
    return isinstance(pattern, str) and pattern.startswith("^") and pattern.endswith("$")


def _types(part: Any) -> Schema:
    """Return the types of a property whose alternatives do not arrive; nothing where one of them names none."""
    named = _type_names(part)
    return {"type": named[0] if len(named) == 1 else named} if named else {}


def _type_names(part: Any) -> list[Any]:
    if not isinstance(part, Mapping) or "type" in part:
        return _listed(part["type"]) if isinstance(part, Mapping) else []
    each = [_type_names(alternative) for alternative in part.get("anyOf") or ()]
    return list(dict.fromkeys(name for names in each for name in names)) if all(each) else []


def _with_items(schema: Any) -> Any:
    """Return an array's schema with `items`, without which services refuse it."""
    if isinstance(schema, Mapping) and "array" in _listed(schema.get("type")) and "items" not in schema:
        return {**schema, "items": {}}
    return schema


def _listed(kinds: Any) -> list[Any]:
    return kinds if isinstance(kinds, list) else [kinds]


def _typed(schema: Any) -> Any:
    """Return an object's schema in which each property says its type; the SDK would say `string`."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        return schema
    return {**schema, "properties": {name: _with_type(part) for name, part in schema["properties"].items()}}


def _with_type(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return {"not": {}} if part is False else dict(ANYTHING)
    if any(word in part for word in ("$ref", "not", *_COMPOSITION)):
        return part
    whole = {**part, **_type_of(part)}
    if "type" not in whole:
        return {**whole, **ANYTHING}
    return _typed(whole) if whole["type"] == "object" else whole


def _type_of(part: Mapping[str, Any]) -> Schema:
    """Return the type that a schema without one implies, if it implies one."""
    if any(word in part for word in ("type", "$ref", *_COMPOSITION)):
        return {}
    values = [part["const"]] if "const" in part else part.get("enum") or ()
    named = list(dict.fromkeys("null" if value is None else _NAMES.get(type(value), "string") for value in values))
    if named:
        return {"type": named[0] if len(named) == 1 else named}
    for word, kind in (
        ("properties", "object"),
        ("additionalProperties", "object"),
        ("items", "array"),
        ("minimum", "number"),
        ("maximum", "number"),
        ("pattern", "string"),
        ("format", "string"),
        ("minLength", "string"),
        ("maxLength", "string"),
    ):
        if word in part:
            return {"type": kind}
    return {}


def _described(part: Schema, dropped: Mapping[str, Any]) -> Schema:
    words = _in_words(dropped)
    return {**part, "description": f"{part.get('description') or ''} {words}".strip()} if words else part


def _in_words(dropped: Mapping[str, Any]) -> str:
    if not dropped:
        return ""
    return "It must also fit this JSON Schema: " + short_json(dropped, MAX_WORDS)
