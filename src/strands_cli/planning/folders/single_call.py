"""One call of a tool as a workflow of one step, so that what a file declares about the tool holds for the call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.parts.client_servers import has_client_servers, sections_of_client
from strands_cli.yaml_files.document_reader import read_document


def call_workflow(tool: str, config: Mapping[str, Any] | None = None, declared_in: str | None = None) -> Loaded:
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
    """Return what one MCP server needs, so that its call does not depend on the programs and secrets of others."""
    known = dict(sections.get("tools") or {}).get("mcp") or []
    name = tool.removeprefix("mcp:").partition("/")[0]
    servers = [server for server in known if isinstance(server, Mapping) and server.get("id") == name]
    if not servers:
        return dict(sections)  # the message about an unknown server names those that there are
    taken = json.dumps(servers, ensure_ascii=False)
    env = dict(sections.get("env") or {})
    secrets = [secret for secret in env.get("secrets", ()) if _is_named(_secret_name(secret), taken)]
    return {**sections, "tools": {"mcp": servers}, "env": {**env, "secrets": secrets}}


def _is_named(name: Any, text: str) -> bool:
    return f"${{{name}}}" in text or f"${{secrets.{name}}}" in text


def _secret_name(secret: Any) -> Any:
    return (secret.get("name") or secret.get("key")) if isinstance(secret, Mapping) else secret


def _named(entry: Any) -> Any:
    return entry.get("tool") if isinstance(entry, Mapping) else entry
