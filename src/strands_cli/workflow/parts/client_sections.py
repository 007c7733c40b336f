"""Where the files of other clients have their MCP servers, and each entry in the form that most of them write."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strands_cli.texts.canonical_json import json_object

# Where clients have them: Claude, Cursor and most others; VS Code; Zed; Codex; settings of VS Code, and others.
SECTIONS = (
    ("mcpServers",),
    ("servers",),
    ("context_servers",),
    ("mcp_servers",),
    ("mcp", "servers"),
    ("mcp", "mcpServers"),
    ("mcp",),
    ("mcp.servers",),
    ("amp.mcpServers",),
)
ADDRESSES = ("url", "httpUrl", "serverUrl", "uri", "endpoint")
_PROJECTS = "projects"
# How far inside a file servers are looked for.
_DEEPEST = 5


@dataclass(frozen=True, slots=True)
class Entry:
    """One server of a file.

    Attributes:
        place: Where it is, from the root of the file.
        name: Its name there.
        value: What the file has of it, in the form that most clients write.
        of: The folder of the project, or the place, that it belongs to; empty for all.
    """

    place: tuple[str, ...]
    name: str
    value: Any
    of: str = ""


def has_servers(value: Any) -> bool:
    """Return whether a document is another client's list of servers, and no workflow."""
    if isinstance(value, Mapping) and "pattern" in value:
        return False
    return bool(_sections_in(value)) or any(isinstance(_part_at(value, path), Mapping) for path in SECTIONS)


def entries_in(value: Any, folder: Path) -> list[Entry]:
    """Return the servers of a document; of the projects of several folders those of this one, if they are there."""
    paths = _sections_in(value)
    projects = {path[1]: path for path in paths if path[0:1] == (_PROJECTS,) and len(path) > 2}
    here = next((projects[str(one)] for one in (folder, *folder.parents) if str(one) in projects), None)
    if here is not None:
        paths = [path for path in paths if path == here or path not in projects.values()]
    inner = [path for path in paths if path not in SECTIONS]
    found: list[Entry] = []
    for path in paths:
        of = (path[1] if path in projects.values() else "/".join(path)) if path in inner and len(paths) > 1 else ""
        for place, name, entry in _named(_part_at(value, path)):
            found.append(Entry((*path, *place), name, _usual(entry), of))
    return found


def is_server(entry: Any) -> bool:
    """Return whether an entry says how a server is started or reached."""
    return isinstance(entry, Mapping) and bool(command_of(entry) or address_of(entry))


def command_of(entry: Mapping[str, Any]) -> list[Any]:
    """Return the words of a command line: some clients have them in one list, one text or an object."""
    command: Any = entry.get("command")
    arguments: Any = entry.get("args")
    if isinstance(command, Mapping):  # Zed
        command, arguments = command.get("path") or command.get("command"), command.get("args", arguments)
    words = command if isinstance(command, list) else [command] if isinstance(command, str) and command else []
    if not isinstance(command, list) and words and not arguments and " " in words[0] and not Path(words[0]).exists():
        words = _split(words[0])
    return [*words, *(arguments if isinstance(arguments, list) else _split(arguments or ""))]


def address_of(entry: Mapping[str, Any]) -> str | None:
    """Return the address of a server, or None."""
    return next((entry[word] for word in ADDRESSES if isinstance(entry.get(word), str) and entry[word]), None)


def _usual(entry: Any) -> Any:
    """Return an entry with `env` and `headers` as objects: some write lines, or only the names of variables."""
    if isinstance(entry, str) and entry.strip():
        return {"url": entry} if "://" in entry.split()[0] else {"command": _split(entry)}
    if not isinstance(entry, Mapping):
        return entry
    found = dict(entry)
    for word, sign in (("env", "="), ("environment", "="), ("headers", ":")):
        if isinstance(entry.get(word), list):
            found[word] = dict(_pairs(entry[word], sign))
    headers = {**json_object(found.get("headers")), **json_object(found.pop("http_headers", None))}
    for name, variable in json_object(found.pop("env_http_headers", None)).items():
        headers[name] = f"${{{variable}}}"
    if isinstance(token := found.pop("bearer_token_env_var", None), str):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    return {**found, "headers": headers} if headers else found


def _pairs(lines: list[Any], sign: str) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of a list: `NAME=value`, or objects with `name` and `value`."""
    for line in lines:
        if isinstance(line, str):
            name, is_pair, text = line.partition(sign)
            yield name.strip(), text.strip() if is_pair else f"${{{name.strip()}}}"
        elif isinstance(name := json_object(line).get("name", json_object(line).get("key")), str):
            yield name, json_object(line).get("value")


def _named(entries: Any) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Yield each server with its place and its name; some clients have a list, or the file is one server."""
    if isinstance(entries, list):
        for index, entry in enumerate(entries):
            yield (str(index),), str(json_object(entry).get("name") or index), entry
    elif is_server(entries):
        yield (), str(entries.get("name") or "server"), entries
    else:
        for name, entry in entries.items():
            yield (name,), name, entry


def _sections_in(value: Any) -> list[tuple[str, ...]]:
    """Return where a document has servers: its first section of a known name, those further inside, or all of it."""
    first = next((path for path in SECTIONS if _has_entries(_part_at(value, path), path)), None)
    inner = [path for path in _inner(value) if path != first and path not in SECTIONS]
    if first is not None:
        return [first, *(path for path in inner if path[0] == _PROJECTS)]
    if inner:
        return inner
    listed = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []
    return [()] if is_server(value) or (listed and all(map(is_server, listed))) else []


def _has_entries(part: Any, path: tuple[str, ...]) -> bool:
    if isinstance(part, list):
        return bool(part) and path == ("mcpServers",)
    return isinstance(part, Mapping) and bool(part) and (path != ("mcp",) or any(map(is_server, part.values())))


def _inner(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield where servers are further inside: of a project, or of a container that an editor runs in."""
    if len(path) >= _DEEPEST or not isinstance(value, (Mapping, list)):
        return
    for name, part in value.items() if isinstance(value, Mapping) else enumerate(value):
        here = (*path, str(name))
        is_section = name in ("mcpServers", "mcp_servers") or here[-2:] == ("mcp", "servers")
        entries = part if isinstance(part, list) else list(json_object(part).values())
        if is_section and any(map(is_server, entries)):
            yield here
        else:
            yield from _inner(part, here)


def _part_at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value[int(name)] if isinstance(value, list) and name.isdecimal() else json_object(value).get(name)
    return value


def _split(text: Any) -> list[str]:
    try:
        return shlex.split(str(text))
    except ValueError:
        return [str(text)]
