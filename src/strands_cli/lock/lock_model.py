"""The lock as values: distributions with the digests of their files and the definitions of their tools."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from strands_cli.canonical_json import digest_of

FILE_NAME = "strands.lock"
VERSION = 1
_NOTHING: Mapping[str, Any] = MappingProxyType({})

# Named tuples: five dataclasses would cost each command with a lock two milliseconds to make.


class LockedTool(NamedTuple):
    """A tool's definition: what a model and the gate are told of it.

    `after_load` says that more of it shows only when its plugin is loaded; its files are then all that is pinned.
    """

    name: str
    fields: Mapping[str, Any]
    definition: str
    after_load: bool = False

    @classmethod
    def of(cls, name: str, fields: Mapping[str, Any], *, after_load: bool = False) -> LockedTool:
        """Make one with the digest of its fields."""
        return cls(name, fields, f"sha256:{digest_of(fields)}", after_load)


class LockedDistribution(NamedTuple):
    """An installed distribution: its version, its files by path (with their digests), its tools by name."""

    name: str
    version: str | None
    files: Mapping[str, str]
    tools: Mapping[str, LockedTool] = _NOTHING
    editable: bool = False


class LockedModule(NamedTuple):
    """Custom Python that a workflow names: its reference, its file and those that are imported before it."""

    reference: str
    files: Mapping[str, str]


class LockedServer(NamedTuple):
    """An MCP server: its name (`mcp:ID`), how it is reached, as the workflow writes it, and its tools by name."""

    name: str
    reached_by: str
    tools: Mapping[str, LockedTool] = _NOTHING


class Lock(NamedTuple):
    """Everything that a lock file says, by name and by reference."""

    distributions: Mapping[str, LockedDistribution] = _NOTHING
    modules: Mapping[str, LockedModule] = _NOTHING
    servers: Mapping[str, LockedServer] = _NOTHING

    @property
    def names(self) -> tuple[str, ...]:
        """What `strands lock --update` can be given."""
        return (*self.distributions, *self.modules, *self.servers)

    def owners_of(self, tool: str) -> list[str]:
        """Return the distributions that the lock has a tool of this name from."""
        return [name for name, distribution in self.distributions.items() if tool in distribution.tools]
