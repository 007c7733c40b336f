"""What the catalog knows of one tool: `ToolRecord`, plain data that no import stands behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

ToolStatus = Literal["available", "unknown", "unmet", "conflict", "broken"]


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """A tool, or the class, suite or provider of several.

    Attributes:
        name: What a workflow calls it: the entry point's name, or a member's own.
        distribution: Normalised name of the distribution.
        version: The distribution's version, None where no record says it.
        entry: The object reference as the entry point has it (`package.module:attribute`).
        entry_name: The entry point's name; for a member its parent's.
        module: The module of `entry`.
        attribute: The attribute of `entry`; None for a whole module.
        path: The entry of `sys.path` that holds the distribution.
        location: The top-level package's folder, or the single module's file; None where it is missing.
        kind: A word of `manifest.KINDS`, `legacy`, or `unknown`.
        status: `available`; `unknown` (usable, but only loading tells what it is); `unmet` (this machine lacks
            something it requires); `conflict` (two distributions claim the name); `broken` (cannot be used).
        reason: Why the status is not `available`.
        missing: What this machine lacks, each a phrase after "needs"; a conflict can hide it from `status`.
        description: What the model reads; None is unknown.
        input_schema: JSON Schema of the input; None is unknown.
        output_schema: JSON Schema of the result; None is not promised.
        annotations: The MCP words (`readOnlyHint`, ...); an absent one is unknown, never safe.
        strands_cli: Our own words (`requires_confirmation`, `capabilities`, ...).
        requires: What must be there for it to work: `distributions`, `modules`, `python`, `os`, `env`.
        config_schema: JSON Schema of the `config` a workflow may give it.
        examples: Example inputs, with or without results, for people.
        family: A group name chosen by authors (`files`).
        category: A second, coarser one (`data`).
        deprecated: `since` and `replacement`, or None.
        manifest: Path of the manifest that said all this; None if it was read from source.
        members: The tools of a class, suite or provider; None where only loading tells; empty for a single tool.
        parent: For a member, the name its distribution declares it under.
        registered_by: The hook plugin that gave the record; None for what the distribution itself declares.
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

    @property
    def ref_name(self) -> str:
        """Return the name after `native:`, `db.query` for a member."""
        return f"{self.parent}.{self.name}" if self.parent else self.name

    @property
    def usable(self) -> bool:
        """Return whether a workflow may name it without a qualifier on this machine."""
        return self.status in ("available", "unknown")

    def as_dict(self) -> dict[str, Any]:
        """Return everything a person may want to know as one JSON object; members as objects of the same shape."""
        return {
            "name": self.ref_name,
            "status": self.status,
            "reason": self.reason,
            "description": self.description,
            "kind": self.kind,
            "distribution": self.distribution,
            "version": self.version,
            "family": self.family,
            "category": self.category,
            "deprecated": self.deprecated,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "annotations": self.annotations,
            "strands_cli": self.strands_cli,
            "requires": self.requires,
            "config_schema": self.config_schema,
            "examples": list(self.examples),
            "members": None if self.members is None else [member.as_dict() for member in self.members],
            "source": self.source,
        }

    @property
    def source(self) -> dict[str, Any]:
        """Return what is known without looking further than the listing did."""
        return {"entry": self.entry, "path": self.path, "location": self.location, "manifest": self.manifest}


def summarise(members: Sequence[ToolRecord]) -> str:
    """Return the description of a class, suite or provider that has none of its own: what is in it."""
    word = "tool" if len(members) == 1 else "tools"
    return f"{len(members)} {word}: " + ", ".join(member.name for member in members)
