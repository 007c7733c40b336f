"""The MCP servers in a configuration file of another client, as sections of a workflow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from strands_cli.errors import Code, Finding, InvalidInput
from strands_cli.workflow.yaml import Document

BAD_SERVERS = Code(
    "bad-servers",
    "A file of MCP servers of another client has an entry that is not a server.",
    "Each server is an object with `command` or `url`.",
)

# Where clients have them: Claude, Cursor and most others; VS Code.
SECTIONS = ("mcpServers", "servers")
_FIELDS = ("command", "args", "env", "url", "headers")
# What says nothing that a workflow needs.
_OURS = ("type", "transport", "disabled", "name", "description")
# `${NAME}`, `${env:NAME}`, and `${input:name}`, which VS Code asks a person for.
_VARIABLE = re.compile(r"\$\{(?:(?:env|input):)?([^{}:.]+)\}")


def has_client_servers(document: Document) -> bool:
    """Return whether a file is another client's list of MCP servers, and not a workflow."""
    value = document.value
    return isinstance(value, Mapping) and "pattern" not in value and _section_of(value) is not None


def sections_of_client(document: Document) -> dict[str, Any]:
    """Return the sections `tools` and `env` of a workflow with the same servers; a variable becomes a secret.

    Switched-off servers are left out. Fields that only the other client knows are dropped.

    Raises:
        InvalidInput: An entry is not a server.
    """
    section = str(_section_of(document.value))
    servers: list[dict[str, Any]] = []
    secrets: dict[str, None] = {}
    for name, entry in document.value[section].items():
        if not isinstance(entry, Mapping) or not (entry.get("command") or entry.get("url")):
            message = f"'{name}' has neither `command` nor `url`"
            finding = Finding(BAD_SERVERS, message, document.where(f"/{section}/{name}"), "remove it, or complete it")
            raise InvalidInput("the MCP servers cannot be read", findings=[finding])
        if entry.get("disabled") is not True:
            fields = {field: entry[field] for field in _FIELDS if entry.get(field)}
            servers.append({"id": re.sub(r"[^A-Za-z0-9_-]+", "-", name), **_with_secrets(fields, secrets)})
    sections: dict[str, Any] = {"tools": {"mcp": servers}}
    return {**sections, "env": {"secrets": [{"key": name} for name in secrets]}} if secrets else sections


def left_out(document: Document) -> list[str]:
    """Return what the sections of a client's file do not have of it, in words."""
    found = []
    for name, entry in document.value[str(_section_of(document.value))].items():
        if entry.get("disabled") is True:
            found.append(f"the server '{name}' is switched off")
            continue
        found += [f"'{field}' of the server '{name}'" for field in entry if field not in (*_FIELDS, *_OURS)]
    return found


def _section_of(value: Mapping[str, Any]) -> str | None:
    return next((name for name in SECTIONS if isinstance(value.get(name), Mapping)), None)


def _with_secrets(value: Any, secrets: dict[str, None]) -> Any:
    """Return a value whose variables are references to secrets, and add the names of these."""
    if isinstance(value, str):
        for found in _VARIABLE.finditer(value):
            secrets.setdefault(_name(found))
        return _VARIABLE.sub(lambda found: f"${{secrets.{_name(found)}}}", value)
    if isinstance(value, Mapping):
        return {key: _with_secrets(item, secrets) for key, item in value.items()}
    return [_with_secrets(item, secrets) for item in value] if isinstance(value, list) else value


def _name(found: re.Match[str]) -> str:
    return re.sub(r"\W+", "_", found[1])
