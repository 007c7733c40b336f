"""Values in another client's file that look like secrets, taken out of the sections made from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_NAME = re.compile(r"key|token|secret|passw|credential|auth|cookie", re.IGNORECASE)
# How the keys of well-known services begin; and what may be before a key in a header.
_VALUE = re.compile(
    r"(?:[sprk]k|xox[a-z]|glpat|hf|npm|pypi)[-_][\w-]{8,}|gh[a-z]_\w{8,}|github_pat_|AKIA\w{8}|AIza|eyJ\w{8,}"
)
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|Bot)\s+", re.IGNORECASE)
_PLAIN = ("", "true", "false", "none", "0", "1")
_OPTION = re.compile(r"(--?[\w-]+)=(.+)", re.DOTALL)
_QUERY = re.compile(r"(?<=[?&])([^=&]+)=([^&]+)")

# Takes a name for a value and the value; returns what takes its place.
_Store = Callable[[str, str], str]


def without_literal_secrets(sections: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return sections with secrets in place of values that look like them, and the place of each, by its name."""
    values: dict[str, str] = {}
    places: dict[str, str] = {}
    servers = []
    for server in sections["tools"]["mcp"]:

        def store(name: str, value: str, of: str = server["id"]) -> str:
            plain = re.sub(r"\W+", "_", name).strip("_").upper()
            if values.get(plain, value) != value:
                plain = re.sub(r"\W+", "_", f"{of}_{plain}").upper()
            values[plain] = value
            places.setdefault(plain, f"'{name}' of the server '{of}'")
            return f"${{secrets.{plain}}}"

        servers.append(_of_server(server, store))
    named = [*sections.get("env", {}).get("secrets", ())]
    named += [{"key": name} for name in values if {"key": name} not in named]
    return {"tools": {"mcp": servers}, **({"env": {"secrets": named}} if named else {})}, places


def _of_server(server: Mapping[str, Any], store: _Store) -> dict[str, Any]:
    found = dict(server)
    for part in ("env", "headers"):
        if isinstance(texts := server.get(part), Mapping):
            found[part] = {name: _hidden(str(name), text, store) for name, text in texts.items()}
    if isinstance(arguments := server.get("args"), list):
        found["args"] = [_argument(arguments, index, store) for index in range(len(arguments))]
    if isinstance(url := server.get("url"), str):
        found["url"] = _QUERY.sub(lambda one: f"{one[1]}={_hidden(one[1], one[2], store)}", url)
    return found


def _argument(arguments: list[Any], index: int, store: _Store) -> Any:
    """Return an argument: `--token=value`, or the value after `--token`, or one that looks like a key by itself."""
    text, before = arguments[index], arguments[index - 1] if index else ""
    if isinstance(text, str) and (option := _OPTION.fullmatch(text)):
        return f"{option[1]}={_hidden(option[1], option[2], store)}"
    is_value = isinstance(before, str) and before.startswith("-") and "=" not in before
    return _hidden(before if is_value and not str(text).startswith("-") else "argument", text, store)


def _hidden(name: str, text: Any, store: _Store) -> Any:
    if not isinstance(text, str) or "${" in text or text.lower() in _PLAIN:
        return text
    if not (_NAME.search(name) or _VALUE.search(text) or _SCHEME.match(text)):
        return text
    scheme = _SCHEME.match(text)
    start = scheme[0] if scheme else ""
    return start + store(name, text[len(start) :])
