"""`Policy`: what all policy files of a command say together."""

from __future__ import annotations

from dataclasses import dataclass

from strands_cli.errors import Finding
from strands_cli.policy.rule import Level, Rule


@dataclass(frozen=True, slots=True)
class SwitchedOn:
    """A word of a policy file that is no rule, and where it is written: a hook plugin's distribution, or `locked`."""

    word: str
    level: Level
    origin: str


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of all files, the hook plugins they switch on, and whether a lock is required.

    `files` are those that were read, by level; `findings` are warnings about them.
    """

    rules: tuple[Rule, ...] = ()
    hooks: tuple[SwitchedOn, ...] = ()
    locked: SwitchedOn | None = None
    files: tuple[tuple[Level, str], ...] = ()
    findings: tuple[Finding, ...] = ()

    def lock_required_by(self, *, asked: bool) -> str | None:
        """Return what asks for a lock, for people: the command line (`asked`), a file of these, or nobody."""
        if asked:
            return "--locked"
        return self.locked.origin if self.locked else None


def joined(*policies: Policy) -> Policy:
    """Return several policies as one; a hook or a lock that one of them wants is wanted."""
    return Policy(
        rules=tuple(rule for policy in policies for rule in policy.rules),
        hooks=tuple({hook.word: hook for policy in reversed(policies) for hook in policy.hooks}.values()),
        locked=next((policy.locked for policy in policies if policy.locked), None),
        files=tuple(file for policy in policies for file in policy.files),
        findings=tuple(finding for policy in policies for finding in policy.findings),
    )
