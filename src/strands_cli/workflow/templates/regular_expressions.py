"""Searches with regular expressions that workflows, schemas and people bring, in limited time."""

from __future__ import annotations

import functools
import re
from typing import Any

from strands_cli.quick_dataclass import dataclass

MAX_PATTERN = 1_000
SECONDS = 2.0
# Text that the engine `regex` reads otherwise than Python's: a brace that repeats nothing, and a bracket within a set.
_READ_OTHERWISE = re.compile(r"\\.|\{(?!\d|,\d|,\})|\[\^?\]?(?:\\.|[^\]\\])*\]?", re.DOTALL)


class SlowPattern(Exception):
    """A pattern is too long, or searching with it takes too long."""


@dataclass(frozen=True, slots=True)
class RegexMatch:
    """The text that a pattern matched, and the texts of its groups."""

    whole: str
    groups: tuple[str | None, ...] = ()


def search(pattern: str, text: str) -> RegexMatch | None:
    """Return the first match of a pattern.

    Raises:
        re.error: The pattern is not a regular expression.
        SlowPattern: It is too long, or takes more than `SECONDS` of the processor over this text.
    """
    return _match("search", pattern, text)


def fullmatch(pattern: str, text: str) -> RegexMatch | None:
    """Return the match of a pattern with a whole text; raises as `search`."""
    return _match("fullmatch", pattern, text)


def replaced(pattern: str, text: str, mark: str) -> str:
    """Return a text with a mark for each match of a pattern; raises as `search`."""
    try:
        return str(_compiled(pattern).sub(lambda _: mark, text, timeout=SECONDS, concurrent=True))
    except TimeoutError:
        raise _too_slow(pattern, text) from None


def matches_empty_text(pattern: str) -> bool:
    """Return whether a pattern matches a text of no character, which is everywhere; raises as `search`."""
    return any(match.start() == match.end() for text in ("", " a-1 ") for match in _compiled(pattern).finditer(text))


def _match(how: str, pattern: str, text: str) -> RegexMatch | None:
    result = _kept_match(how, pattern, text)
    if isinstance(result, SlowPattern):
        raise SlowPattern(*result.args)
    return result


@functools.lru_cache(maxsize=16)
def _kept_match(how: str, pattern: str, text: str) -> RegexMatch | SlowPattern | None:
    """Search once for each text: a plan and its run render the same templates."""
    try:
        match = getattr(_compiled(pattern), how)(text, timeout=SECONDS, concurrent=True)
    except TimeoutError:
        return _too_slow(pattern, text)
    return RegexMatch(match[0], match.groups()) if match is not None else None


def _too_slow(pattern: str, text: str) -> SlowPattern:
    return SlowPattern(
        f"the regular expression {pattern!r} takes more than {SECONDS:g} s over {len(text):,} characters"
    )


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any:
    """Compile a pattern for the engine with a time limit; Python's own decides whether it is one."""
    import regex

    if len(pattern) > MAX_PATTERN:
        raise SlowPattern(f"a regular expression of more than {MAX_PATTERN:,} characters")
    re.compile(pattern)
    try:
        return regex.compile(_READ_OTHERWISE.sub(_same_reading, pattern), regex.VERSION0)
    except regex.error as error:
        raise re.error(str(error)) from None


def _same_reading(part: re.Match[str]) -> str:
    text = part[0]
    if text == "{":
        return r"\{"
    return text[0] + text[1:].replace("[", r"\[") if text.startswith("[") else text
