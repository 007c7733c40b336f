"""`ToolRecord`: the catalog's data about one tool, without an import of the tool."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from strands_cli.catalog.distributions.dist_info import read_text
from strands_cli.errors import Code, Finding
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.phrases import counted
from strands_cli.toolref import FAMILY

TOOL_CONFLICT = Code(
    "tool-conflict",
    "Two distributions provide a tool with this name.",
    "Qualify it: native:DISTRIBUTION/NAME, or uninstall one of them.",
)

DEPRECATED_TOOL = Code("deprecated-tool", "A tool that its author has deprecated.", "Use the tool that replaces it.")

# The fields of a record that its JSON has as they are, in their order.
_SHOWN = (
    *("status", "reason", "description", "kind", "distribution", "version", "family", "category", "deprecated"),
    *("input_schema", "output_schema", "annotations", "strands_cli", "requires", "config_schema"),
)
ToolStatus = Literal["available", "unknown", "unmet", "conflict", "broken"]
AdoptionLevel = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class AdoptionOrigin:
    """How a tool of a distribution that declares none became one.

    Attributes:
        file: The path of the `strands-adopted.json`.
        level: Whose file that is: the user's, or that of the folder of the workflow.
        since: The day, `2026-11-23`.
        called: The name in the tool's own specification.
        imported: Whether its definition comes from importing it; else from its source.
    """

    file: str
    level: AdoptionLevel
    since: str
    called: str
    imported: bool = False

    def command(self, distribution: str, *, imports: bool) -> str:
        """Return the command that adopts the tools of the distribution again, into the same file."""
        command = f"strands plugin adopt {distribution}{' --import' if imports else ''}"
        if self.level != "project":
            return command
        folder = Path(self.file).parent
        there = folder.absolute() == Path.cwd()
        return f"{'' if there else f'cd {shlex.quote(str(folder))} && '}{command} --project"


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """A tool, or the class, suite or provider of several.

    Attributes:
        name: Its name in workflows: the entry point's name, or a member's own.
        distribution: Normalised name of the distribution; empty for the one of the hook plugin that registers it.
        version: The distribution's version; None if its record does not state one.
        entry: The object reference as the entry point has it (`package.module:attribute`).
        entry_name: The entry point's name; for a member its parent's.
        module: The module of `entry`.
        attribute: The attribute of `entry`; None for a whole module.
        path: The entry of `sys.path` that contains the distribution.
        location: The top-level package's folder, or the single module's file; None if it is missing.
        kind: One of `manifest.KINDS`, `legacy`, or `unknown`.
        status: `available`; `unknown` (usable, but its definition is known only after loading); `unmet` (a requirement
            is missing on this machine); `conflict` (two distributions claim the name); `broken` (cannot be used).
        reason: Why the status is not `available`.
        missing: The unmet requirements, each a phrase after "needs"; `status` does not show them for a conflict.
        description: The description for the model; None is unknown.
        input_schema: JSON Schema of the input; None is unknown.
        output_schema: JSON Schema of the result; None means that the tool does not promise one.
        annotations: The MCP hints (`readOnlyHint`, ...); an absent one is unknown, never safe.
        strands_cli: The fields of this program (`requires_confirmation`, `capabilities`, ...).
        requires: The tool's requirements: `distributions`, `modules`, `python`, `os`, `env`.
        config_schema: JSON Schema of the tool's `config` in a workflow.
        examples: Example inputs, with or without results, for people.
        family: A group name chosen by authors (`files`).
        category: A second, coarser group name (`data`).
        deprecated: `since` and `replacement`, or None.
        manifest: Path of the manifest that describes the tool; None if the source does.
        members: The tools of a class, suite or provider; None if known only after loading; empty for a single tool.
        parent: For a member, the name of the entry point that provides it.
        registered_by: The hook plugin that returned the record; None for a tool that the distribution declares.
        adopted: The adoption that made it a tool; None for one that its distribution or a hook plugin declares.
        fix: How to end the fault of a broken tool, the same everywhere; None where `meet` or its like below knows it.
    """

    name: str
    distribution: str
    version: str | None
    entry: str
    entry_name: str
    module: str
    attribute: str | None
    path: str
    location: str | None = None
    kind: str = "unknown"
    status: ToolStatus = "available"
    reason: str | None = None
    missing: tuple[str, ...] = ()
    description: str | None = None
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    strands_cli: Mapping[str, Any] = field(default_factory=dict)
    requires: Mapping[str, Any] = field(default_factory=dict)
    config_schema: Mapping[str, Any] | None = None
    examples: tuple[Any, ...] = ()
    family: str | None = None
    category: str | None = None
    deprecated: Mapping[str, Any] | None = None
    manifest: str | None = None
    members: tuple[ToolRecord, ...] | None = ()
    parent: str | None = None
    registered_by: str | None = None
    adopted: AdoptionOrigin | None = None
    fix: str | None = None

    @classmethod
    def from_source(cls, source: str | Mapping[str, Any]) -> ToolRecord:
        """Return the record that a hook plugin registers for a tool of its own distribution.

        The rest of it is read from the manifest or the source of the module, without an import, when tools are
        looked up.

        Args:
            source: A module's name, `module:attribute`, or the `TOOL_SPEC` of the module that calls this.

        Raises:
            TypeError: It is neither a text nor a mapping.
        """
        if isinstance(source, str):
            entry, name = "".join(source.split()), ""
        elif not isinstance(source, Mapping):
            raise TypeError(f"from_source takes a module's name or a TOOL_SPEC, not {type(source).__name__}")
        else:
            entry, name = str(sys._getframe(1).f_globals["__name__"]), str(source.get("name") or "")
        module, _, attribute = entry.partition(":")
        return cls(name, "", None, entry, name, module, attribute or None, "")

    @property
    def deprecations(self) -> list[Finding]:
        """Return the warning about a tool that its author has deprecated."""
        if not self.deprecated:
            return []
        instead = self.deprecated.get("replacement")
        message = f"'{self.name}' is deprecated since {self.deprecated.get('since', 'an earlier version')}"
        fix = f"use {instead}" if instead else "ask its author what replaces it"
        return [Finding(DEPRECATED_TOOL, message, None, fix, "warning")]

    @property
    def ref_name(self) -> str:
        """Return the name after `native:`, `db.query` for a member."""
        return f"{self.parent}.{self.name}" if self.parent else self.name

    @property
    def family_names(self) -> tuple[str, ...]:
        """Return the words by which a rule names its family."""
        if not self.family:
            return ()
        qualified = f"{self.distribution}/{self.family}.{FAMILY}"
        return (f"native:{self.family}.{FAMILY}", qualified, f"native:{qualified}")

    @property
    def usable(self) -> bool:
        """Return whether a workflow on this machine may name the tool without a qualifier."""
        return self.status in ("available", "unknown")

    def as_dict(self) -> dict[str, Any]:
        """Return the record as a JSON object; members are objects of the same shape."""
        return {
            "name": self.ref_name,
            **{name: getattr(self, name) for name in _SHOWN},
            "examples": list(self.examples),
            "members": None if self.members is None else [member.as_dict() for member in self.members],
            "source": self.source,
        }

    @property
    def source(self) -> dict[str, Any]:
        """Return the tool's place as the listing knows it, without reading more files."""
        fields = {name: getattr(self, name) for name in ("entry", "path", "location", "manifest", "registered_by")}
        return {**fields, "adopted": asdict(self.adopted) if self.adopted else None}


