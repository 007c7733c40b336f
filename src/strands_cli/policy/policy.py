"""`Policy`: the content of all policy files of a command."""

from __future__ import annotations

from dataclasses import replace

from strands_cli.errors import Finding
from strands_cli.policy.rules.rule import Level, Rule
from strands_cli.policy.tool_names import normalised
from strands_cli.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SwitchedOn:
    """A setting of a policy file that is not a rule, and its place: a hook plugin's distribution, or `locked`.

    `may_allow` is whether a hook plugin may also allow what no rule forbids. `required` is whether nothing runs where
    it is not installed; a plugin that is not required holds in the environments that have it.
    """

    word: str
    level: Level
    origin: str
    may_allow: bool = False
    required: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of all files, the hook plugins they enable, and whether a lock is required.

    `files` are the paths of these files with their levels; `findings` are warnings about them.
    """

    rules: tuple[Rule, ...] = ()
    hooks: tuple[SwitchedOn, ...] = ()
    locked: SwitchedOn | None = None
    files: tuple[tuple[Level, str], ...] = ()
    findings: tuple[Finding, ...] = ()

    def lock_required_by(self, *, asked: bool) -> str | None:
        """Return the place that requires a lock: the option (`asked`) or a policy file; None if nothing does."""
        if asked:
            return "--locked"
        return self.locked.origin if self.locked else None


def joined(*policies: Policy) -> Policy:
    """Return several policies as one; the first that names a hook plugin says what it may, and any can require it."""
    hooks = {normalised(hook.word): hook for policy in reversed(policies) for hook in policy.hooks}
    required = {normalised(hook.word) for policy in policies for hook in policy.hooks if hook.required}
    return Policy(
        rules=tuple(rule for policy in policies for rule in policy.rules),
        hooks=tuple(replace(hook, required=name in required) for name, hook in hooks.items()),
        locked=next((policy.locked for policy in policies if policy.locked), None),
        files=tuple(file for policy in policies for file in policy.files),
        findings=tuple(finding for policy in policies for finding in policy.findings),
    )
