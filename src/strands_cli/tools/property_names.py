"""Names of properties that a service does not admit: other ones on the way to the model, and back in its calls.

The journal, the digest of a request, the permission check and the tool have the names that the tool has.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from strands_cli.texts.canonical_json import json_object

# Schemas of other drafts and of careless writers, in the words of draft 2020-12 wherever their meaning is sure.


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
# Other spellings by people; `any` counts as absent.
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
    """Return a schema with each object in it changed, the innermost first; values stay.

    Raises:
        RecursionError: It is nested too deeply.
    """
    if not isinstance(schema, Mapping):
        return schema
    parts: dict[str, Any] = {}
    for word, part in schema.items():
        if word in MAPS and isinstance(part, Mapping):
            parts[word] = {name: rewritten(subschema, change) for name, subschema in part.items()}
        elif (word in LISTS or word == "items") and isinstance(part, (list, tuple)):
            parts[word] = [rewritten(subschema, change) for subschema in part]
        else:
            parts[word] = rewritten(part, change) if word in PARTS else part
    return change(parts)


def named_types(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema whose types have the names of JSON, and without rules that are null."""
    typed_schema: dict[str, Any] = rewritten(schema, _with_named_types)
    return typed_schema


def modern(schema: Any) -> Any:
    """Return a schema in the words of draft 2020-12: bounds, tuples, `nullable`, and `required` beside a property."""
    return rewritten(schema, _modern)


def _with_named_types(part: dict[str, Any]) -> dict[str, Any]:
    part = {word: rule for word, rule in part.items() if rule is not None or word in VALUES}
    if not isinstance(part.get("$schema", ""), str):
        del part["$schema"]
    if isinstance(part.get("type"), str) and (type_meant := _MEANT.get(part["type"].lower())) is not None:
        part["type"] = type_meant
    elif isinstance(part.get("type"), list):
        part["type"] = [
            _MEANT.get(type_name.lower(), type_name) if isinstance(type_name, str) else type_name
            for type_name in part["type"]
        ]
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
    required_names = [
        name
        for name, property_schema in properties.items()
        if isinstance(property_schema, dict) and property_schema.get("required") is True
    ]
    plain = {
        name: {word: rule for word, rule in property_schema.items() if word != "required"}
        if _is_marked(property_schema)
        else property_schema
        for name, property_schema in properties.items()
    }
    names = [*(part.get("required") or ()), *required_names] if required_names else part.get("required")
    return {**part, "properties": plain, **({} if names is None else {"required": names})}


def _is_marked(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("required"), bool)


def name_of_step(step: str) -> str:
    """Return the name that a step of a reference has: a JSON pointer, in a URI."""
    return unquote(step).replace("~1", "/").replace("~0", "~")


def followed(root: Mapping[str, Any], schema: Any) -> Mapping[str, Any]:
    """Return the schema behind a local `$ref`; for a broken one an empty schema, validation reports it."""
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


# The rule that Anthropic states and Bedrock applies; the others admit the same names, except for the begin.
_ADMITTED = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_STRICT = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
_RULES = {"gemini": _STRICT, "replay": re.compile(r".*", re.DOTALL)}
_NOT_ADMITTED = re.compile(r"[^a-zA-Z0-9_]+")
_MOST = 64
# More than arguments can have.
_LEVELS = 80
# The schemas of the same value, of the items of a list, and of properties without a name of their own.
_OF_THE_SAME = ("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas")
_OF_ITEMS = ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains")
_OF_OTHERS = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_BY_NAMES = ("patternProperties", "dependentSchemas")
_NAMED = frozenset({"properties", "dependentSchemas"})
# Half of a surrogate pair as JSON writes it, which no service accepts again.
_ESCAPES = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


