"""Claims that the configuration of a tool adds to those of its distribution: the secrets that it names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.texts.canonical_json import json_object

if TYPE_CHECKING:
    from strands_cli.workflow.steps.tool_entries import McpServer

# The `format` by which a tool's `config_schema` says that a text is the name of a declared secret.
NAME_FORMAT = "secret-name"
# In a tool's `config`: the hosts that its author lets it reach. With those named, the model chooses none.
HOSTS = "allow_hosts"
# In a capability: every host, every file.
EVERY = "*"
SECRET_REFERENCE = re.compile(r"\$\{secrets\.([^{}]+)\}")


def secrets_in(config: Any, schema: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Return the secrets that a configuration names: as `${secrets.NAME}`, or where its schema expects a name."""
    return tuple(dict.fromkeys(_named(config, schema or {})))


def filled_in(text: str, value_of: Callable[[str], str]) -> str:
    """Return a text with the values of the secrets that it names."""
    return SECRET_REFERENCE.sub(lambda found: value_of(found[1]), text)


def configured_claims(claims: Mapping[str, Any], by_config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the claims of a tool under `strands_cli` with those of its configuration, the secrets of both joined."""
    if not by_config:
        return claims
    claimed, added = json_object(claims.get("capabilities")), by_config.get("capabilities") or {}
    capabilities = {**claimed, **added}
    if "secrets" in added:
        declared = claimed.get("secrets")
        names = declared if isinstance(declared, (list, tuple)) else ()
        capabilities["secrets"] = list(dict.fromkeys((*names, *added["secrets"])))
    return {**claims, **by_config, "capabilities": capabilities}


def reached_by(server: McpServer) -> str:
    """Return the command or the address of a server, as it is written; references to secrets stay references.

    Words with spaces are quoted: `sh -c 'rm x'` is not `sh -c rm x`.
    """
    if server.url is not None:
        return server.url
    words = (server.command or "", *server.args)
    return " ".join(words) if all(len(word.split()) == 1 for word in words) else shlex.join(words)


def listed(capability: Any) -> list[Any] | None:
    """Return what a capability lists; plain `true` means everything, and None is unknown."""
    if isinstance(capability, bool):
        return [EVERY] if capability else []
    return list(capability) if isinstance(capability, (list, tuple)) else None


def _named(value: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(value, str):
        yield from [value] if schema.get("format") == NAME_FORMAT else SECRET_REFERENCE.findall(value)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _named(item, _below(_below(schema, "properties"), name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _named(item, _below(schema, "items"))


def _below(schema: Mapping[str, Any], word: str) -> Mapping[str, Any]:
    return json_object(schema.get(word))
