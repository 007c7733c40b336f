"""Rules of policy files that fit nothing installed, or allow less than they seem to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.distributions.entry_points import normalise
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import Code, Finding, UsageError, Where, suggest
from strands_cli.policy.rules.rule import Rule
from strands_cli.policy.tool_names import is_bare, meant_distribution, named

UNMATCHED_RULE = Code(
    "unmatched-rule",
    "A rule names a tool, a distribution, or an argument of a tool, that does not exist, so it has no effect.",
    "Correct the name.",
)
BARE_TOOL_NAME = Code(
    "bare-tool-name",
    "A policy file allows a tool, or exempts it from a deny, by a name without its distribution. Any distribution can "
    "have a tool of that name, so it means the one that is called after the tool (`strands-tool-NAME`), a glob none.",
    "Write the distribution too: DISTRIBUTION/NAME",
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
    known = {*used, *(name for _, names in installed for name in names)}
    findings: list[Finding] = []
    for rule in rules:
        if rule.level in ("managed", "user", "project"):
            findings += _check_words(rule, installed, known)
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
    known = sorted({name for names in takers if names is not None for name in names})
    for path, _ in rule.arguments if takers and None not in takers else ():
        if not any(path == name or path.startswith(f"{name}.") for name in known):
            fix = suggest(path.partition(".")[0], known, f"it takes {', '.join(known)}")
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
        UsageError: It fits those of several, so that it does not say which is meant.
    """
    if not is_bare(rule.tools):
        return
    fitting = [record for record in _records(catalog) if named(rule.tools, _names(record))]
    owners = sorted({record.distribution for record in fitting})
    if len(owners) > 1:
        word = rule.tools.removeprefix("native:")
        message = f"{rule.origin} fits tools of {len(owners)} distributions: {', '.join(owners)}"
        raise UsageError(message, fix=f"name one: --allow '{owners[0]}/{word}'")


def _check_words(rule: Rule, installed: Installed, known: set[str]) -> Iterator[Finding]:
    admitting = rule.effect == "allow" and not rule.distribution
    words = [(rule.tools, admitting), *((word, True) for word in rule.unless)]
    for word, admits in words:
        fitting = [record for record, names in installed if named(word, names)]
        if word == "*" or word.startswith(_ELSEWHERE) or _is_python(word, installed):
            continue
        if not fitting and not named(word, tuple(known)):
            fix = suggest(word, known, "see the names: strands list-tools")
            yield Finding(UNMATCHED_RULE, f"no installed tool is called '{word}'", where_of(rule), fix, "warning")
        elif (
            fitting
            and admits
            and is_bare(word)
            and not any(one.distribution == meant_distribution(word) for one in fitting)
        ):
            named_here = word.removeprefix("native:") if word in fitting[0].family_names else None
            qualified = list(dict.fromkeys(f"{one.distribution}/{named_here or one.ref_name}" for one in fitting))
            message = f"'{word}' names no distribution, and so admits no tool"
            yield Finding(BARE_TOOL_NAME, message, where_of(rule), f"write {', '.join(qualified[:4])}", "warning")


def _check_distributions(rule: Rule, catalog: Catalog) -> Iterator[Finding]:
    known = list(catalog.seen.records)
    for name in rule.distribution:
        if "*" not in name and normalise(name) not in known:
            fix = suggest(normalise(name), known, "see the names: strands plugin list")
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
