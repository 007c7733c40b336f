"""The MCP servers in a configuration file of another client, as sections of a workflow."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from strands_cli.errors import Code, Finding, InvalidInput
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.parts.client_variables import (
    Variables,
    asked_in,
    is_script,
    mapped_texts,
    without_literal_secrets,
)
from strands_cli.yaml_files.document import Document

# Where the files of other clients have their MCP servers, and each entry in the form that most of them write.


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
        value: Its value in the file, in the form that most clients write.
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
    here = next((projects[str(path)] for path in (folder, *folder.parents) if str(path) in projects), None)
    if here is not None:
        paths = [path for path in paths if path == here or path not in projects.values()]
    inner = [path for path in paths if path not in SECTIONS]
    entries: list[Entry] = []
    for path in paths:
        of = (path[1] if path in projects.values() else "/".join(path)) if path in inner and len(paths) > 1 else ""
        for subpath, name, entry in _named(_part_at(value, path)):
            entries.append(Entry((*path, *subpath), name, _usual(entry), of))
    return entries


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
    fields = dict(entry)
    for word, sign in (("env", "="), ("environment", "="), ("headers", ":")):
        if isinstance(entry.get(word), list):
            fields[word] = dict(_pairs(entry[word], sign))
    headers = {**json_object(fields.get("headers")), **json_object(fields.pop("http_headers", None))}
    for name, variable in json_object(fields.pop("env_http_headers", None)).items():
        headers[name] = f"${{{variable}}}"
    if isinstance(token := fields.pop("bearer_token_env_var", None), str):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    return {**fields, "headers": headers} if headers else fields


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


BAD_SERVERS = Code(
    "bad-servers",
    "A file of MCP servers of another client has an entry that is not a server.",
    "Write `command` or `url`.",
)

# Keys without a meaning for a workflow.
_SILENT = frozenset(
    {"type", "transport", "transportType", "disabled", "enabled", "name", "description", "displayName", "source"}
    | {"icon", "gallery", "version", "$schema", "note", "comment", "_comment", "id", "iconUrl", "homepage"}
)
_KNOWN = frozenset({"command", "args", "env", "environment", "headers", "requestInit", "cwd", *ADDRESSES})
_FILTERS = {"includeTools": "allow", "allowedTools": "allow", "excludeTools": "deny", "disabledTools": "deny"}
# Without these a server may not work; of the others it works as before.
_NEEDED = frozenset({"envFile", "auth", "oauth", "authentication", "authProviderType"})
_OWN = re.compile(r"\$\{(\w+)\}")
# The variables that every server gets from the environment, as far as files name them.
_INHERITED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "LANG", "SHELL", "TERM", "TMPDIR", "TZ", "APPDATA", "TEMP"})
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class ImportedServers:
    """The result of importing a file of another client.

    Attributes:
        sections: The sections `tools` and `env` of a workflow.
        hidden: The places of uncopied values that look like secrets, by the names of their secrets.
        notes: Decisions: kept defaults, folders, omitted keys.
        to_do: Steps for a person before the sections work as in the other client.
    """

    sections: Mapping[str, Any]
    hidden: Mapping[str, str]
    notes: tuple[str, ...]
    to_do: tuple[str, ...]


def has_client_servers(document: Document) -> bool:
    """Return whether a file is another client's list of MCP servers, and not a workflow."""
    return has_servers(document.value)


def sections_of_client(document: Document) -> dict[str, Any]:
    """Return the sections `tools` and `env` of a workflow with the same servers; a variable becomes a secret.

    Raises:
        InvalidInput: An entry is not a server.
    """
    return _converted(document)[0]


def imported_servers(document: Document) -> ImportedServers:
    """Return the sections, without values that look like secrets, and notes and steps for a person.

    Raises:
        InvalidInput: An entry is not a server.
    """
    sections, variables = _converted(document)
    sections, hidden = without_literal_secrets(sections)
    return ImportedServers(
        sections, hidden, tuple(dict.fromkeys(variables.notes)), (*variables.to_do, *_secrets_in_the_open(sections))
    )


