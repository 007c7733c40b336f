"""`PermissionQuestion`: an undecided call, as the program that decides it sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PermissionQuestion:
    """The question of a permission policy about one call.

    Attributes:
        tool: The tool's name, as the model calls it.
        arguments: The call's arguments, with defaults filled in; a copy, so that changes have no effect.
        reason: The rule that asks, or the tool's own hints.
        agent: The agent's name.
        digest: The digest of the arguments; an approval is valid only for these.
    """

    tool: str
    arguments: Mapping[str, Any]
    reason: str
    agent: str
    digest: str

    def __str__(self) -> str:
        """Return the question for a person."""
        from strands_cli.canonical_json import canonical_json

        return f"Allow {self.agent} to call {self.tool} with {canonical_json(self.arguments)}? ({self.reason})"
