"""`PermissionQuestion`: a call that nobody has decided yet, as the program that answers for it gets to see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PermissionQuestion:
    """What a permission policy asks about one call.

    Attributes:
        tool: The tool's name, as the model calls it.
        arguments: Those of the call, with defaults filled in; a copy, which may be changed without effect.
        reason: The rule that asks, or what the tool says of itself.
        agent: The agent's name.
        digest: Of the arguments; a yes holds for these alone.
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
