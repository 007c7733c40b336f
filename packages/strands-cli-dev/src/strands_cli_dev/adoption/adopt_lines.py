"""The lines and the JSON with which `plugin adopt` shows the tools that it found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from strands_cli.api import counted, describe_permissions, printable
from strands_cli_dev.adoption.candidates import Candidate, Survey
from strands_cli_dev.adoption.choice import Choice

_WIDTH = 100
_MOST = 12
_MOST_LEFT = 5
_MOST_REASONS = 6


def heading(survey: Survey) -> Iterator[str]:
    """Yield the line over the list of tools."""
    tools, modules = counted(len(survey.candidates), "tool"), counted(len(survey.tools.files), "module")
    how = (
        "its code was imported for some"
        if any(candidate.imported for candidate in survey.candidates)
        else "nothing was imported"
    )
    yield f"{survey.tools.distribution} {survey.tools.version or '?'}: {tools} in {modules}; {how}"


def candidate_lines(survey: Survey, denied: Mapping[str, str], named: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of each tool: those that can be adopted with a number, then the others with the reason.

    Args:
        survey: The tools.
        denied: The rules of policy that deny some, by entry.
        named: The tools that a person asked for; with it only these are shown.
    """
    words = {Choice.parse(text).named for text in named}
    shown_candidates = [
        candidate
        for candidate in survey.candidates
        if not words or words & {candidate.name, candidate.called, candidate.entry}
    ]
    for number, adoptable in enumerate(survey.adoptable, 1):
        if adoptable not in shown_candidates:
            continue
        alias = "" if adoptable.name == adoptable.called else f" (its own name: {_line(adoptable.called)})"
        yield f"  {number}. {adoptable.name}{alias}: {_line(adoptable.tool.description or _unnamed(adoptable))}"
        for name, schema in _inputs(adoptable):
            yield f"     {name}: {_line(_input(schema))}"
        if adoptable.is_private:
            yield "     private: its name begins with '_'; only --tool takes it"
        record = adoptable.record(survey.tools)
        yield f"     safety: {_line(describe_permissions(record), 300)}{_asks(adoptable)}"
        if adoptable.entry in denied:
            yield f"     denied by policy: {_line(denied[adoptable.entry])}"
        yield from (f"     remark: {_line(remark, 200)}" for remark in adoptable.remarks)
    for adoptable in shown_candidates:
        if adoptable.problem is not None:
            yield f"  -  {_line(adoptable.called)} ({_line(adoptable.entry)}): {_line(adoptable.problem, 300)}"


def left_out_lines(survey: Survey, candidates: Sequence[Candidate], denied: Mapping[str, str]) -> Iterator[str]:
    """Yield how many tools were left out, for each reason with the first of them."""
    chosen_entries = {candidate.entry for candidate in candidates}
    left: dict[str, list[str]] = {}
    for candidate in survey.candidates:
        if candidate.entry not in chosen_entries:
            left.setdefault(_reason(candidate, denied), []).append(_line(candidate.called))
    if left:
        yield f"{sum(map(len, left.values()))} of {counted(len(survey.candidates), 'tool')} left out:"
    reasons = sorted(left.items(), key=lambda item: -len(item[1]))
    for reason, names in reasons[:_MOST_REASONS]:
        yield f"  {len(names)} {reason}: {first_of(names, _MOST_LEFT)}"
    if others := [name for _, names in reasons[_MOST_REASONS:] for name in names]:
        yield f"  {len(others)} for other reasons: {first_of(others, _MOST_LEFT)}"


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first names, joined by commas, and the number of the others."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def _reason(candidate: Candidate, denied: Mapping[str, str]) -> str:
    problem = candidate.problem or ""
    if "--import" in problem:
        return "not shown by the source (try --import)"
    if "its code must make it" in problem:
        return "made by code with arguments (write a small plugin: strands plugin new)"
    if problem:
        return f"not usable ({_line(problem, 60)})"
    if candidate.entry in denied:
        return "denied by policy"
    return "private (name one to take it: --tool NAME)" if candidate.is_private else "not chosen"


def _unnamed(candidate: Candidate) -> str:
    return counted(len(candidate.tool.members), "tool") if candidate.tool.members else "no description"


def _asks(candidate: Candidate) -> str:
    return "" if candidate.tool.annotations.get("readOnlyHint") is True else "; every call asks"


def _inputs(candidate: Candidate) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the tools of a candidate, each with its input schema; `input` for a single one."""
    if candidate.tool.members:
        return [(f"{member.name}: input", member.input_schema or {}) for member in candidate.tool.members[:_MOST]]
    return [("input", candidate.tool.input_schema or {})]


def _input(schema: Mapping[str, Any]) -> str:
    """Return the properties as `action (string), limit (integer, optional)`."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return "none"
    required = schema.get("required") or ()
    parts = [
        f"{name} ({_type(value)}{'' if name in required else ', optional'})"
        for name, value in list(properties.items())[:_MOST]
    ]
    more = len(properties) - len(parts)
    return ", ".join(parts) + (f" and {more} more" if more > 0 else "")


def _type(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    kind = schema.get("type")
    if isinstance(schema.get("enum"), list):
        return " | ".join(map(str, schema["enum"][:6]))
    return kind if isinstance(kind, str) else "any"


def as_json_object(candidate: Candidate, denied: Mapping[str, str]) -> dict[str, Any]:
    """Return a candidate as `plugin adopt --json` has it."""
    return {
        "name": candidate.name,
        "called": candidate.called,
        "entry": candidate.entry,
        "file": candidate.tool.file or None,
        "line": candidate.tool.line,
        "imported": candidate.imported,
        "problem": candidate.problem
        or (f"policy denies it: {denied[candidate.entry]}" if candidate.entry in denied else None),
        "remarks": list(candidate.remarks),
        "definition": candidate.tool.definition,
    }


def _line(text: str, width: int = _WIDTH) -> str:
    plain = printable(" ".join(text.split()))
    return plain if len(plain) <= width else plain[: width - 1] + "…"
