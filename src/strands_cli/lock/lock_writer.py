"""A lock as text: sorted and the same bytes each time, with each definition as JSON that a diff shows line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.lock.lock_model import VERSION, Lock, LockedDistribution, LockedModule, LockedServer, LockedTool
from strands_cli.lock.toml import Value, toml_document, toml_table

HEAD = (
    "What the workflows of this folder may use, as it was when somebody looked at it. Made by: strands lock",
    "After an upgrade: read what has changed (strands lock --diff), then renew it (strands lock --update NAME).",
)


def render_lock(lock: Lock) -> str:
    """Return the text of `strands.lock`."""
    return toml_document(HEAD, [f"version = {VERSION}\n", *_parts(lock)])


def _parts(lock: Lock) -> Iterator[str]:
    for name in sorted(lock.distributions):
        yield from _distribution(lock.distributions[name])
    for reference in sorted(lock.modules):
        yield from _module(lock.modules[reference])
    for name in sorted(lock.servers):
        yield from _server(lock.servers[name])


def _distribution(distribution: LockedDistribution) -> Iterator[str]:
    values: dict[str, Value] = {"name": distribution.name}
    if distribution.version is not None:
        values["version"] = distribution.version
    if distribution.editable:
        values["editable"] = True
    yield toml_table("distribution", values, repeated=True)
    yield _files("distribution.files", distribution.files)
    yield from _tools("distribution.tool", distribution.tools)


def _tools(path: str, tools: Mapping[str, LockedTool]) -> Iterator[str]:
    for name in sorted(tools):
        tool = tools[name]
        known: dict[str, Value] = {"known_after_load": True} if tool.after_load else {}
        said = {"name": name, "definition": tool.definition, **known, "fields": json_block(tool.fields)}
        yield toml_table(path, said, repeated=True)


def _server(server: LockedServer) -> Iterator[str]:
    yield toml_table("server", {"name": server.name, "reached_by": server.reached_by}, repeated=True)
    yield from _tools("server.tool", server.tools)


def _module(module: LockedModule) -> Iterator[str]:
    yield toml_table("module", {"reference": module.reference}, repeated=True)
    yield _files("module.files", module.files)


def _files(path: str, files: Mapping[str, str]) -> str:
    return toml_table(path, dict(sorted(files.items())), quoted=True)


def json_block(fields: Mapping[str, Any]) -> str:
    """Return JSON in plain visible ASCII, without what ends a literal block of TOML; it reads back as it was."""
    text = json.dumps(fields, indent=2, sort_keys=True, ensure_ascii=True)
    return text.replace("\x7f", "\\u007f").replace("'''", "\\u0027\\u0027\\u0027") + "\n"
