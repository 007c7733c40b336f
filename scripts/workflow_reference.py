"""The reference page of the workflow format, made from the models; `make_reference.py` writes it."""

from __future__ import annotations

import json
from typing import Any

from strands_cli.workflow.format_schema import workflow_schema

ROOT = "WorkflowSpec"

INTRODUCTION = """# Workflow format

A workflow is one YAML or JSON file of at most 10 MB, with at most 2,000 agents, 10,000 steps (tasks, nodes, routes,
branches), 2,000 inputs of a kind, and 1,000 artifacts, secrets, servers and tools of each kind. Scalars mean what YAML
1.2 says: `yes`, `on` and dates are text, duplicate keys are refused, anchors and merge keys work. Keys that start with
`x-` are notes, allowed wherever the format defines keys; any other unknown key is an error. An empty key (`tags:`)
counts as absent, but an empty list of tools is an error. A scalar is a text, a boolean or a number.

Where an input declares `type: string`, its `default`, its `enum` and its value in `values`, `--vars-file` or a row of
JSON Lines are the text that is written: `1.10`, `1e3`, `010`, `True` stay so, with quotes or without (a default of
`null` or `~` is none). Where it declares a number, `010` is ten, `0x1F` is 31, `0o17` is 15, and `1_000` is not a
number. Where nothing declares a type, a number that is printed otherwise than it is written is a warning,
`number-respelled`.

`strands validate FILE` checks a workflow by itself: its form, templates, names and rules, its recording, the paths of
its artifacts and its mounts. A tool, mount or recording that is missing is a warning there, and an error of
`strands plan`, which also knows policy, keys and variables. `strands workflows schema` prints the JSON Schema of this
page; editors take it from a first line of `# yaml-language-server: $schema=workflow.schema.json`.

This page and `workflow.schema.json` are made from the models by `python scripts/make_reference.py`.
"""

STEPS = """## Steps

A step has one of three forms, distinguished by their keys: an [agent step](#agentstep) has
`agent`, a [tool call](#callstep) has `tool`, a [human gate](#gatestep) has `type: hitl`.
"""

PATTERNS = """## Patterns

A pattern has two keys, both required: its `type`, and the `config` that belongs to the type.
"""
# The keys of a pattern.
OF_PATTERNS = {"type", "config"}
# The forms of a step.
STEP = ["AgentStep", "GateStep", "CallStep"]
# The types of a text that no field restricts.
SCALARS = ["text", "boolean", "number"]
# So many keys that two mappings share are described once.
SHARED = 3


def workflow_page() -> str:
    """Return the reference page as Markdown."""
    schema = workflow_schema()
    objects = {name: _object_of(schema["$defs"][name]) for name in _in_order_of_use(schema)}
    patterns = {name: one for name, one in objects.items() if set(one["properties"]) == OF_PATTERNS}
    sections = {ROOT: schema} | {name: one for name, one in objects.items() if name not in patterns}
    items = {name: _items(one, schema["$defs"], set(patterns)) for name, one in sections.items()}
    kinds = [
        f"- `{one['properties']['type']['const']}`: {_type_of(one['properties']['config'], set())}"
        for one in patterns.values()
    ]
    parts = [INTRODUCTION, _section(ROOT, schema, items), STEPS, "\n".join([PATTERNS, *kinds, ""])]
    return "\n".join([*parts, *(_section(name, one, items) for name, one in sections.items() if name != ROOT)])


