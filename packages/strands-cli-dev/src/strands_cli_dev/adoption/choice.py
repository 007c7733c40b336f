"""Choose among the tools that were found: by name, by number or all, with aliases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from strands_cli.api import Code, Finding, InvalidInput, Manifest, suggest
from strands_cli_dev.adoption.candidates import Candidate, Survey, word_of

NOT_ADOPTABLE = Code(
    "not-adoptable",
    "A named tool is not in the distribution, or cannot be adopted as it is.",
    "Correct the name, or do what the message says.",
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A tool that a person named: `NAME`, `ENTRY` or a number, with or without `=ALIAS`."""

    named: str
    alias: str | None

    @classmethod
    def parse(cls, text: str) -> Choice:
        """Read `NAME` or `NAME=ALIAS`."""
        named, equals, alias = text.partition("=")
        return cls(named.strip(), alias.strip() if equals else None)


def choose(
    survey: Survey,
    texts: Sequence[str],
    taken_names: Iterable[str] = (),
    adopted_entries: Mapping[str, str] | None = None,
) -> list[Candidate]:
    """Return the candidates that a person named, under their aliases.

    Args:
        survey: The candidates.
        texts: Names, entries or numbers (from 1), each with or without `=ALIAS`.
        taken_names: Names of other tools.
        adopted_entries: Name -> entry of adopted tools of this distribution that stay so.

    Raises:
        InvalidInput: One is unknown, ambiguous or cannot be adopted, or an alias cannot be used; all are reported.
    """
    findings: list[Finding] = []
    chosen: dict[str, Candidate] = {}
    for text in texts:
        choice = Choice.parse(text)
        candidates = _matching(survey, choice.named)
        fault = _fault(survey, choice, candidates)
        if fault is not None:
            findings.append(fault)
            continue
        candidate = replace(candidates[0], name=choice.alias) if choice.alias else candidates[0]
        chosen[candidate.entry] = candidate
    staying = {name for name, entry in (adopted_entries or {}).items() if entry not in chosen}
    findings += _twice(chosen.values(), set(taken_names) | staying)
    if findings:
        raise InvalidInput("nothing was adopted", findings=findings)
    return list(chosen.values())


def _matching(survey: Survey, named: str) -> list[Candidate]:
    if named.isdecimal() and 0 < int(named) <= len(survey.adoptable):
        return [survey.adoptable[int(named) - 1]]
    by_entry = [candidate for candidate in survey.candidates if candidate.entry == named]
    by_name = [candidate for candidate in survey.candidates if candidate.name == named]
    called = [candidate for candidate in survey.candidates if candidate.called == named]
    return by_entry or (called if len(called) > 1 else by_name or called)


def _fault(survey: Survey, choice: Choice, candidates: Sequence[Candidate]) -> Finding | None:
    distribution = survey.tools.distribution
    if not candidates:
        names = [candidate.name for candidate in survey.candidates]
        fix = suggest(choice.named, names, f"it has: {', '.join(names[:20])}", form="--tool {}")
        return Finding(NOT_ADOPTABLE, f"'{distribution}' has no tool '{choice.named}'", None, fix)
    if len(candidates) > 1:
        entries = " or ".join(f"--tool {candidate.entry}" for candidate in candidates[:5])
        message = f"'{distribution}' has {len(candidates)} tools named '{choice.named}'"
        return Finding(NOT_ADOPTABLE, message, None, f"name one by its entry: {entries}")
    if candidates[0].problem is not None:
        fix = None
        if "--import" in candidates[0].problem:
            fix = f"strands plugin adopt {distribution} --tool {choice.named} --import"
        message = f"'{choice.named}' of '{distribution}' cannot be adopted: {candidates[0].problem}"
        return Finding(NOT_ADOPTABLE, message, None, fix)
    if choice.alias is not None and not Manifest.TOOL_NAME.fullmatch(choice.alias):
        message = f"{choice.alias[:80]!r} is not a tool name (lower-case letters, digits and '_')"
        return Finding(NOT_ADOPTABLE, message, None, f"--tool {choice.named}={word_of(choice.alias)}")
    return None


def _twice(chosen: Iterable[Candidate], taken_names: set[str]) -> list[Finding]:
    findings, first_of_name = [], dict[str, Candidate]()
    for candidate in chosen:
        other = first_of_name.setdefault(candidate.name, candidate)
        if other is not candidate or candidate.name in taken_names:
            owner = "another tool" if candidate.name in taken_names else other.entry
            message = f"the name '{candidate.name}' for {candidate.entry} is the one of {owner}"
            findings.append(Finding(NOT_ADOPTABLE, message, None, f"--tool {candidate.entry}=ALIAS"))
    return findings
