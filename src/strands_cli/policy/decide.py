"""Pure `decide(rules, request) -> Decision`: allow, ask or deny, each with the deciding rule in words."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Effect = Literal["allow", "ask", "deny"]
Level = Literal["managed", "user", "project", "command line", "workflow"]

_STRENGTH: dict[Effect, int] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of policy: the tools it speaks of (a name or a glob), its effect, and where it was written.

    It does not speak of tools that `unless` names.
    """

    effect: Effect
    tools: str
    level: Level
    origin: str
    unless: tuple[str, ...] = ()

    def matches(self, request: Request) -> bool:
        """Return whether the rule speaks of this call, by model-facing name, ref or qualified name."""
        if any(fnmatch.fnmatchcase(name, spared) for spared in self.unless for name in request.names):
            return False
        return any(fnmatch.fnmatchcase(name, self.tools) for name in request.names)


@dataclass(frozen=True, slots=True)
class Request:
    """One call as policy sees it.

    `names` are all names the tool goes by (`file_write`, `native:file_write`, `strands-tool-files/file_write`).
    `annotations` are the MCP hints of the tool, `claims` its `strands_cli` object; a missing key means unknown.
    `read_only_now` is whether `read_only_when` matched these very arguments.
    """

    names: tuple[str, ...]
    annotations: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, Any] = field(default_factory=dict)
    read_only_now: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Policy's answer: the effect and the deciding rule in words."""

    effect: Effect
    rule: str


def decide(rules: Sequence[Rule], request: Request) -> Decision:
    """Answer for one call.

    A deny or ask rule always narrows; an allow rule turns the tool's own question into a yes, and only when it does
    not come from the workflow (a workflow cannot grant itself anything). Deny beats ask, a written ask beats allow.

    Args:
        rules: Every rule in force, in any order.
        request: The call.
    """
    matching = [rule for rule in rules if rule.matches(request)]
    narrowing = [Decision(rule.effect, rule.origin) for rule in matching if rule.effect != "allow"]
    if narrowing:
        return strongest(narrowing)
    own = _own_decision(request)
    if own.effect == "ask":
        for rule in matching:
            if rule.effect == "allow" and rule.level != "workflow":
                return Decision("allow", rule.origin)
    return own


def strongest(decisions: Iterable[Decision]) -> Decision:
    """Return the strictest of several decisions: deny > ask > allow; the first of equals."""
    return max(decisions, key=lambda decision: _STRENGTH[decision.effect])


def _own_decision(request: Request) -> Decision:
    """Decide from what the tool says of itself; what it does not say is unknown, and unknown asks."""
    hints = request.annotations
    if request.claims.get("requires_confirmation") is True:
        return Decision("ask", "the tool requires confirmation")
    if hints.get("destructiveHint") is True and hints.get("readOnlyHint") is True:
        return Decision("ask", "the tool says both read-only and destructive")
    if request.read_only_now:
        return Decision("allow", "read-only for these arguments (read_only_when)")
    if hints.get("readOnlyHint") is True:
        return Decision("allow", "the tool is read-only")
    if hints.get("destructiveHint") is True:
        return Decision("ask", "the tool is destructive")
    if hints.get("readOnlyHint") is False:
        return Decision("ask", "the tool is not read-only")
    return Decision("ask", "what the tool may do is unknown")
