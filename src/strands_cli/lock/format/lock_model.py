"""The values of a lock: distributions with the digests of their files and the definitions of their tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from strands_cli.publishers import Publisher
from strands_cli.texts.canonical_json import digest_of

FILE_NAME = "strands.lock"
VERSION = 1
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def lock_file(folder: Path) -> Path:
    """Return the path of the lock for the workflows of a folder."""
    return folder / FILE_NAME


# Named tuples: defining five dataclasses takes two milliseconds in each command that reads a lock.


class LockedTool(NamedTuple):
    """A tool's definition: the fields that a model and the permission check see, and their digest.

    `after_load` says that loading the plugin may show more fields; the lock then pins only the tool's files.
    """

    name: str
    fields: Mapping[str, Any]
    definition: str
    after_load: bool = False

    @classmethod
    def of(cls, name: str, fields: Mapping[str, Any], *, after_load: bool = False) -> LockedTool:
        """Return a tool with the digest of its fields."""
        return cls(name, fields, f"sha256:{digest_of(fields)}", after_load)


class LockedDocument(NamedTuple):
    """What a YAML or JSON file of a package says, without what is long or secret, and the digest of that.

    `file` is its path as in the distribution's files. Only the file's own digest says whether it has changed; the
    fields are there to show how.
    """

    file: str
    fields: Mapping[str, Any]
    definition: str

    @classmethod
    def of(cls, file: str, fields: Mapping[str, Any]) -> LockedDocument:
        """Return a document with the digest of its fields."""
        return cls(file, fields, f"sha256:{digest_of(fields)}")


class LockedDistribution(NamedTuple):
    """An installed distribution: its version, the digests of its files by path, and its tools by name.

    `requires` has the pins of the distributions that it requires, by name: version and digest of RECORD.
    `publisher` is who published it, if that was verified.
    `documents` are the files of its workflows and agents, by path, where workflows use them.
    """

    name: str
    version: str | None
    files: Mapping[str, str]
    tools: Mapping[str, LockedTool] = _NOTHING
    editable: bool = False
    requires: Mapping[str, str] = _NOTHING
    publisher: Publisher | None = None
    documents: Mapping[str, LockedDocument] = _NOTHING


class LockedModule(NamedTuple):
    """Custom Python that a workflow names: its reference, and the digests of its file and its parent packages."""

    reference: str
    files: Mapping[str, str]


class LockedServer(NamedTuple):
    """An MCP server: its name (`mcp:ID`), how it is reached, as the workflow writes it, and its tools by name."""

    name: str
    reached_by: str
    tools: Mapping[str, LockedTool] = _NOTHING


class LockedWorkflow(NamedTuple):
    """A workflow: its file's name, and the digest of all that it uses of the machine and of addresses."""

    name: str
    authority: str


class Lock(NamedTuple):
    """The content of a lock file, by name and by reference."""

    distributions: Mapping[str, LockedDistribution] = _NOTHING
    modules: Mapping[str, LockedModule] = _NOTHING
    servers: Mapping[str, LockedServer] = _NOTHING
    workflows: Mapping[str, LockedWorkflow] = _NOTHING

    @property
    def names(self) -> tuple[str, ...]:
        """The names that `strands lock --update` takes."""
        return (*self.distributions, *self.modules, *self.servers, *self.workflows)

    @property
    def packaged(self) -> tuple[str, ...]:
        """The packaged workflows that are run in its folder, as `DIST/NAME`; others have the names of files."""
        return tuple(name for name in self.workflows if "/" in name)

    def owners_of(self, tool: str) -> list[str]:
        """Return the distributions with a tool of this name."""
        return [name for name, distribution in self.distributions.items() if tool in distribution.tools]
