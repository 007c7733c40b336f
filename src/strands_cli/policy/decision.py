"""The pure function `decide(rules, request) -> Decision`: allow, ask or deny, with the text of the deciding rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Finding
from strands_cli.policy.rule import LEVELS, Effect, Level, Request, Rule
from strands_cli.policy.tool_claims import names_custom, normalised
from strands_cli.quick_dataclass import dataclass

if TYPE_CHECKING:
    from strands_cli.policy.standing_budget import StandingBudget

# `PermissionQuestion`: an undecided call, as the program that decides it sees it.


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
        diff: The change by the call in an existing text file, as it was when the question was asked; else empty.
        unseen: In words the content that the call replaces without a diff, a large file or one without text; else
            empty.
        grant: The scope of an answer for all calls of the tool in the run: this tool with this configuration; empty
            where each call is asked about.
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


# `Policy`: the content of all policy files of a command.


@dataclass(frozen=True, slots=True)
class SwitchedOn:
    """A setting of a policy file besides its rules, and its place: a hook plugin's distribution, or `locked`.

    `may_allow` is whether a hook plugin may also allow calls that no rule forbids. `required` is whether nothing runs
    where it is not installed; an optional plugin holds in the environments with it.
    """

    word: str
    level: Level
    origin: str
    may_allow: bool = False
    required: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of all files, the hook plugins they enable, and whether a lock is required.

    `files` are the paths of these files with their levels; `findings` are warnings about them; `budgets` are limits
    over time, all of which hold.
    """

    rules: tuple[Rule, ...] = ()
    hooks: tuple[SwitchedOn, ...] = ()
    locked: SwitchedOn | None = None
    files: tuple[tuple[Level, str], ...] = ()
    findings: tuple[Finding, ...] = ()
    budgets: tuple[StandingBudget, ...] = ()

    def lock_required_by(self, *, is_asked: bool) -> str | None:
        """Return the place that requires a lock: the option (`is_asked`) or a policy file; None if nothing does."""
        if is_asked:
            return "--locked"
        return self.locked.origin if self.locked else None


def joined(*policies: Policy) -> Policy:
    """Return several policies as one; the first with a hook plugin decides its rights, and any can require it."""
    hooks = {normalised(hook.word): hook for policy in reversed(policies) for hook in policy.hooks}
    required = {normalised(hook.word) for policy in policies for hook in policy.hooks if hook.required}
    return Policy(
        rules=tuple(rule for policy in policies for rule in policy.rules),
        hooks=tuple(replace(hook, required=name in required) for name, hook in hooks.items()),
        locked=next((policy.locked for policy in policies if policy.locked), None),
        files=tuple(file for policy in policies for file in policy.files),
        findings=tuple(finding for policy in policies for finding in policy.findings),
        budgets=tuple(budget for policy in policies for budget in policy.budgets),
    )


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
        """Whether only the tool's own declaration asks, which a permission may answer."""
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
