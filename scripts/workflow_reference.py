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
counts as absent, but an empty list of tools is an error, since it could mean none or all.

Inputs are given with `--var NAME=VALUE`, or `--vars-file FILE` (YAML or JSON). `NAME=@FILE` is the text of a file,
`NAME=-` that of standard input (`cat log | strands run flow.yaml --var text=-`), exactly as it is, and `@@` an at sign
at the begin of a text. Only one argument of a command can read standard input.

Where an input declares `type: string`, its `default`, its `enum` and its value in `values`, `--vars-file` or a row of
JSON Lines are the text that is written: `1.10`, `1e3`, `010`, `True` stay so, with quotes or without (a default of
`null` or `~` is none). Where it declares a number, `010` is ten, `0x1F` is 31, `0o17` is 15, and `1_000` is not a
number. Where nothing declares a type (a fixed value, `vars` of a step) a number that is printed otherwise than it is
written is a warning, `number-respelled`.

`strands validate FILE` checks a workflow in one pass: its form, templates, names and rules, its recording, the paths
of its artifacts and its mounts. What another machine may have or a run may make (a tool, a mount, a recording) is a
warning there, and an error of `strands plan`, which also knows policy, keys and variables. `strands schema` prints the
JSON Schema of this page. Editors take it from
a first line of `# yaml-language-server: $schema=workflow.schema.json`.

This page and `workflow.schema.json` are made from the models by `python scripts/make_reference.py`.
"""

STEPS = """## Steps

A step has one of three forms, distinguished by their keys: an [agent step](#agentstep) has
`agent`, a [tool call](#callstep) has `tool`, a [human gate](#gatestep) has `type: hitl`.
"""


def workflow_page() -> str:
    """Return the reference page as Markdown."""
    schema = workflow_schema()
    definitions = schema["$defs"]
    parts = [INTRODUCTION, _section(ROOT, schema, definitions), STEPS]
    parts += [_section(name, _object_of(definitions[name]), definitions) for name in _in_order_of_use(schema)]
    return "\n".join(parts)


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
    name = str(node.get("$ref", "")).removeprefix("#/$defs/")
    return str(node.get("description") or definitions.get(name, {}).get("description", ""))


def _section(name: str, definition: dict[str, Any], definitions: dict[str, Any]) -> str:
    rows = ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
    required = definition.get("required", ())
    for key, node in definition["properties"].items():
        default = "required" if key in required else _default_of(node)
        rows.append(f"| `{key}` | {_type_of(node)} | {default} | {_cell(_meaning_of(node, definitions))} |")
    title = "Top level" if name == ROOT else name
    return "\n".join([f"## {title}", "", definition.get("description", ""), "", *rows, ""])


def _default_of(node: dict[str, Any]) -> str:
    default = node.get("default")
    return "" if default is None or default == [] else f"`{json.dumps(default)}`"


def _type_of(node: Any) -> str:
    if "$ref" in node:
        name = node["$ref"].removeprefix("#/$defs/")
        return f"[{name}](#{name.lower()})"
    if "enum" in node or "const" in node:
        return ", ".join(f"`{word}`" for word in node.get("enum", [node.get("const")]))
    forms = node.get("anyOf") or node.get("oneOf")
    if forms:
        return " or ".join(dict.fromkeys(_type_of(form) for form in forms if form.get("type") != "null"))
    if node.get("type") == "array":
        return f"list of {_type_of(node.get('items', {}))}"
    if node.get("type") == "object":
        values = node.get("additionalProperties") or next(iter(node.get("patternProperties", {}).values()), True)
        return f"mapping of {_type_of(values)}" if isinstance(values, dict) else "mapping"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    kind = node.get("type")
    return words.get(kind[0] if isinstance(kind, list) else kind, "anything") + _bounds_of(node)


def _bounds_of(node: dict[str, Any]) -> str:
    signs = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))
    bounds = [f"{sign} {node[key]:g}" for key, sign in signs if key in node]
    return f" {', '.join(bounds)}" if bounds else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
