"""The rules in force for one run: of files, the command line and the workflow; and those that match nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from strands_cli.catalog.catalog import Catalog
from strands_cli.errors import MOST_ALIKE, Finding, UsageError, Where, suggest
from strands_cli.planning.machine.file_rule_checks import (
    UNMATCHED_RULE,
    arguments_of,
    check_arguments,
    check_file_rules,
    require_one_distribution,
)
from strands_cli.planning.plan.plan_values import PlannedTool
from strands_cli.planning.planned_tools.planned_tool import McpTool
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.policy import Policy
from strands_cli.policy.rules.rule import Effect, Rule
from strands_cli.policy.rules.tool_patterns import PatternError, make_rule
from strands_cli.policy.tool_names import named
from strands_cli.workflow.findings import BAD_VALUE
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.steps.tool_entries import McpServer
from strands_cli.yaml_files.document import Document

NO_NETWORK = "it reaches the network, or does not say that it leaves it alone"


def rules_of(
    spec: WorkflowSpec, options: RunRequest, document: Document, catalog: Catalog, policy: Policy | None = None
) -> tuple[Rule, ...]:
    """Return every rule in force: those of the policy files, the command line's, what the workflow forbids itself.

    Raises:
        UsageError: An `--allow` is not a pattern, or fits tools of several distributions.
    """
    typed = typed_rules(options.allow, yes=options.yes)
    for rule in typed:
        require_one_distribution(rule, catalog)
    rules = [*(policy.rules if policy else ()), *typed]
    rules += [rule for rule, _ in _permissions_of(spec, document) if isinstance(rule, Rule)]
    return (*rules, *_guardrails(spec, document))


def _guardrails(spec: WorkflowSpec, document: Document) -> Iterator[Rule]:
    """Yield the rules that the guardrails mean; they cover a tool that does not declare that it avoids the network.

    What is not known fits a rule that denies, so `deny_network` also refuses tools that say nothing of the network.
    """

    def origin(name: str) -> str:
        return f"security.guardrails.{name} ({_place(document.where(f'/security/guardrails/{name}'))})"

    guardrails = spec.security.guardrails
    if guardrails.allow_tools is not None:
        yield Rule("deny", "*", "workflow", origin("allow_tools"), unless=tuple(guardrails.allow_tools))
    if guardrails.deny_network:
        yield Rule("deny", "*", "workflow", origin("deny_network"), capabilities=("network",), reason=NO_NETWORK)


def typed_rules(allow: Iterable[str], *, yes: bool) -> list[Rule]:
    """Return the rules that the command line grants.

    Raises:
        UsageError: an `--allow` is not a pattern.
    """
    try:
        rules = [make_rule("allow", pattern, "command line", f"--allow {pattern}") for pattern in allow]
    except PatternError as error:
        raise UsageError(f"an --allow {error}", fix="write --allow NAME, or --allow 'NAME(argument=glob)'") from error
    return [*rules, Rule("allow", "*", "command line", "--yes")] if yes else rules


def _permissions_of(spec: WorkflowSpec, document: Document) -> Iterator[tuple[Rule | Finding, Where]]:
    """Yield each permission of the workflow with its place: as a rule, or the finding about what is not a pattern."""
    permissions = spec.security.permissions
    written: tuple[tuple[Effect, tuple[str, ...]], ...] = (("ask", permissions.ask), ("deny", permissions.deny))
    for effect, patterns in written:
        for index, pattern in enumerate(patterns):
            where = document.where(f"/security/permissions/{effect}/{index}")
            try:
                yield make_rule(effect, pattern, "workflow", f"security.permissions.{effect} ({_place(where)})"), where
            except PatternError as error:
                fix = "write a tool's name, a glob, or name(argument=glob)"
                yield Finding(BAD_VALUE, f"the permission {pattern!r} {error}", where, fix), where


def _place(where: Where) -> str:
    return f"{where.file}:{where.line}"


def check_rules(
    spec: WorkflowSpec, document: Document, rules: Sequence[Rule], planned: Iterable[PlannedTool], catalog: Catalog
) -> list[Finding]:
    """Return errors for permissions that are not patterns, and warnings for rules that match no tool or argument.

    A misspelt `deny` has no effect. What an author or a policy file forbids need not be in the workflow, so installed
    tools count too; what the command line allows must be.
    """
    planned = list(planned)
    bare = {ref.removeprefix("native:") for ref in spec.named_tools() if not ref.endswith(".*")}
    named = {*spec.named_tools(), *bare}  # the name of a family is not known without its prefix
    used = {name for tool in planned for name in tool.all_names()} | named
    allowed = {name for tool in planned for name in (*tool.names(), *tool.typed_names)}
    unknown = [tool.server for tool in planned if isinstance(tool, McpTool) and tool.member is None]
    installed = {name for ref in catalog.allowed_refs for name in (ref, ref.removeprefix("native:"))}
    installed |= {name for record in catalog.tools for name in record.family_names}

    def is_unmatched(word: str, names: set[str]) -> bool:
        return not _matches(word, names) and not any(_may_be_of(server, word) for server in unknown)

    known = used | installed
    permissions = list(_permissions_of(spec, document))
    words = [(rule.tools, where) for rule, where in permissions if isinstance(rule, Rule)]
    words += _allowed_words(spec, document)
    unmatched = (_unmatched(word, known, where) for word, where in words if is_unmatched(word, known))
    places = {rule: where for rule, where in permissions if isinstance(rule, Rule)}
    typed = [rule for rule in rules if rule.level == "command line"]
    return [
        *(finding for finding, _ in permissions if isinstance(finding, Finding)),
        *(_speaks_of_none(rule, allowed, planned) for rule in typed if is_unmatched(rule.tools, allowed)),
        *islice(unmatched, MOST_ALIKE),
        *_check_arguments(planned, places),
        *check_file_rules(rules, catalog, used),
    ]


def _allowed_words(spec: WorkflowSpec, document: Document) -> Iterator[tuple[str, Where]]:
    """Yield each word of `allow_tools` with its place."""
    for index, word in enumerate(spec.security.guardrails.allow_tools or ()):
        yield word, document.where(f"/security/guardrails/allow_tools/{index}")


def _check_arguments(planned: Sequence[PlannedTool], places: Mapping[Rule, Where]) -> Iterator[Finding]:
    """Yield a warning for each argument in a rule of any level that none of the tools it names takes."""
    spoken_of: dict[Rule, list[tuple[str, ...] | None]] = {}
    for tool in planned:
        for rule in tool.conditional:
            if rule.level in ("workflow", "command line"):
                spoken_of.setdefault(rule, []).append(arguments_of(tool.record))
    for rule, takers in spoken_of.items():
        yield from check_arguments(rule, takers, places.get(rule))


def _matches(word: str, names: set[str]) -> bool:
    return word == "*" or word.startswith(("workflow:", "late:")) or named(word, tuple(names))


def _may_be_of(server: McpServer, word: str) -> bool:
    """Return whether a word may mean a tool of a server; which it has shows when it is started."""
    if ":" in word:
        return word.startswith(f"mcp:{server.id}/")
    return word.startswith(server.prefix or "")


def _unmatched(word: str, names: set[str], where: Where) -> Finding:
    fix = suggest(word, _alike(word, names), "see the names: strands list-tools")
    return Finding(UNMATCHED_RULE, f"no tool is called '{word}'", where, fix, "warning")


def _speaks_of_none(rule: Rule, names: set[str], planned: Sequence[PlannedTool]) -> Finding:
    own = [tool.own_name for tool in planned if rule.tools in tool.aliases()]
    names_of = "see the names: strands plan FILE"
    fix = f"name the tool itself: --allow {own[0]}" if own else suggest(rule.tools, _alike(rule.tools, names), names_of)
    return Finding(UNMATCHED_RULE, f"{rule.origin} speaks of no tool of this workflow", None, fix, "warning")


def _alike(word: str, names: set[str]) -> set[str]:
    """Return the names that a word may mean: one of custom Python means nothing outside of its module."""
    head, colon, _ = word.partition(":")
    if not colon or head in ("native", "mcp", "agent"):
        return names
    return {name for name in names if name.partition(":")[0] == head}