def _object_of(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the object form of a definition that may also be written as one word."""
    forms = [form for form in definition.get("anyOf", ()) if "properties" in form]
    return forms[0] if forms and "properties" not in definition else definition


def _in_order_of_use(schema: dict[str, Any]) -> list[str]:
    found: list[str] = []
    waiting: list[Any] = [schema["properties"]]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, dict):
            target = node.get("$ref")
            name = target.removeprefix("#/$defs/") if isinstance(target, str) else ""
            if name and name not in found:
                found.append(name)
                waiting.append(schema["$defs"][name])
            waiting += [item for key, item in node.items() if key != "$defs"]
        elif isinstance(node, list):
            waiting += node
    return found


def _meaning_of(node: dict[str, Any], definitions: dict[str, Any]) -> str:
    return str(node.get("description") or definitions.get(_name_in(node), {}).get("description", ""))


def _items(definition: dict[str, Any], definitions: dict[str, Any], patterns: set[str]) -> dict[str, str]:
    """Return the line of each key of a mapping."""
    required = definition.get("required", ())
    found = dict[str, str]()
    for key, node in definition["properties"].items():
        default = "; required" if key in required else _default_of(node)
        meaning = "" if _is_described_below(node, definitions) else _meaning_of(node, definitions).replace("\n", " ")
        kind = f"{_type_of(node, patterns)}{default}".removeprefix("boolean; ")
        found[key] = f"- `{key}` ({kind}): {meaning}" if meaning else f"- `{key}`: {kind}"
    return found


def _is_described_below(node: dict[str, Any], definitions: dict[str, Any]) -> bool:
    """Return whether a key has a mapping that no other key has, so that the section of the mapping describes it."""
    refs = [_name_in(form) for form in (node, *node.get("anyOf", ())) if _name_in(form)]
    in_all = json.dumps(definitions).count(f'"#/$defs/{refs[0]}"') if len(refs) == 1 else 0
    return len(refs) == 1 and in_all <= 1 and ";" not in str(node.get("description", ""))


def _section(name: str, definition: dict[str, Any], items: dict[str, dict[str, str]]) -> str:
    """Return the section of a mapping; keys that another mapping has too are described in one of the two."""
    own, others = dict(items[name]), list[str]()
    earlier = list(items)[: list(items).index(name)]
    # One that has all keys of this one names it.
    before = [other for other in earlier if not items[name].items() <= items[other].items()]
    inside = [other for other, theirs in items.items() if theirs.items() < items[name].items()]
    for other in [*inside, *before]:
        shared = [key for key in own if items[other].get(key) == own[key]]
        if len(shared) >= SHARED:
            own = {key: line for key, line in own.items() if key not in shared}
            words = "all keys" if other in inside else ", ".join(f"`{key}`" for key in shared)
            others.append(f"- {words} of [{other}](#{other.lower()})")
    title = "Top level" if name == ROOT else name
    return "\n".join([f"## {title}", "", definition.get("description", ""), "", *own.values(), *others, ""])


def _default_of(node: dict[str, Any]) -> str:
    default = node.get("default")
    return "" if default is None or default in ([], "") else f"; default `{json.dumps(default)}`"


def _type_of(node: Any, patterns: set[str]) -> str:
    if "$ref" in node:
        name = _name_in(node)
        return f"[{name}](#{name.lower()})"
    if "enum" in node or "const" in node:
        return ", ".join(f"`{word}`" for word in node.get("enum", [node.get("const")]))
    if forms := node.get("anyOf") or node.get("oneOf"):
        return _union(forms, patterns)
    if node.get("type") == "array":
        return f"list of {_type_of(node.get('items', {}), patterns)}"
    if node.get("type") == "object":
        values = node.get("additionalProperties") or next(iter(node.get("patternProperties", {}).values()), True)
        return f"mapping of {_type_of(values, patterns)}" if isinstance(values, dict) else "mapping"
    words = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
    kind = node.get("type")
    return words.get(kind[0] if isinstance(kind, list) else kind, "anything") + _bounds_of(node)


def _union(forms: list[Any], patterns: set[str]) -> str:
    names = [_name_in(form) for form in forms if form.get("type") != "null"]
    if names == STEP:
        return "[step](#steps)"
    if names and patterns.issuperset(names):
        return "[pattern](#patterns)"
    types = dict.fromkeys(_type_of(form, patterns) for form in forms if form.get("type") != "null")
    kinds = [one for one in types if one != "integer" or "number" not in types]
    return "scalar" if kinds == SCALARS else " or ".join(kinds)


def _name_in(node: Any) -> str:
    return str(node.get("$ref", "")).removeprefix("#/$defs/")


def _bounds_of(node: dict[str, Any]) -> str:
    signs = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))
    bounds = [f"{sign} {node[key]:g}" for key, sign in signs if key in node]
    return f" {', '.join(bounds)}" if bounds else ""