def _converted(document: Document) -> tuple[dict[str, Any], Variables]:
    """Return the sections of a file, and its variables."""
    settings = json_object(document.value)
    questions = asked_in(settings.get("inputs") or json_object(settings.get("mcp")).get("inputs"))
    variables = Variables(Path(document.file).parent, os.environ, questions)
    entries = entries_in(document.value, Path.cwd())
    has_any = any(is_server(entry.value) for entry in entries)
    servers: list[dict[str, Any]] = []
    names = _Names()
    for server in entries:
        entry = json_object(server.value)
        if entry.get("disabled") is True or entry.get("enabled") is False:
            variables.notes.append(f"left out: the server '{server.name}' is switched off")
        elif is_server(entry):
            identity = names.unused(_NOT_IN_IDS.sub("-", server.name).strip("-") or "server")
            servers.append({"id": identity, **_Server(server.name, entry, variables).fields()})
            if server.of:
                variables.notes.append(f"the server '{identity}' is one of {server.of}")
        elif has_any:
            variables.to_do.append(
                f"the server '{server.name}' is left out: it has neither `command` nor `url`; write one"
            )
        else:
            where = document.where("/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in server.place))
            finding = Finding(
                BAD_SERVERS, f"'{server.name}' has neither `command` nor `url`", where, "remove it, or complete it"
            )
            raise InvalidInput("the MCP servers cannot be read", findings=[finding])
    if not entries:
        variables.notes.append("the file has no server in its list")
    sections: dict[str, Any] = {"tools": {"mcp": servers}}
    if variables.secrets:
        sections["env"] = {"secrets": [{"key": name} for name in variables.secrets]}
    return sections, variables


class _Names:
    """The ids of servers, each once."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def unused(self, name: str) -> str:
        """Return the name, or one like it where it is taken."""
        candidate = name
        while candidate in self._next:
            self._next[name] += 1
            candidate = f"{name}-{self._next[name]}"
        self._next[candidate] = 1
        return candidate


class _Server:
    """One entry of a file."""

    def __init__(self, name: str, entry: Mapping[str, Any], variables: Variables) -> None:
        self._name, self._entry, self._variables = name, entry, variables

    def fields(self) -> dict[str, Any]:
        """Return the server as a workflow has it."""
        self._note_others()
        command, address = command_of(self._entry), address_of(self._entry)
        kind = str(self._entry.get("type") or self._entry.get("transport") or "").lower()
        if command and not (address and kind not in ("", "stdio")):
            fields = self._program(command)
        else:
            fields = self._address(str(address), kind)
        tools = {word: list(names) for key, word in _FILTERS.items() if isinstance(names := self._entry.get(key), list)}
        if self._listed and "*" not in self._listed:
            tools = {"allow": self._listed, **tools}
        return {**fields, **({"tools": tools} if tools else {})}

    @property
    def _listed(self) -> list[str]:
        """The only tools that a client of GitHub's kind offers."""
        names = self._entry.get("tools")
        return [str(name) for name in names] if isinstance(names, list) else []

    def _program(self, words: list[Any]) -> dict[str, Any]:
        of_command = json_object(self._entry.get("command")).get("env")  # Zed
        env = self._texts(self._entry.get("env") or self._entry.get("environment") or of_command, "env")
        command, *arguments = mapped_texts(words, str)
        self._check_folder()
        if is_script(command, arguments):
            at = arguments.index("-c") + 1
            script = [self._variables.for_shell(argument, env) for argument in arguments[at : at + 1]]
            arguments = [*arguments[:at], *script, *map(self._open("args"), arguments[at + 1 :])]
        else:
            arguments = list(map(self._open("args"), arguments))
        parts: dict[str, Any] = {"command": self._open("command")(command), "args": arguments, "env": env}
        return {word: part for word, part in parts.items() if part}

    def _address(self, address: str, kind: str) -> dict[str, Any]:
        if kind == "sse" or ("httpUrl" not in self._entry and address.rstrip("/").endswith("/sse")):
            self._variables.to_do.append(
                f"the server '{self._name}' speaks the older SSE transport, which is not spoken here: write its address"
                " of streamable HTTP, often the same with /mcp at its end, as `url`"
            )
        if address.partition("://")[0].lower() not in ("http", "https") and not address.startswith("${"):
            self._variables.to_do.append(
                f"`url` of the server '{self._name}' is {address}: write an address that begins with https:// or http://"
            )
        headers = self._entry.get("headers") or json_object(self._entry.get("requestInit")).get("headers")
        parts = {"url": self._open("url")(address), "headers": self._texts(headers, "headers")}
        return {word: part for word, part in parts.items() if part}

    def _open(self, part: str) -> Any:
        where = f"`{part}` of the server '{self._name}'"
        return lambda text: self._variables.in_open_place(_with_home(text), where)

    def _texts(self, texts: Any, part: str) -> dict[str, str]:
        """Return `env` or `headers` as texts; without null and optional values."""
        filled_texts: dict[str, str] = {}
        values = json_object(texts)
        for name, text in values.items():
            if (
                part == "env"
                and name in _INHERITED
                and text in (f"${{{name}}}", f"${name}", f"${{env:{name}}}", f"%{name}%")
            ):
                self._variables.notes.append(f"left out: '{name}' of the server '{self._name}', which each server gets")
                continue
            plain = None if text is None else mapped_texts(text, lambda string: _OWN.sub(partial(_own, values), string))
            where = f"'{name}' in `{part}` of the server '{self._name}'"
            if plain == "":
                filled_texts[str(name)] = ""
            elif isinstance(plain, str) and (filled := self._variables.in_secret_place(plain, where)) is not None:
                filled_texts[str(name)] = filled
        return filled_texts

    def _check_folder(self) -> None:
        folder = self._entry.get("cwd")
        if not isinstance(folder, str):
            return
        where = f"'cwd' of the server '{self._name}'"
        plain = self._variables.in_open_place(_with_home(folder), where)
        if plain.rstrip("/") not in ("", "."):
            self._variables.to_do.append(
                f"{where} is {plain}: a server runs in the workflow's folder; write the paths in its `args` in full"
            )

    def _note_others(self) -> None:
        """Note the keys without a place in a workflow."""
        for key in self._entry:
            if key in _KNOWN or key in _SILENT or key in _FILTERS or (key == "tools" and self._listed):
                continue
            label = f"'{key}' of the server '{self._name}'"
            if key in _NEEDED and self._entry[key] in (None, False):
                continue
            if key in _NEEDED:
                self._variables.to_do.append(f"{label} is not read: write what it gives under `env` or `headers`")
            else:
                self._variables.notes.append(f"left out: {label}")


def _own(values: Mapping[str, Any], match: re.Match[str]) -> str:
    """Return the replacement of a variable that the same server sets to a text."""
    value = values.get(match[1])
    return value if isinstance(value, str) and "$" not in value else match[0]


def _with_home(text: str) -> str:
    return str(Path.home()) + text[1:] if text == "~" or text.startswith("~/") else text


def _secrets_in_the_open(sections: Mapping[str, Any]) -> Iterator[str]:
    """Yield a step for each secret that a command line or an address would show."""
    for server in sections["tools"]["mcp"]:
        for part in ("command", "args", "url"):
            for name in re.findall(r"\$\{secrets\.([^{}]+)\}", str(server.get(part, ""))):
                section = "headers" if part == "url" else "env"
                yield (
                    f"`{part}` of the server '{server['id']}' would show the secret {name} to others:"
                    f" give it in `{section}`, and remove it from `{part}`"
                )
