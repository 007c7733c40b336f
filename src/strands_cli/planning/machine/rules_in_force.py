"""The rules in force for one run: of files, the command line and the workflow; and those that match nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.distributions.entry_points import normalise
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import MOST_ALIKE, Code, Finding, UsageError, Where, suggest
from strands_cli.planning.plan_values import PlannedTool
from strands_cli.planning.planned_tool import McpTool
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.decision import Policy
from strands_cli.policy.rule import Effect, PatternError, Rule, make_rule
from strands_cli.policy.tool_claims import is_bare, meant_distribution, named
from strands_cli.workflow.findings import BAD_VALUE
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.steps import McpServer
from strands_cli.yaml_files.document import Document

# Rules of policy files that fit nothing installed, or allow less than they seem to.


UNMATCHED_RULE = Code(
    "unmatched-rule",
    "A rule names a tool, a distribution, or an argument that does not exist.",
    "Correct the name.",
)
BARE_TOOL_NAME = Code(
    "bare-tool-name",
    "A policy file allows a tool, or exempts it from a deny, by a name without its distribution; it "
    "means the tool of `strands-tool-NAME` only, and a glob means none.",
    "Write DISTRIBUTION/NAME.",
)

# After so many warnings no other rule is looked at.
MOST_WARNINGS = 100

Installed = Sequence[tuple[ToolRecord, tuple[str, ...]]]

_NAMES_ELSEWHERE = frozenset({"patternProperties", "oneOf", "anyOf", "allOf", "$ref"})
_ELSEWHERE = ("mcp:", "late:", "agent:", "workflow:")


def check_file_rules(rules: Iterable[Rule], catalog: Catalog, used: Iterable[str] = ()) -> list[Finding]:
    """Return warnings for rules of policy files: names that nothing installed has, and names without a distribution.

    Args:
        rules: The rules; those of the workflow and the command line are left out.
        used: The names that a workflow gives to tools.
    """
    installed = [(record, _names(record)) for record in _records(catalog)]
    tool_names = {*used, *(name for _, names in installed for name in names)}
    findings: list[Finding] = []
    for rule in rules:
        if rule.level in ("managed", "user", "project"):
            findings += _check_words(rule, installed, tool_names)
            findings += _check_distributions(rule, catalog)
            takers = [arguments_of(record) for record, names in installed if named(rule.tools, names)]
            findings += check_arguments(rule, takers, where_of(rule))
            if len(findings) > MOST_WARNINGS:
                message = "there may be more such warnings, which are not looked for"
                findings.append(Finding(UNMATCHED_RULE, message, where_of(rule), "correct the first ones", "warning"))
                break
    return list(dict.fromkeys(findings))


def where_of(rule: Rule) -> Where:
    """Return the file and line of a rule of a policy file."""
    file, _, line = rule.origin.rpartition(":")
    return Where(file, int(line)) if line.isdecimal() else Where(rule.origin)


def check_arguments(
    rule: Rule, takers: Sequence[tuple[str, ...] | None], where: Where | None = None
) -> Iterator[Finding]:
    """Yield a warning for each argument of a rule that none of its tools takes.

    Args:
        takers: The arguments of each tool that it names; None for one that may take others.
    """
    argument_names = sorted({name for names in takers if names is not None for name in names})
    for path, _ in rule.arguments if takers and None not in takers else ():
        if not any(path == name or path.startswith(f"{name}.") for name in argument_names):
            fix = suggest(path.partition(".")[0], argument_names, f"it takes {', '.join(argument_names)}")
            origin = "" if where else f"{rule.origin}: "
            message = f"{origin}{rule.tools} takes no argument '{path}'"
            yield Finding(UNMATCHED_RULE, message, where, fix, "warning")


def arguments_of(record: ToolRecord) -> tuple[str, ...] | None:
    """Return the names of a tool's arguments; None where it may take others than its schema lists."""
    schema = record.input_schema or {}
    properties = schema.get("properties")
    if not properties or not isinstance(properties, Mapping) or schema.get("additionalProperties"):
        return None
    return None if _NAMES_ELSEWHERE & set(schema) else tuple(properties)


def require_one_distribution(rule: Rule, catalog: Catalog) -> None:
    """Check that a word of the command line without a distribution fits tools of only one installed distribution.

    Raises:
        UsageError: It fits those of several, so that the meant one is open.
    """
    if not is_bare(rule.tools):
        return
    fitting = [record for record in _records(catalog) if named(rule.tools, _names(record))]
    owners = sorted({record.distribution for record in fitting})
    if len(owners) > 1:
        word = rule.tools.removeprefix("native:")
        message = f"{rule.origin} fits tools of {len(owners)} distributions: {', '.join(owners)}"
        raise UsageError(message, fix=f"name one: --allow '{owners[0]}/{word}'")


