"""The JSON Schema of the workflow format, made from the models, for editors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.parts.agent_file import AgentFile
from strands_cli.workflow.sections import IDENTIFIER, FormatModel, InputSpec, Loops
from strands_cli.workflow.steps import ToolEntry

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLE = "strands-cli workflow"
AGENT_TITLE = "strands-cli agent"

# Objects with a short form, and the schema of that.
_SHORTHANDS: dict[str, dict[str, Any]] = {
    ToolEntry.__name__: {"type": "string", "pattern": ".", "description": "The tool's name."},
    InputSpec.__name__: {"enum": ["string", "number", "integer", "boolean", "array", "object", None]},
    Loops.__name__: {"const": "off"},
}


def workflow_schema() -> dict[str, Any]:
    """Return the JSON Schema (Draft 2020-12) of a workflow.

    It accepts every shape that `load_spec` accepts, shorthands included. Only `load_spec` checks references and
    templates, which depend on other parts of the file, and whether agents have a model: a person may have a default.
    """
    return _schema_of(WorkflowSpec, TITLE)


def agent_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file with one agent, as `workflow_schema` that of a workflow."""
    return _schema_of(AgentFile, AGENT_TITLE)


def _schema_of(model: type[FormatModel], title: str) -> dict[str, Any]:
    schema = model.model_json_schema(by_alias=True)
    definitions = schema.pop("$defs")
    for definition in [schema, *definitions.values()]:
        _open_to_notes(definition)
    for name, shorthand in _SHORTHANDS.items():
        if name not in definitions:
            continue
        definitions[name] = {
            "description": definitions[name].get("description", ""),
            "anyOf": [shorthand, definitions[name]],
        }
    _accept_other_spellings(definitions)
    whole = {"$schema": DIALECT, **schema, "title": title, "$defs": definitions}
    tidy: dict[str, Any] = _tidy(whole)
    return tidy


def schema_text() -> str:
    """Return the schema as the committed file and `strands workflows schema` spell it."""
    return json.dumps(workflow_schema(), ensure_ascii=False, indent=2) + "\n"


def offer_tools(schema: dict[str, Any], tools: Mapping[str, Mapping[str, Any] | None]) -> dict[str, Any]:
    """Return the schema with the installed tools filled in: names an editor can offer, and the schema of their config.

    Other names stay allowed: the schema cannot know the workflow's own tools, nor another machine's.

    Args:
        schema: The result of `workflow_schema`.
        tools: For each reference (`native:foo`) the schema of the tool's config, None where it takes none.
    """
    filled: dict[str, Any] = json.loads(json.dumps(schema))
    definitions = filled["$defs"]
    word, entry = definitions[ToolEntry.__name__]["anyOf"]
    offered = {"enum": sorted(tools)}
    definitions[ToolEntry.__name__]["anyOf"][0] = {"anyOf": [offered, word]}
    steps = [definitions[name] for name in ("CallStep", "CallTask", "CompositeStep") if name in definitions]
    for holder in (entry, *steps):
        holder["properties"]["tool"] = {"anyOf": [offered, holder["properties"]["tool"]]}
    entry["allOf"] = [
        {
            "if": {"properties": {"tool": {"const": ref}}, "required": ["tool"]},
            "then": {"properties": {"config": config if config is not None else {"maxProperties": 0}}},
        }
        for ref, config in sorted(tools.items())
    ]
    return filled


def offer_patterns(schema: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the schema with patterns of installed distributions, whose settings an editor cannot check."""
    of_type = [
        {
            "type": "object",
            "properties": {"type": {"const": name}, "config": {"type": "object"}},
            "required": ["type"],
            "description": "A pattern of an installed distribution; `strands validate` checks it.",
        }
        for name in names
    ]
    pattern = schema["properties"]["pattern"]
    changed = {**pattern, "oneOf": [*pattern["oneOf"], *of_type]}
    return {**schema, "properties": {**schema["properties"], "pattern": changed}} if of_type else schema


def _open_to_notes(definition: dict[str, Any]) -> None:
    if "properties" in definition:
        definition["patternProperties"] = {"^x-": True}


def _accept_other_spellings(definitions: dict[str, Any]) -> None:
    """Describe the other forms that the models accept: `callable` for `tool`, one node for a list of nodes."""
    entry = definitions[ToolEntry.__name__]["anyOf"][1]
    entry["properties"]["callable"] = {
        "type": "string",
        "deprecated": True,
        "description": "Another name of `tool`.",
    }
    entry["anyOf"] = [{"required": ["tool"]}, {"required": ["callable"]}]
    entry.pop("required")
    if "Edge" not in definitions:
        return
    targets = definitions["Edge"]["properties"]["to"]
    targets["anyOf"].insert(0, {"type": "string"})
    definitions["Edge"]["oneOf"] = [{"required": ["to"]}, {"required": ["choose"]}]


def _tidy(node: Any) -> Any:
    """Remove generated titles, and allow notes beside the author's names."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    tidy = {
        key: ({name: _tidy(item) for name, item in value.items()} if key in ("properties", "$defs") else _tidy(value))
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str) and value not in (TITLE, AGENT_TITLE))
    }
    if tidy.get("type") == "string" and "pattern" not in tidy and "enum" not in tidy and "const" not in tidy:
        tidy["type"] = ["string", "number"]  # the loader reads `model_id: 4` as text
    patterns = tidy.get("patternProperties")
    if patterns and IDENTIFIER in patterns:
        # A name that starts with `x-` is a note, so the pattern of names must not claim it.
        named = {"^(?!x-)" + IDENTIFIER[1:]: patterns[IDENTIFIER], "^x-": True}
        tidy["patternProperties"] = named
        tidy["additionalProperties"] = False
    return tidy