@functools.lru_cache(maxsize=512)
def _aliases(schema_text: str, provider: str) -> Mapping[str, str]:
    """Return the other name of each property of a schema that needs one, at any depth."""
    rule = _RULES.get(provider, _ADMITTED)
    names: dict[str, None] = {}

    def note(part: dict[str, Any]) -> dict[str, Any]:
        names.update(dict.fromkeys(json_object(part.get("properties"))))
        return part

    rewritten(json.loads(schema_text), note)
    used_names = {name for name in names if rule.fullmatch(name)}
    aliases: dict[str, str] = {}
    for name in sorted(names.keys() - used_names):
        aliases[name] = _other_name(name, used_names)
        used_names.add(aliases[name])
    return aliases


def _other_name(name: str, used_names: Iterable[str]) -> str:
    plain = _NOT_ADMITTED.sub("_", name).strip("_") or "field"
    plain = plain if plain[0].isalpha() else f"_{plain}"
    number, other = 1, plain[:_MOST]
    while other in used_names:
        number += 1
        other = f"{plain[: _MOST - len(str(number)) - 1]}_{number}"
    return other


@dataclass(frozen=True, slots=True)
class PropertyNames:
    """The names of one request: the tools as they are offered, and the way back.

    Attributes:
        specs: The tool specs with names that the provider admits.
    """

    specs: Sequence[Any] | None
    _tools: dict[str, tuple[Mapping[str, Any], Mapping[str, str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, specs: Sequence[Any] | None, provider: str) -> PropertyNames:
        """Return the names of a request with these tools."""
        if not specs:
            return cls(specs)
        tools: dict[str, tuple[Mapping[str, Any], Mapping[str, str]]] = {}
        offered = []
        for spec in specs:
            schema = spec["inputSchema"]["json"]
            aliases = _aliases(json.dumps(schema), provider)
            if aliases:
                tools[spec["name"]] = (schema, aliases)
                spec = {**spec, "inputSchema": {"json": _renamed_schema(schema, aliases)}}
            offered.append(spec)
        return cls(offered, tools)

    def sent(self, messages: list[Any]) -> list[Any]:
        """Return messages in which earlier calls have the names that the model knows."""
        if not self._tools:
            return messages
        return [{**message, "content": [self._sent(block) for block in message["content"]]} for message in messages]

    def _sent(self, block: Mapping[str, Any]) -> Mapping[str, Any]:
        use = block.get("toolUse")
        if not use or use["name"] not in self._tools:
            return block
        schema, aliases = self._tools[use["name"]]
        return {**block, "toolUse": {**use, "input": _renamed(schema, schema, use["input"], aliases, _LEVELS)}}

    def restored(self, events: list[Any]) -> list[Any]:
        """Return a turn's events whose calls have the names of the tools, and whole characters."""
        events = list(events)
        tool, places = "", list[int]()
        for position, event in enumerate(events):
            start = event.get("contentBlockStart", {}).get("start", {}).get("toolUse")
            if start:
                tool, places = start["name"], []
            elif "toolUse" in event.get("contentBlockDelta", {}).get("delta", {}):
                places.append(position)
            elif "contentBlockStop" in event and places:
                self._restore(events, tool, places)
                places = []
        return events

    def _restore(self, events: list[Any], tool: str, places: list[int]) -> None:
        """Put the arguments of one call, which come in pieces, into the first of them where they change."""
        written = "".join(str(_input(events[position]).get("input", "")) for position in places)
        text = _ESCAPES.sub(lambda match: "\\ufffd" if match["half"] else match[0], written)
        if tool in self._tools:
            schema, aliases = self._tools[tool]
            back = {other: name for name, other in aliases.items()}
            renamed = _renamed_schema(schema, aliases)
            try:
                value = json.loads(text)
                text = json.dumps(_renamed(renamed, renamed, value, back, _LEVELS), ensure_ascii=False)
            except (ValueError, RecursionError):
                pass  # the call fails as one whose arguments are no JSON
        if text == written:
            return
        for index, position in enumerate(places):
            delta = events[position]["contentBlockDelta"]["delta"]
            use = {**delta["toolUse"], "input": "" if index else text}
            block = {**events[position]["contentBlockDelta"], "delta": {**delta, "toolUse": use}}
            events[position] = {**events[position], "contentBlockDelta": block}


def _input(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return json_object(event["contentBlockDelta"]["delta"]["toolUse"])


def _renamed_schema(schema: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """Return a schema with other names; the description of a property says its own."""

    def change(part: dict[str, Any]) -> dict[str, Any]:
        for word in ("properties", "dependentRequired", "dependentSchemas", "dependencies"):
            if isinstance(part.get(word), Mapping):
                part[word] = {aliases.get(name, name): subschema for name, subschema in part[word].items()}
        if isinstance(part.get("properties"), Mapping):
            own = {other: name for name, other in aliases.items()}
            part["properties"] = {
                name: _explained(subschema, own.get(name)) for name, subschema in part["properties"].items()
            }
        if isinstance(part.get("required"), list):
            part["required"] = [aliases.get(name, name) for name in part["required"]]
        for word in ("dependentRequired", "dependencies"):
            lists = json_object(part.get(word))
            part |= {word: {k: _listed(subschema, aliases) for k, subschema in lists.items()}} if lists else {}
        if isinstance(part.get("$ref"), str):
            part["$ref"] = _renamed_reference(part["$ref"], aliases)
        return part

    renamed_schema: dict[str, Any] = rewritten(schema, change)
    return renamed_schema


def _renamed_reference(ref: str, aliases: Mapping[str, str]) -> str:
    """Return a reference that leads to the same part where properties on its way have other names."""
    steps = ref.split("/")
    for position in range(2, len(steps)):
        name = name_of_step(steps[position])
        if steps[position - 1] in _NAMED and name in aliases:
            steps[position] = aliases[name]
    return "/".join(steps)


def _listed(names: Any, aliases: Mapping[str, str]) -> Any:
    return [aliases.get(name, name) for name in names] if isinstance(names, list) else names


def _explained(part: Any, name: str | None) -> Any:
    if name is None or not isinstance(part, Mapping):
        return part
    return {**part, "description": f"{part.get('description') or ''} (Its own name is `{name}`.)".strip()}


def _renamed(root: Mapping[str, Any], schema: Any, value: Any, names: Mapping[str, str], levels: int) -> Any:
    """Return a value whose properties have other names wherever the schema describes them."""
    if not levels or not isinstance(value, (Mapping, list)):
        return value
    parts = _parts(root, schema, levels)
    if isinstance(value, list):
        items = {"anyOf": [subschema for part in parts for subschema in _inner(part, _OF_ITEMS)]}
        return [_renamed(root, items, item, names, levels - 1) for item in value]
    properties: dict[str, list[Any]] = {}
    for part in parts:
        for name, subschema in json_object(part.get("properties")).items():
            properties.setdefault(name, []).append(subschema)
    others = [subschema for part in parts for subschema in _inner(part, _OF_OTHERS)]
    return {
        names.get(name, name) if name in properties else name: _renamed(
            root, {"anyOf": properties.get(name, others)}, item_value, names, levels - 1
        )
        for name, item_value in value.items()
    }


def _inner(part: Mapping[str, Any], words: Iterable[str]) -> Iterator[Any]:
    """Yield the schemas that a schema has under these words: alone, in a list, or by names."""
    for word in words:
        rule = part.get(word)
        if isinstance(rule, list):
            yield from rule
        elif isinstance(rule, Mapping):
            yield from rule.values() if word in _BY_NAMES else [rule]


def _parts(root: Mapping[str, Any], schema: Any, levels: int) -> list[Mapping[str, Any]]:
    """Return each schema that describes a value, behind references and in alternatives."""
    if not levels or not isinstance(schema, Mapping):
        return []
    target = followed(root, schema)
    parts = [target] if target else []
    for part in _inner(target, _OF_THE_SAME):
        parts += _parts(root, part, levels - 1)
    return parts
