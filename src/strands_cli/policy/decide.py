"""Pure `decide(rules, request) -> Decision`: allow, ask or deny, each with the deciding rule in words."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Effect = Literal["allow", "ask", "deny"]
Level = Literal["managed", "user", "project", "command line", "workflow"]

_STRENGTH: dict[Effect, int] = {"allow": 0, "ask": 1, "deny": 2}
# Who may answer whose question: the person at the command line speaks for themselves, as their own file does.
_RANK: dict[Level, int] = {"workflow": 0, "project": 1, "user": 2, "command line": 2, "managed": 3}


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

    A deny rule always holds. What would ask, by a rule or by what the tool says of itself, becomes a yes by an allow
    rule that is written no lower than the question; a workflow cannot grant itself anything.

    Args:
        rules: Every rule in force, in any order.
        request: The call.
    """
    matching = [rule for rule in rules if rule.matches(request)]
    denying = [rule for rule in matching if rule.effect == "deny"]
    if denying:
        return Decision("deny", denying[0].origin)
    own = _own_decision(request)
    asking = [rule for rule in matching if rule.effect == "ask"]
    if own.effect == "allow" and not asking:
        return own
    asked_by = max((_RANK[rule.level] for rule in asking), default=_RANK["workflow"])
    for rule in matching:
        if rule.effect == "allow" and rule.level != "workflow" and _RANK[rule.level] >= asked_by:
            return Decision("allow", rule.origin)
    return Decision("ask", asking[0].origin) if asking else own


def strongest(decisions: Iterable[Decision]) -> Decision:
    """Return the strictest of several decisions: deny > ask > allow; the first of equals."""
    return max(decisions, key=lambda decision: _STRENGTH[decision.effect])


def _own_decision(request: Request) -> Decision:
    """Decide from what the tool says of itself; what it does not say is unknown, and unknown asks."""
    hints, claims = request.annotations, request.claims
    if claims.get("requires_confirmation") not in (None, False):
        return Decision("ask", "the tool requires confirmation")
    says_read_only = hints.get("readOnlyHint") is True
    if says_read_only and hints.get("destructiveHint") not in (None, False):
        return Decision("ask", "the tool says both read-only and destructive")
    if request.read_only_now:
        return Decision("allow", "read-only for these arguments (read_only_when)")
    if says_read_only and claims.get("read_only_when") is None:
        return Decision("allow", "the tool is read-only")
    if hints.get("destructiveHint") is True:
        return Decision("ask", "the tool is destructive")
    if says_read_only:
        return Decision("ask", "the tool is read-only for some arguments only (read_only_when)")
    if hints.get("readOnlyHint") is False:
        return Decision("ask", "the tool is not read-only")
    return Decision("ask", "what the tool may do is unknown")