def summarise(members: Sequence[ToolRecord]) -> str:
    """Return a description of a class, suite or provider from the names of its members."""
    return f"{counted(len(members), 'tool')}: " + ", ".join(member.name for member in members)


# Ways to get an absent or broken tool; none installs a name that only a workflow has.


LOOK = "see what is installed: strands list-tools"
# Any person can register a name in an index, so the word of a workflow's author is not enough.
ELSEWHERE = f"correct the name ({LOOK}), or install what provides it from a source that you trust"


_SDK = "strands-agents"
_MAX_METADATA = 262_144


def may_have_tools(name: str, record: str) -> bool:
    """Return whether a distribution that declares no tools may have some: its metadata says that it needs the SDK.

    Args:
        name: Its normalised name.
        record: Its `*.dist-info`.
    """
    if name == _SDK or name.startswith("strands-cli"):
        return False
    head = (read_text(record, "METADATA", _MAX_METADATA) or "").partition("\n\n")[0].lower()
    return f"requires-dist: {_SDK}" in head


@cache
def first_party() -> dict[str, str]:
    """Return the distribution of each first-party tool, from data made from their manifests."""
    from importlib.resources import files  # brings modules that a listing does without

    text = files("strands_cli.catalog").joinpath("first_party.json").read_text(encoding="utf-8")
    distributions: dict[str, str] = json.loads(text)
    return distributions


def install_tool(name: str) -> str:
    """Return how to get a tool that no installed distribution provides."""
    owner = first_party().get(name)
    return f"pip install {owner}" if owner else _find(name)


def install_distribution(name: str) -> str:
    """Return how to get a distribution that a workflow names, for one of its tools."""
    return f"pip install {name}" if name in first_party().values() else _find(name)


def _find(name: str) -> str:
    return f"{ELSEWHERE} (what your plugin indexes have: strands plugin search {shlex.quote(name)})"


def adopt_again(record: ToolRecord) -> str:
    """Return how to make a broken adopted tool work again."""
    adopted = record.adopted
    if not record.path:  # the distribution is not installed; the word of a workflow's author is not enough for that
        by_user = adopted is not None and adopted.level == "user"
        return f"pip install {record.distribution}" if by_user else ELSEWHERE
    command = adopted.command(record.distribution, imports=adopted.imported) if adopted else ""
    return f"read the change, then adopt it again: {command}"


def meet(missing: Iterable[str]) -> str:
    """Return how to provide the missing parts of a tool, from the phrases that name them."""
    return "; ".join(dict.fromkeys(map(_provide, missing)))


def _provide(phrase: str) -> str:
    _, is_package, command = phrase.partition("pip install ")
    if is_package:
        return f"pip install {command}"
    if phrase.startswith("the module "):
        return f"install what provides {phrase}"
    _, is_variable, name = phrase.partition("the environment variable ")
    return f"export {name}=..." if is_variable else "use a machine that has it, or another tool"
