"""The MCP servers in a configuration file of another client, as sections of a workflow."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from strands_cli.errors import Code, Finding, InvalidInput
from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.parts.client_sections import (
    ADDRESSES,
    address_of,
    command_of,
    entries_in,
    has_servers,
    is_server,
)
from strands_cli.workflow.parts.client_variables import Variables, asked_in, is_script, mapped_texts
from strands_cli.workflow.parts.literal_secrets import without_literal_secrets
from strands_cli.yaml_files.document import Document

BAD_SERVERS = Code(
    "bad-servers",
    "A file of MCP servers of another client has an entry that is not a server.",
    "Each server is an object with `command` or `url`.",
)

# What says nothing that a workflow needs.
_SILENT = frozenset(
    {"type", "transport", "transportType", "disabled", "enabled", "name", "description", "displayName", "source"}
    | {"icon", "gallery", "version", "$schema", "note", "comment", "_comment", "id", "iconUrl", "homepage"}
)
_KNOWN = frozenset({"command", "args", "env", "environment", "headers", "requestInit", "cwd", *ADDRESSES})
_FILTERS = {"includeTools": "allow", "allowedTools": "allow", "excludeTools": "deny", "disabledTools": "deny"}
# Without these a server may not work; of the others it works as before.
_NEEDED = frozenset({"envFile", "auth", "oauth", "authentication", "authProviderType"})
_OWN = re.compile(r"\$\{(\w+)\}")
# What every server gets of the environment, as far as files name it.
_INHERITED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "LANG", "SHELL", "TERM", "TMPDIR", "TZ", "APPDATA", "TEMP"})
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class ImportedServers:
    """What a file of another client comes to.

    Attributes:
        sections: The sections `tools` and `env` of a workflow.
        hidden: The places of values that look like secrets and are not copied, by the names of their secrets.
        notes: What was decided: defaults that are kept, folders, what is left out.
        to_do: What is left to do before the sections work as in the other client.
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
    """Return the sections, without what looks like a secret, and what a person has to know and to do.

    Raises:
        InvalidInput: An entry is not a server.
    """
    sections, variables = _converted(document)
    sections, hidden = without_literal_secrets(sections)
    return ImportedServers(
        sections, hidden, tuple(dict.fromkeys(variables.notes)), (*variables.to_do, *_secrets_in_the_open(sections))
    )


def _converted(document: Document) -> tuple[dict[str, Any], Variables]:
    """Return the sections of a file, and what its variables came to."""
    settings = json_object(document.value)
    asked = asked_in(settings.get("inputs") or json_object(settings.get("mcp")).get("inputs"))
    variables = Variables(Path(document.file).parent, os.environ, asked)
    entries = entries_in(document.value, Path.cwd())
    has_any = any(is_server(one.value) for one in entries)
    servers: list[dict[str, Any]] = []
    names = _Names()
    for one in entries:
        entry = json_object(one.value)
        if entry.get("disabled") is True or entry.get("enabled") is False:
            variables.notes.append(f"left out: the server '{one.name}' is switched off")
        elif is_server(entry):
            identity = names.unused(_NOT_IN_IDS.sub("-", one.name).strip("-") or "server")
            servers.append({"id": identity, **_Server(one.name, entry, variables).fields()})
            if one.of:
                variables.notes.append(f"the server '{identity}' is one of {one.of}")
        elif has_any:
            variables.to_do.append(
                f"the server '{one.name}' is left out: it has neither `command` nor `url`; write one"
            )
        else:
            where = document.where("/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in one.place))
            finding = Finding(
                BAD_SERVERS, f"'{one.name}' has neither `command` nor `url`", where, "remove it, or complete it"
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
        found = name
        while found in self._next:
            self._next[name] += 1
            found = f"{name}-{self._next[name]}"
        self._next[found] = 1
        return found


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
            found = self._program(command)
        else:
            found = self._address(str(address), kind)
        tools = {word: list(names) for key, word in _FILTERS.items() if isinstance(names := self._entry.get(key), list)}
        if self._listed and "*" not in self._listed:
            tools = {"allow": self._listed, **tools}
        return {**found, **({"tools": tools} if tools else {})}

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
            script = [self._variables.for_shell(one, env) for one in arguments[at : at + 1]]
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
        """Return `env` or `headers` as texts; one that is null or optional is left out."""
        found: dict[str, str] = {}
        given = json_object(texts)
        for name, text in given.items():
            if (
                part == "env"
                and name in _INHERITED
                and text in (f"${{{name}}}", f"${name}", f"${{env:{name}}}", f"%{name}%")
            ):
                self._variables.notes.append(f"left out: '{name}' of the server '{self._name}', which each server gets")
                continue
            plain = None if text is None else mapped_texts(text, lambda one: _OWN.sub(partial(_own, given), one))
            where = f"'{name}' in `{part}` of the server '{self._name}'"
            if plain == "":
                found[str(name)] = ""
            elif isinstance(plain, str) and (filled := self._variables.in_secret_place(plain, where)) is not None:
                found[str(name)] = filled
        return found

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
        """Note what has no place in a workflow."""
        for key in self._entry:
            if key in _KNOWN or key in _SILENT or key in _FILTERS or (key == "tools" and self._listed):
                continue
            what = f"'{key}' of the server '{self._name}'"
            if key in _NEEDED and self._entry[key] in (None, False):
                continue
            if key in _NEEDED:
                self._variables.to_do.append(f"{what} is not read: write what it gives under `env` or `headers`")
            else:
                self._variables.notes.append(f"left out: {what}")


def _own(given: Mapping[str, Any], found: re.Match[str]) -> str:
    """Return what takes the place of a variable that the same server sets to a text."""
    value = given.get(found[1])
    return value if isinstance(value, str) and "$" not in value else found[0]


def _with_home(text: str) -> str:
    return str(Path.home()) + text[1:] if text == "~" or text.startswith("~/") else text


def _secrets_in_the_open(sections: Mapping[str, Any]) -> Iterator[str]:
    """Yield what to do about each secret that a command line or an address would show."""
    for server in sections["tools"]["mcp"]:
        for part in ("command", "args", "url"):
            for name in re.findall(r"\$\{secrets\.([^{}]+)\}", str(server.get(part, ""))):
                place = "headers" if part == "url" else "env"
                yield (
                    f"`{part}` of the server '{server['id']}' would show the secret {name} to others:"
                    f" give it in `{place}`, and remove it from `{part}`"
                )
