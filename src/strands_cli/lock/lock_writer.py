"""Write a lock as text: sorted, the same bytes each time, with definitions as JSON that a diff shows line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.lock.lock_reader import (
    VERSION,
    Lock,
    LockedDistribution,
    LockedModule,
    LockedServer,
    LockedTool,
)

HEAD = """\
# What the workflows of this folder may use, as it was when somebody looked at it. Made by: strands lock
# After an upgrade: read what has changed (strands lock --diff), then renew it (strands lock --update NAME).
"""
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def render_lock(lock: Lock) -> str:
    """Return the text of `strands.lock`."""
    return HEAD + "\n".join([f"version = {VERSION}\n", *_parts(lock)])


def line_of(owner: str, text: str) -> int | None:
    """Return the 1-based line that names a distribution, a server or a reference; None if no line does."""
    owner_lines = {f"{key} = {toml_string(owner)}" for key in ("name", "reference")}
    return next((number for number, line in enumerate(text.splitlines(), 1) if line in owner_lines), None)


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
    if distribution.publisher is not None:
        values["publisher"] = distribution.publisher.as_dict()
    yield toml_table("distribution", values, repeated=True)
    yield _table("distribution.files", distribution.files)
    if distribution.requires:
        yield _table("distribution.requires", distribution.requires)
    yield from _tools("distribution.tool", distribution.tools)
    for file, document in sorted(distribution.documents.items()):
        written: dict[str, Value] = {"file": file, "definition": document.definition}
        yield toml_table("distribution.document", {**written, "fields": json_block(document.fields)}, repeated=True)


def _tools(path: str, tools: Mapping[str, LockedTool]) -> Iterator[str]:
    for name in sorted(tools):
        tool = tools[name]
        flags: dict[str, Value] = {"known_after_load": True} if tool.after_load else {}
        values = {"name": name, "definition": tool.definition, **flags, "fields": json_block(tool.fields)}
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


Value = str | bool | Mapping[str, str]


def toml_string(text: str) -> str:
    """Return a basic string with invisible characters escaped, so that a person sees everything in it.

    Raises:
        ValueError: TOML cannot hold the text (half of a surrogate pair).
    """
    return f'"{"".join(map(_escaped, text))}"'


def toml_table(path: str, values: Mapping[str, Value], *, repeated: bool = False, quoted: bool = False) -> str:
    """Return a table: its header and one line for each value.

    Args:
        path: Dotted bare keys.
        values: The values in order; ASCII text that ends in a line break becomes a literal block.
        repeated: Whether the table is one of an array (`[[path]]`).
        quoted: Whether the keys are arbitrary text.
    """
    header = f"[[{path}]]" if repeated else f"[{path}]"
    lines = [f"{toml_string(key) if quoted else key} = {toml_value(value)}\n" for key, value in values.items()]
    return f"{header}\n{''.join(lines)}"


def toml_value(value: Value) -> str:
    """Return one value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {toml_string(text)}' for key, text in value.items())} }}"
    if value.endswith("\n") and _is_literal(value):
        return f"'''\n{value}'''"  # the line break after the opening quotes is not part of the text
    return toml_string(value)


def _is_literal(text: str) -> bool:
    return "'''" not in text and text.isascii() and all(char.isprintable() or char == "\n" for char in text)


def _escaped(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if char.isprintable():
        return char
    number = ord(char)
    if 0xD800 <= number <= 0xDFFF:
        raise ValueError(f"TOML cannot hold the character {number:#x}")
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
