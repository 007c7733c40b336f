"""Write a lock as text: sorted, the same bytes each time, with definitions as JSON that a diff shows line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.lock.format.lock_model import VERSION, Lock, LockedDistribution, LockedModule, LockedServer, LockedTool
from strands_cli.lock.format.toml import Value, toml_string, toml_table

HEAD = """\
# What the workflows of this folder may use, as it was when somebody looked at it. Made by: strands lock
# After an upgrade: read what has changed (strands lock --diff), then renew it (strands lock --update NAME).
"""


def render_lock(lock: Lock) -> str:
    """Return the text of `strands.lock`."""
    return HEAD + "\n".join([f"version = {VERSION}\n", *_parts(lock)])


def line_of(owner: str, text: str) -> int | None:
    """Return the 1-based line that names a distribution, a server or a reference; None if no line does."""
    wanted = {f"{key} = {toml_string(owner)}" for key in ("name", "reference")}
    return next((number for number, line in enumerate(text.splitlines(), 1) if line in wanted), None)


def _parts(lock: Lock) -> Iterator[str]:
    for name in sorted(lock.distributions):
        yield from _distribution(lock.distributions[name])
    for reference in sorted(lock.modules):
        yield from _module(lock.modules[reference])
    for name in sorted(lock.servers):
        yield from _server(lock.servers[name])
    for name, workflow in sorted(lock.workflows.items()):
        yield toml_table("workflow", {"name": name, "authority": workflow.authority}, repeated=True)


def _distribution(distribution: LockedDistribution) -> Iterator[str]:
    values: dict[str, Value] = {"name": distribution.name}
    if distribution.version is not None:
        values["version"] = distribution.version
    if distribution.editable:
        values["editable"] = True
    yield toml_table("distribution", values, repeated=True)
    yield _table("distribution.files", distribution.files)
    if distribution.requires:
        yield _table("distribution.requires", distribution.requires)
    yield from _tools("distribution.tool", distribution.tools)


def _tools(path: str, tools: Mapping[str, LockedTool]) -> Iterator[str]:
    for name in sorted(tools):
        tool = tools[name]
        known: dict[str, Value] = {"known_after_load": True} if tool.after_load else {}
        values = {"name": name, "definition": tool.definition, **known, "fields": json_block(tool.fields)}
        yield toml_table(path, values, repeated=True)


def _server(server: LockedServer) -> Iterator[str]:
    yield toml_table("server", {"name": server.name, "reached_by": server.reached_by}, repeated=True)
    yield from _tools("server.tool", server.tools)


def _module(module: LockedModule) -> Iterator[str]:
    yield toml_table("module", {"reference": module.reference}, repeated=True)
    yield _table("module.files", module.files)


def _table(path: str, values: Mapping[str, str]) -> str:
    return toml_table(path, dict(sorted(values.items())), quoted=True)


def json_block(fields: Mapping[str, Any]) -> str:
    """Return JSON in visible ASCII, without the quotes that end a literal block of TOML."""
    text = json.dumps(fields, indent=2, sort_keys=True, ensure_ascii=True)
    return text.replace("\x7f", "\\u007f").replace("'''", "\\u0027\\u0027\\u0027") + "\n"
