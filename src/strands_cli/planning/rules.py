"""The rules in force for one run: what the command line grants, what the workflow forbids itself, what none matches."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

from strands_cli.catalog import Catalog
from strands_cli.errors import Finding, Where, did_you_mean
from strands_cli.planning.options import RunOptions
from strands_cli.planning.plan import PlannedAgent, PlannedTool
from strands_cli.policy import Effect, Rule
from strands_cli.spec.document import Document
from strands_cli.spec.model import WorkflowSpec


def rules_of(spec: WorkflowSpec, options: RunOptions, document: Document) -> tuple[Rule, ...]:
    """Return every rule in force: the command line's grants and what the workflow forbids itself."""
    rules = [Rule("allow", name, "command line", f"--allow {name}") for name in options.allow]
    if options.yes:
        rules.append(Rule("allow", "*", "command line", "--yes"))
    permissions = spec.security.permissions
    written: tuple[tuple[Effect, tuple[str, ...]], ...] = (("ask", permissions.ask), ("deny", permissions.deny))
    for effect, names in written:
        for index, name in enumerate(names):
            where = document.where(f"/security/permissions/{effect}/{index}")
            rules.append(Rule(effect, name, "workflow", f"security.permissions.{effect} ({_place(where)})"))
    if (allowed := spec.security.guardrails.allow_tools) is not None:
        where = document.where("/security/guardrails/allow_tools")
        origin = f"security.guardrails.allow_tools ({_place(where)})"
        rules.append(Rule("deny", "*", "workflow", origin, unless=tuple(allowed)))
    return tuple(rules)


def _place(where: Where) -> str:
    return f"{where.file}:{where.line}"


def check_rules(
    rules: Sequence[Rule],
    agents: Mapping[str, PlannedAgent],
    overrides: Mapping[str, tuple[PlannedTool, ...]],
    calls: Mapping[str, PlannedTool],
    catalog: Catalog,
) -> list[Finding]:
    """Return a warning for each name in the rules that no tool answers to.

    A misspelt `deny` protects nobody. What an author forbids need not be in the workflow, so installed tools count
    too; what the command line allows must be.
    """
    planned = [*(tool for agent in agents.values() for tool in agent.tools), *calls.values()]
    planned += [tool for group in overrides.values() for tool in group]
    used = {name for tool in planned for name in tool.names}
    installed = {name for ref in catalog.allowed_refs for name in (ref, ref.removeprefix("native:"))}
    findings = []
    for rule in rules:
        names = used if rule.level == "command line" else used | installed
        findings += [
            _unmatched(word, rule, names) for word in rule.unless or (rule.tools,) if not _matches(word, names)
        ]
    return findings


def _matches(word: str, names: set[str]) -> bool:
    # A rule on arguments has a finding of its own.
    return word == "*" or "(" in word or any(fnmatch.fnmatchcase(name, word) for name in names)


def _unmatched(word: str, rule: Rule, names: set[str]) -> Finding:
    guess = did_you_mean(word, names)
    fix = f"did you mean '{guess}'?" if guess else "see the names: strands plan"
    if rule.level == "command line":
        return Finding("unmatched-rule", f"{rule.origin} speaks of no tool of this workflow", None, fix, "warning")
    return Finding("unmatched-rule", f"{rule.origin}: no tool is called '{word}'", None, fix, "warning")
