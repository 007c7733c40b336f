"""One call of a tool as a workflow of one step, so that the file's declarations for the tool hold for the call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from strands_cli.catalog.manifest import renamed
from strands_cli.errors import Code, Finding, did_you_mean, suggest
from strands_cli.planning.plan_values import PlannedTool
from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.model import LoadedWorkflow
from strands_cli.workflow.parts.client_servers import has_client_servers, sections_of_client
from strands_cli.workflow.templates.template import is_template
from strands_cli.yaml_files.document import Document, escape
from strands_cli.yaml_files.document_reader import read_document

# Inputs of tool-call steps before a run: names and literal values against the tool's schema.


TOOL_INPUT = Code(
    "tool-input", "The input of a tool-call step does not fit the tool's schema.", "Correct the name or the value."
)

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": (list, tuple),
    "object": Mapping,
}


def check_call_input(
    tool: PlannedTool, arguments: Mapping[str, Any], pointer: str, document: Document
) -> Iterator[Finding]:
    """Yield the refusals of the permission check when the step runs, as far as they are known before.

    Args:
        tool: The tool the step calls; without a schema nothing is known.
        arguments: The step's `input`, templates included.
    """
    schema = tool.record.input_schema
    if schema is None:
        return
    properties = json_object(schema.get("properties"))
    takes_others = schema.get("additionalProperties") is not False
    names = renamed(tool.claims.get("earlier"), schema, arguments)
    written = {name: word for word, name in names.items()}
    arguments = {names.get(word, word): value for word, value in arguments.items() if word not in written}
    left = [name for name in properties if name not in arguments]
    guesses = {did_you_mean(name, left) for name in arguments if name not in properties and not takes_others}
    for name in schema.get("required") or ():
        if name not in arguments and name not in guesses:
            message = f"'{tool.name}' needs '{name}', and the step does not give it"
            yield Finding(TOOL_INPUT, message, document.where(pointer), f"add `{name}:` under `input`")
    for name, value in arguments.items():
        where = document.where(f"{pointer}/{escape(written.get(name, name))}")
        if name in properties:
            yield from _check_value(tool, name, value, properties[name], where)
        elif not takes_others:
            fix = suggest(name, left, f"it takes: {', '.join(properties) or 'nothing'}")
            yield Finding(TOOL_INPUT, f"'{tool.name}' takes no '{name}'", where, fix)


def _check_value(tool: PlannedTool, name: str, value: Any, schema: Any, where: Any) -> Iterator[Finding]:
    """Yield the faults in the type or choice of a value without templates; the rest is checked at the call.

    By hand: the schema library would cost every plan with a tool-call step a third of an SDK import.
    """
    if _has_template(value) or not isinstance(schema, Mapping):
        return
    kind, choices = schema.get("type"), schema.get("enum")
    expected = None
    if isinstance(kind, str) and kind in _TYPES and not _is_of(value, kind):
        expected = f"must be of type {kind}"
    elif isinstance(choices, list) and value not in choices:
        expected = f"must be one of {', '.join(map(repr, choices))}"
    if expected is not None:
        message = f"'{name}' of '{tool.name}' {expected}, not {value!r}"
        yield Finding(TOOL_INPUT, message, where, f"see `strands tools show {tool.record.ref_name}`")


def _is_of(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, float) and value.is_integer())


def _has_template(value: Any) -> bool:
    if isinstance(value, str):
        return is_template(value)
    if isinstance(value, Mapping):
        return any(_has_template(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(_has_template(item) for item in value)


def call_workflow(tool: str, config: Mapping[str, Any] | None = None, declared_in: str | None = None) -> LoadedWorkflow:
    """Return a workflow whose only step calls a tool.

    Args:
        tool: The tool's reference, also one that only `declared_in` makes: `mcp:server/tool`, an executor, an alias.
        declared_in: A workflow, or another client's file of MCP servers; its tools and its secrets are taken.

    Raises:
        StrandsCliError: The file cannot be read.
    """
    sections = _sections_of(declared_in) if declared_in is not None else {}
    if tool.startswith("mcp:"):
        sections = _of_server(sections, tool)
    tools = dict(sections.get("tools") or {})
    if config is not None:
        others = [entry for entry in tools.get("python", ()) if tool not in (entry, _named(entry))]
        tools["python"] = [*others, {"tool": tool, "config": dict(config)}]
    whole = {"version": 2, "name": "call", **sections, "tools": tools}
    # The call gets its arguments as they were typed; in a step they would be templates.
    step = {"tool": tool, "input": {}}
    text = json.dumps({**whole, "pattern": {"type": "chain", "config": {"steps": [step]}}}, indent=1)
    folder = Path(declared_in).parent if declared_in is not None else Path()
    return load_spec(read_document(folder / "tools run", text))


def _sections_of(file: str) -> dict[str, Any]:
    document = read_document(file)
    if has_client_servers(document):
        return sections_of_client(document)
    value = document.value if isinstance(document.value, Mapping) else {}
    return {name: value[name] for name in ("version", "tools", "env") if value.get(name) is not None}


def _of_server(sections: Mapping[str, Any], tool: str) -> dict[str, Any]:
    """Return the declarations for one MCP server, so that its call depends on no programs and secrets of others."""
    entries = dict(sections.get("tools") or {}).get("mcp") or []
    name = tool.removeprefix("mcp:").partition("/")[0]
    servers = [server for server in entries if isinstance(server, Mapping) and server.get("id") == name]
    if not servers:
        return dict(sections)  # the message about an unknown server names those that there are
    text = json.dumps(servers, ensure_ascii=False)
    env = dict(sections.get("env") or {})
    secrets = [secret for secret in env.get("secrets", ()) if _is_named(_secret_name(secret), text)]
    return {**sections, "tools": {"mcp": servers}, "env": {**env, "secrets": secrets}}


def _is_named(name: Any, text: str) -> bool:
    return f"${{{name}}}" in text or f"${{secrets.{name}}}" in text


def _secret_name(secret: Any) -> Any:
    return (secret.get("name") or secret.get("key")) if isinstance(secret, Mapping) else secret


def _named(entry: Any) -> Any:
    return entry.get("tool") if isinstance(entry, Mapping) else entry
