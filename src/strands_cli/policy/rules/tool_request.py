"""`Request`, the tool or the call to which rules apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, get_args

from strands_cli.policy.matching.file_places import Workspace
from strands_cli.quick_dataclass import dataclass

Capability = Literal["network", "filesystem", "subprocess", "env", "secrets"]
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)


@dataclass(frozen=True, slots=True)
class Request:
    """One tool, or one call of it, in the form for the permission check.

    Attributes:
        names: All names of the tool (`file_write`, `native:file_write`, `strands-tool-files/file_write`).
        annotations: The MCP hints of the tool; a missing key means unknown.
        claims: Its `strands_cli` object; a missing key means unknown.
        read_only_now: Whether `read_only_when` matches these arguments.
        distribution: Normalised name of the distribution; None without a distribution.
        version: The distribution's version; None is unknown.
        sources: All of `SOURCES` that apply, and perhaps `UNKNOWN_SOURCE`; an empty set means unknown.
        arguments: The call's arguments with defaults filled in; None for a tool before its calls.
        custom: The canonical reference (`module:attr`) of Python outside distributions; else None.
        custom_folder: The folder of the workflow's `python_path`, without links, in which Python finds `custom`; None
            if it finds it without.
        aliases: Names that the workflow or loaded code chooses. They loosen nothing.
        typed_names: Names that the workflow chooses, and by which the command line may allow it all the same.
        composed: Whether the workflow composes it of other tools, each call of which has its own decision.
        workspace: Where the relative paths of the call begin; by default in the current directory.
        publisher: The verified publisher of the distribution (`github:acme/tool`); None is unknown.
    """

    names: tuple[str, ...]
    annotations: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, Any] = field(default_factory=dict)
    read_only_now: bool = False
    distribution: str | None = None
    version: str | None = None
    sources: frozenset[str] = frozenset()
    arguments: Mapping[str, Any] | None = None
    custom: str | None = None
    custom_folder: str | None = None
    aliases: tuple[str, ...] = ()
    typed_names: tuple[str, ...] = ()
    composed: bool = False
    workspace: Workspace = field(default_factory=Workspace)
    publisher: str | None = None

    @property
    def capabilities(self) -> Mapping[str, bool | None]:
        """Whether the tool has each of `CAPABILITIES`; None if it does not declare it."""
        declared = self.claims.get("capabilities")
        if not isinstance(declared, Mapping):
            return dict.fromkeys(CAPABILITIES)
        return {name: _is_able(declared.get(name)) for name in CAPABILITIES}


def _is_able(declared: Any) -> bool | None:
    """Return whether a tool declares a capability; only `false` and an empty list declare that it has none."""
    if declared is False or (isinstance(declared, (list, tuple)) and not declared):
        return False
    return True if declared else None
