"""The rules in force for one run: of files, the command line and the workflow; and those that match nothing."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence

from strands_cli.catalog import Catalog
from strands_cli.errors import Finding, UsageError, Where, did_you_mean
from strands_cli.planning.options import RunOptions
from strands_cli.planning.plan import PlannedAgent, PlannedTool
from strands_cli.policy import Effect, PatternError, Policy, Rule, make_rule, parse_pattern
from strands_cli.spec.document import Document
from strands_cli.spec.model import WorkflowSpec


def rules_of(
    spec: WorkflowSpec, options: RunOptions, document: Document, policy: Policy | None = None
) -> tuple[Rule, ...]:
    """Return every rule in force: those of the policy files, the command line's, what the workflow forbids itself."""
    rules = [*(policy.rules if policy else ()), *typed_rules(options.allow, yes=options.yes)]
    for effect, index, pattern in _permissions(spec):
        where = document.where(f"/security/permissions/{effect}/{index}")
        origin = f"security.permissions.{effect} ({_place(where)})"
        try:
            rules.append(make_rule(effect, pattern, "workflow", origin))
        except PatternError:
            continue  # `check_patterns` says so, and nothing runs
    if (allowed := spec.security.guardrails.allow_tools) is not None:
        where = document.where("/security/guardrails/allow_tools")
        origin = f"security.guardrails.allow_tools ({_place(where)})"
        rules.append(Rule("deny", "*", "workflow", origin, unless=tuple(allowed)))
    return tuple(rules)


def typed_rules(allow: Iterable[str], *, yes: bool) -> list[Rule]:
    """Return the rules that the command line grants.

    Raises:
        UsageError: an `--allow` is no pattern.
    """
    try:
        rules = [make_rule("allow", pattern, "command line", f"--allow {pattern}") for pattern in allow]
    except PatternError as error:
        raise UsageError(f"an --allow {error}", fix="write --allow NAME, or --allow 'NAME(argument=glob)'") from error
    return [*rules, Rule("allow", "*", "command line", "--yes")] if yes else rules


def check_patterns(spec: WorkflowSpec, document: Document) -> list[Finding]:
    """Return a finding for each permission of the workflow that is no pattern."""
    findings = []
    for effect, index, pattern in _permissions(spec):
        try:
            parse_pattern(pattern)
        except PatternError as error:
            where = document.where(f"/security/permissions/{effect}/{index}")
            fix = "write a tool's name, a glob, or name(argument=glob)"
            findings.append(Finding("bad-value", f"the permission {pattern!r} {error}", where, fix))
    return findings


def _permissions(spec: WorkflowSpec) -> Iterator[tuple[Effect, int, str]]:
    permissions = spec.security.permissions
    written: tuple[tuple[Effect, tuple[str, ...]], ...] = (("ask", permissions.ask), ("deny", permissions.deny))
    for effect, patterns in written:
        for index, pattern in enumerate(patterns):
            yield effect, index, pattern


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
    too; what the command line allows must be. A policy file speaks of more than this workflow and this machine.
    """
    planned = [*(tool for agent in agents.values() for tool in agent.tools), *calls.values()]
    planned += [tool for group in overrides.values() for tool in group]
    used = {name for tool in planned for name in tool.names}
    installed = {name for ref in catalog.allowed_refs for name in (ref, ref.removeprefix("native:"))}
    findings = []
    for rule in (rule for rule in rules if rule.level in ("workflow", "command line")):
        names = used if rule.level == "command line" else used | installed
        findings += [
            _unmatched(word, rule, names) for word in rule.unless or (rule.tools,) if not _matches(word, names)
        ]
    return findings


def _matches(word: str, names: set[str]) -> bool:
    return word == "*" or any(fnmatch.fnmatchcase(name, word) for name in names)


def _unmatched(word: str, rule: Rule, names: set[str]) -> Finding:
    guess = did_you_mean(word, names)
    fix = f"did you mean '{guess}'?" if guess else "see the names: strands plan"
    if rule.level == "command line":
        return Finding("unmatched-rule", f"{rule.origin} speaks of no tool of this workflow", None, fix, "warning")
    return Finding("unmatched-rule", f"{rule.origin}: no tool is called '{word}'", None, fix, "warning")
