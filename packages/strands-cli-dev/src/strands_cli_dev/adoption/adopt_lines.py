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


def heading(found: Survey) -> Iterator[str]:
    """Yield the line over the list of tools."""
    tools, modules = counted(len(found.candidates), "tool"), counted(len(found.found.files), "module")
    how = (
        "its code was imported for some"
        if any(candidate.imported for candidate in found.candidates)
        else "nothing was imported"
    )
    yield f"{found.found.distribution} {found.found.version or '?'}: {tools} in {modules}; {how}"


def candidate_lines(found: Survey, denied: Mapping[str, str], named: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of each tool: those that can be adopted with a number, then the others with the reason.

    Args:
        found: The tools.
        denied: The rules of policy that deny some, by entry.
        named: The tools that a person asked for; with it only these are shown.
    """
    words = {Choice.parse(text).named for text in named}
    shown = [
        candidate
        for candidate in found.candidates
        if not words or words & {candidate.name, candidate.called, candidate.entry}
    ]
    for number, one in enumerate(found.adoptable, 1):
        if one not in shown:
            continue
        alias = "" if one.name == one.called else f" (its own name: {_line(one.called)})"
        yield f"  {number}. {one.name}{alias}: {_line(one.tool.description or _unnamed(one))}"
        for name, schema in _inputs(one):
            yield f"     {name}: {_line(_input(schema))}"
        if one.is_private:
            yield "     private: its name begins with '_'; only --tool takes it"
        record = one.record(found.found)
        yield f"     safety: {_line(describe_permissions(record), 300)}{_asks(one)}"
        if one.entry in denied:
            yield f"     denied by policy: {_line(denied[one.entry])}"
        yield from (f"     remark: {_line(remark, 200)}" for remark in one.remarks)
    for one in shown:
        if one.problem is not None:
            yield f"  -  {_line(one.called)} ({_line(one.entry)}): {_line(one.problem, 300)}"


def left_out_lines(found: Survey, chosen: Sequence[Candidate], denied: Mapping[str, str]) -> Iterator[str]:
    """Yield how many tools were left out, for each reason with the first of them."""
    taken = {candidate.entry for candidate in chosen}
    left: dict[str, list[str]] = {}
    for candidate in found.candidates:
        if candidate.entry not in taken:
            left.setdefault(_reason(candidate, denied), []).append(_line(candidate.called))
    if left:
        yield f"{sum(map(len, left.values()))} of {counted(len(found.candidates), 'tool')} left out:"
    reasons = sorted(left.items(), key=lambda item: -len(item[1]))
    for reason, names in reasons[:_MOST_REASONS]:
        yield f"  {len(names)} {reason}: {first_of(names, _MOST_LEFT)}"
    if others := [name for _, names in reasons[_MOST_REASONS:] for name in names]:
        yield f"  {len(others)} for other reasons: {first_of(others, _MOST_LEFT)}"


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first names, joined by commas, and the number of the others."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def _reason(one: Candidate, denied: Mapping[str, str]) -> str:
    problem = one.problem or ""
    if "--import" in problem:
        return "not shown by the source (try --import)"
    if "its code must make it" in problem:
        return "made by code with arguments (write a small plugin: strands plugin new)"
    if problem:
        return f"not usable ({_line(problem, 60)})"
    if one.entry in denied:
        return "denied by policy"
    return "private (name one to take it: --tool NAME)" if one.is_private else "not chosen"


def _unnamed(one: Candidate) -> str:
    return counted(len(one.tool.members), "tool") if one.tool.members else "no description"


def _asks(one: Candidate) -> str:
    return "" if one.tool.annotations.get("readOnlyHint") is True else "; every call asks"


def _inputs(one: Candidate) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the tools of a candidate, each with its input schema; `input` for a single one."""
    if one.tool.members:
        return [(f"{member.name}: input", member.input_schema or {}) for member in one.tool.members[:_MOST]]
    return [("input", one.tool.input_schema or {})]


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


def as_json_object(one: Candidate, denied: Mapping[str, str]) -> dict[str, Any]:
    """Return a candidate as `plugin adopt --json` has it."""
    return {
        "name": one.name,
        "called": one.called,
        "entry": one.entry,
        "file": one.tool.file or None,
        "line": one.tool.line,
        "imported": one.imported,
        "problem": one.problem or (f"policy denies it: {denied[one.entry]}" if one.entry in denied else None),
        "remarks": list(one.remarks),
        "definition": one.tool.definition,
    }


def _line(text: str, width: int = _WIDTH) -> str:
    plain = printable(" ".join(text.split()))
    return plain if len(plain) <= width else plain[: width - 1] + "…"
