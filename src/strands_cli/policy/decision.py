"""The pure function `decide(rules, request) -> Decision`: allow, ask or deny, with the text of the deciding rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from strands_cli.policy.rules.rule import LEVELS, Effect, Rule
from strands_cli.policy.rules.tool_request import Request
from strands_cli.policy.tool_names import names_custom
from strands_cli.quick_dataclass import dataclass

_STRENGTH: dict[Effect, int] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class Decision:
    """Policy's decision: the effect, its reason as text, and the deciding rule or hook plugin, if there is one.

    `no_person` is true where a person could have allowed a call, and none was there to be asked.
    `allowed_by` is the name by which `--allow` allows it then; None where only a person can.
    `grant` is the reason of a hook plugin that may allow, and allows the import of custom Python.
    """

    effect: Effect
    rule: str
    by: Rule | None = field(default=None, compare=False)
    plugin: str | None = field(default=None, compare=False)
    no_person: bool = field(default=False, compare=False)
    grant: str | None = field(default=None, compare=False)
    allowed_by: str | None = field(default=None, compare=False)

    @property
    def asks_for_the_tool(self) -> bool:
        """Whether only the tool's own declaration asks, which what allows may answer."""
        return self.effect == "ask" and self.by is None and self.plugin is None


def decide(rules: Sequence[Rule], request: Request) -> Decision:
    """Return the decision for one call, or for a tool before its calls.

    Deny is stronger than ask, and ask is stronger than allow, across all levels. Only the command line overrides a rule
    that asks, and only a person one of the managed file. If the tool's own hints ask, any rule that allows overrides
    them, except a rule of the workflow.

    Args:
        rules: Every rule in force, in any order.
    """
    speaking = speaking_rules(rules, request)
    by_hints = decide_by_hints(request)
    denying, asking, allowing = (
        [rule for rule in speaking if rule.effect == effect] for effect in ("deny", "ask", "allow")
    )
    allowing = [rule for rule in allowing if rule.level != "workflow"]
    if denying:
        return decided_by(denying[0])
    if asking:
        typed = [rule for rule in allowing if rule.level == "command line"]
        is_answered = typed and asking[0].level != "managed"
        return decided_by(typed[0] if is_answered else asking[0])
    if by_hints.effect == "ask" and allowing:
        return decided_by(allowing[0])
    return by_hints


def speaking_rules(rules: Iterable[Rule], request: Request) -> list[Rule]:
    """Return the rules that match a request: deny, then ask, then allow, each from the highest level on."""
    return in_order(rule for rule in rules if rule.matches(request))


def conditional_rules(rules: Iterable[Rule], request: Request) -> list[Rule]:
    """Return the rules that match some calls of a tool, depending on their arguments; in the same order."""
    return in_order(rule for rule in rules if rule.standing(request) == "depends")


def in_order(rules: Iterable[Rule]) -> list[Rule]:
    """Return rules by precedence: deny, then ask, then allow, each from the highest level on."""
    return sorted(rules, key=lambda rule: (-_STRENGTH[rule.effect], LEVELS.index(rule.level)))


def decided_by(rule: Rule) -> Decision:
    """Return the decision that a rule makes."""
    return Decision(rule.effect, rule.words, rule)


def grant_of(rules: Iterable[Rule], request: Request) -> Rule | None:
    """Return the rule of a policy file that allows the import of custom Python, or None.

    The rule must name the Python; a rule of the command line or of the workflow does not allow it.
    """
    if request.custom is None:
        return None
    granting = [
        rule
        for rule in speaking_rules(rules, request)
        if rule.effect == "allow"
        and rule.level not in ("command line", "workflow")
        and names_custom(rule.tools, request.custom)
    ]
    return granting[0] if granting else None


def strongest(decisions: Iterable[Decision]) -> Decision:
    """Return the strictest of several decisions: deny > ask > allow; of equals a managed one, else the first."""
    return max(decisions, key=lambda decision: (_STRENGTH[decision.effect], is_managed(decision)))


def is_managed(decision: Decision) -> bool:
    """Return whether a rule of a managed policy file decided; only a person at a terminal answers its questions."""
    return decision.by is not None and decision.by.level == "managed"


def decide_by_hints(request: Request) -> Decision:
    """Return the decision that follows from the tool's own hints; a missing hint is unknown, and unknown asks."""
    hints, claims = request.annotations, request.claims
    if request.composed:
        return Decision("allow", "it consists of other tools, and each of their calls has its own decision")
    if claims.get("requires_confirmation") not in (None, False):
        return Decision("ask", "the tool requires confirmation")
    is_read_only = hints.get("readOnlyHint") is True
    if is_read_only and hints.get("destructiveHint") not in (None, False):
        return Decision("ask", "the tool declares both read-only and destructive")
    if request.read_only_now:
        return Decision("allow", "read-only for these arguments (read_only_when)")
    if is_read_only and claims.get("read_only_when") is None:
        return Decision("allow", "the tool is read-only")
    if hints.get("destructiveHint") is True:
        return Decision("ask", "the tool is destructive")
    if is_read_only:
        return Decision("ask", "the tool is read-only for some arguments only (read_only_when)")
    if hints.get("readOnlyHint") is False:
        return Decision("ask", "the tool is not read-only")
    return Decision("ask", "what the tool may do is unknown")
