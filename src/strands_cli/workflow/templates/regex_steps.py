"""Whether a search with a regular expression takes time in proportion to the text, by the structure of the pattern."""

from __future__ import annotations

import re
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from strands_cli.workflow.templates.bounded_regex import MAX_PATTERN, SlowPattern

# How many steps the engine may take at one place of a text, whatever the text is.
MAX_STEPS = 1_000

_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_ONE_STEP = (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY, ops.AT, ops.CATEGORY)


class _Cost(NamedTuple):
    """The most steps that a part takes at one place, and in how many ways it can match there."""

    steps: int
    ways: int


def require_linear(pattern: str) -> None:
    """Require that a search takes time in proportion to the text, and finds no empty text.

    Each repeat has an upper limit, but for a single character's at the end of the pattern: that one never goes back.

    Raises:
        re.error: The pattern is not a regular expression.
        SlowPattern: A search can take more, or that is unknown.
    """
    if len(pattern) > MAX_PATTERN:
        raise SlowPattern(f"it has more than {MAX_PATTERN:,} characters")
    re.compile(pattern)
    parsed = parser.parse(pattern)
    shortest, items = parsed.getwidth()[0], list(parsed)
    if items and _is_open_end(*items[-1]):
        operator, (low, _, repeated) = items.pop()
        items.append((operator, (low, max(low, 1), repeated)))
    if _sequence(items).steps > MAX_STEPS:
        raise SlowPattern(f"it can take more than {MAX_STEPS:,} steps at one place of a text")
    if shortest == 0:
        raise SlowPattern("it finds the empty text, which is everywhere")


def _is_open_end(operator: Any, value: Any) -> bool:
    """Return whether a part is the repeat of one character that takes all there is."""
    if operator is not ops.MAX_REPEAT or value[1] is not ops.MAXREPEAT:
        return False
    return len(value[2]) == 1 and value[2][0][0] in _ONE_STEP


def _sequence(items: Any) -> _Cost:
    steps, ways = 0, 1
    for operator, value in items:
        part = _part(operator, value)
        steps, ways = _capped(steps + ways * part.steps), _capped(ways * part.ways)
    return _Cost(steps, ways)


def _part(operator: Any, value: Any) -> _Cost:
    if operator in _ONE_STEP:
        return _Cost(1, 1)
    if operator in _REPEATS:
        return _repeat(*value)
    if operator is ops.SUBPATTERN:
        return _sequence(value[-1])
    if operator is ops.BRANCH:
        branches = [_sequence(branch) for branch in value[1]]
        return _Cost(_capped(sum(one.steps for one in branches)), _capped(sum(one.ways for one in branches)))
    if operator in (ops.ASSERT, ops.ASSERT_NOT):
        return _Cost(_sequence(value[1]).steps, 1)
    return _Cost(MAX_STEPS + 1, 1)  # what another part of the text decides, or what this table does not know


def _repeat(low: int, high: Any, repeated: Any) -> _Cost:
    if high is ops.MAXREPEAT or high > MAX_STEPS:
        return _Cost(MAX_STEPS + 1, 1)
    one, steps, ways, here = _sequence(repeated), 0, 0, 1
    for times in range(high + 1):
        ways = _capped(ways + (here if times >= low else 0))
        steps = _capped(steps + (here * one.steps if times < high else 0))
        here = _capped(here * one.ways)
    return _Cost(steps, max(1, ways))


def _capped(number: int) -> int:
    return min(number, MAX_STEPS + 1)