def _check_words(rule: Rule, installed: Installed, tool_names: set[str]) -> Iterator[Finding]:
    admitting = rule.effect == "allow" and not rule.distribution
    words = [(rule.tools, admitting), *((word, True) for word in rule.unless)]
    for word, admits in words:
        fitting = [record for record, names in installed if named(word, names)]
        if word == "*" or word.startswith(_ELSEWHERE) or _is_python(word, installed):
            continue
        if not fitting and not named(word, tuple(tool_names)):
            fix = suggest(word, tool_names, "see the names: strands list-tools")
            yield Finding(UNMATCHED_RULE, f"no installed tool is called '{word}'", where_of(rule), fix, "warning")
        elif (
            fitting
            and admits
            and is_bare(word)
            and not any(record.distribution == meant_distribution(word) for record in fitting)
        ):
            named_here = word.removeprefix("native:") if word in fitting[0].family_names else None
            qualified = list(
                dict.fromkeys(f"{record.distribution}/{named_here or record.ref_name}" for record in fitting)
            )
            message = f"'{word}' names no distribution, and so admits no tool"
            yield Finding(BARE_TOOL_NAME, message, where_of(rule), f"write {', '.join(qualified[:4])}", "warning")


def _check_distributions(rule: Rule, catalog: Catalog) -> Iterator[Finding]:
    distribution_names = list(catalog.scan.records)
    for name in rule.distribution:
        if "*" not in name and normalise(name) not in distribution_names:
            fix = suggest(normalise(name), distribution_names, "see the names: strands plugin list")
            yield Finding(UNMATCHED_RULE, f"no distribution '{name}' is installed", where_of(rule), fix, "warning")


def _is_python(word: str, installed: Installed) -> bool:
    """Return whether a word names custom Python, of which nothing is known here."""
    if word.startswith("native:") or "/" in word or any(f"native:{word}" in names for _, names in installed):
        return False
    top = word.partition(".")[0]
    return ":" in word or ("." in word and top not in {record.name for record, _ in installed})


def _records(catalog: Catalog) -> Iterator[ToolRecord]:
    for record in catalog.tools:
        yield record
        yield from record.members or ()


def _names(record: ToolRecord) -> tuple[str, ...]:
    qualified = f"{record.distribution}/{record.ref_name}"
    names = (record.name, record.ref_name, f"native:{record.ref_name}", qualified, f"native:{qualified}")
    return (*names, *record.family_names)


NO_NETWORK = "it reaches the network, or does not say that it leaves it alone"


def rules_of(
    spec: WorkflowSpec, options: RunRequest, document: Document, catalog: Catalog, policy: Policy | None = None
) -> tuple[Rule, ...]:
    """Return every rule in force: of the policy files, of the command line, and of the workflow against itself.

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

    Unknown capabilities fit a rule that denies, so `deny_network` also refuses tools that declare nothing of the
    network.
    """

    def origin(name: str) -> str:
        return f"security.guardrails.{name} ({_file_and_line(document.where(f'/security/guardrails/{name}'))})"

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
    """Yield each permission of the workflow with its place: as a rule, or the finding about an invalid pattern."""
    permissions = spec.security.permissions
    written: tuple[tuple[Effect, tuple[str, ...]], ...] = (("ask", permissions.ask), ("deny", permissions.deny))
    for effect, patterns in written:
        for index, pattern in enumerate(patterns):
            where = document.where(f"/security/permissions/{effect}/{index}")
            try:
                yield (
                    make_rule(effect, pattern, "workflow", f"security.permissions.{effect} ({_file_and_line(where)})"),
                    where,
                )
            except PatternError as error:
                fix = "write a tool's name, a glob, or name(argument=glob)"
                yield Finding(BAD_VALUE, f"the permission {pattern!r} {error}", where, fix), where


def _file_and_line(where: Where) -> str:
    return f"{where.file}:{where.line}"


def check_rules(
    spec: WorkflowSpec, document: Document, rules: Sequence[Rule], planned: Iterable[PlannedTool], catalog: Catalog
) -> list[Finding]:
    """Return errors for permissions with invalid patterns, and warnings for rules that match no tool or argument.

    A misspelt `deny` has no effect. Tools that an author or a policy file forbids need not be in the workflow, so
    installed tools count too; those that the command line allows must be.
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

    tool_names = used | installed
    permissions = list(_permissions_of(spec, document))
    words = [(rule.tools, where) for rule, where in permissions if isinstance(rule, Rule)]
    words += _allowed_words(spec, document)
    unmatched = (_unmatched(word, tool_names, where) for word, where in words if is_unmatched(word, tool_names))
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


def _check_arguments(tools: Sequence[PlannedTool], places: Mapping[Rule, Where]) -> Iterator[Finding]:
    """Yield a warning for each argument in a rule of any level that none of the tools it names takes."""
    spoken_of: dict[Rule, list[tuple[str, ...] | None]] = {}
    for tool in tools:
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


def _speaks_of_none(rule: Rule, names: set[str], tools: Sequence[PlannedTool]) -> Finding:
    own = [tool.own_name for tool in tools if rule.tools in tool.aliases()]
    names_of = "see the names: strands plan FILE"
    fix = f"name the tool itself: --allow {own[0]}" if own else suggest(rule.tools, _alike(rule.tools, names), names_of)
    return Finding(UNMATCHED_RULE, f"{rule.origin} speaks of no tool of this workflow", None, fix, "warning")


def _alike(word: str, names: set[str]) -> set[str]:
    """Return the names that a word may mean: one of custom Python means nothing outside of its module."""
    head, colon, _ = word.partition(":")
    if not colon or head in ("native", "mcp", "agent"):
        return names
    return {name for name in names if name.partition(":")[0] == head}
