"""`PermissionQuestion`: an undecided call, as the program that decides it sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PermissionQuestion:
    """The question about one call: of a `PermissionPolicy` to its program, or of a run to a person.

    Attributes:
        tool: The tool's name, as the model calls it.
        arguments: The call's arguments, whole, with defaults filled in; a copy, so that changes have no effect.
        reason: The rule that asks, or the tool's own hints.
        agent: The agent or step that makes the call.
        digest: The digest of the arguments; an approval is valid only for these.
        reference: The tool's own reference (`native:strands-tool-files/file_write`) where `tool` is a name that the
            workflow or loaded code chose for it; else empty.
        distribution: The distribution that ships it, or the word for where it comes from otherwise.
        diff: What the call changes in a text file that exists, as it was when the question was asked; else empty.
        unseen: In words what the call replaces without a diff, a large file or one that is not text; else empty.
        grant: What an answer for all calls of the tool in the run is valid for: this tool with this configuration;
            empty where each call is asked about.
        needs_terminal: Whether only a person at a terminal may answer, since a managed policy file asks.
    """

    tool: str
    arguments: Mapping[str, Any]
    reason: str
    agent: str
    digest: str
    reference: str = ""
    distribution: str = ""
    needs_terminal: bool = False
    diff: str = ""
    unseen: str = ""
    grant: str = ""

    @property
    def prompt(self) -> str:
        """Return the question without the arguments, in one line."""
        origin = f", which is {self.reference}" if self.reference else f" of {self.distribution}"
        return f"Allow {self.agent} to call {self.tool}{origin}? ({self.reason})"

    def __str__(self) -> str:
        """Return the question for a person."""
        from strands_cli.texts.canonical_json import canonical_json

        return f"Allow {self.agent} to call {self.tool} with {canonical_json(self.arguments)}? ({self.reason})"
