"""Searches with regular expressions of workflows in limited time."""

from __future__ import annotations

import functools
import json
import re
import sys

from strands_cli.quick_dataclass import dataclass

MAX_PATTERN = 1_000
SECONDS = 2.0
# Steps of the engine in a fraction of a second, as if every repeat took every length at every place.
CHEAP = 5_000_000

_STEPS_OF_A_RANGE = 10_000
_STEPS_OF_A_SEARCH = 10

_REPEATED_GROUP = re.compile(r"\)[*+?]*[*+{]")
_ANY_CASE = re.compile(r"\(\?[a-zA-Z]*i")
_COMMENTS_ALLOWED = re.compile(r"\(\?[a-zA-Z]*x")
# Runs in a child process, which can be killed: neither threads nor signals stop the engine on every platform.
_SEARCH = """
import json, re, sys
task = json.load(sys.stdin)
found = getattr(re, task["how"])(task["pattern"], task["text"])
json.dump(None if found is None else [found[0], *found.groups()], sys.stdout)
"""


class SlowPattern(Exception):
    """A pattern is too long, or searching with it takes too long."""


@dataclass(frozen=True, slots=True)
class Found:
    """The text that a pattern matched, and the texts of its groups."""

    whole: str
    groups: tuple[str | None, ...] = ()


def search(pattern: str, text: str) -> Found | None:
    """Return the first match of a pattern.

    Raises:
        re.error: The pattern is not a regular expression.
        SlowPattern: it is too long, or takes more than `SECONDS` over this text.
    """
    return _find("search", pattern, text)


def fullmatch(pattern: str, text: str) -> Found | None:
    """Return the match of a pattern with a whole text; raises as `search`."""
    return _find("fullmatch", pattern, text)


def _find(how: str, pattern: str, text: str) -> Found | None:
    if len(pattern) > MAX_PATTERN:
        raise SlowPattern(f"a regular expression of more than {MAX_PATTERN:,} characters")
    compiled = re.compile(pattern)
    if not is_cheap(pattern, len(text)):
        found = _find_elsewhere(how, pattern, text)
        if isinstance(found, SlowPattern):
            raise SlowPattern(*found.args)
        return found
    match = getattr(compiled, how)(text)
    return Found(match[0], match.groups()) if match is not None else None


def is_cheap(pattern: str, length: int) -> bool:
    """Return whether a search certainly ends soon, by the number of repeats and choices in the pattern.

    A repeat inside a repeat can take exponential time, so a repeated group never counts as cheap.
    """
    return _steps(pattern, length) <= CHEAP


def cost(pattern: str, length: int) -> int:
    """Return how much a search counts for, in steps of a template.

    The interpreter compiles a range of characters in any case by looking at each of them.
    """
    ranges = pattern.count("-") if _ANY_CASE.search(pattern) else 0
    compiled = _STEPS_OF_A_SEARCH + 3 * len(pattern)
    return compiled + min(_steps(pattern, length), 10 * CHEAP) // 50 + ranges * _STEPS_OF_A_RANGE


def _steps(pattern: str, length: int) -> int:
    if len(pattern) > MAX_PATTERN or _REPEATED_GROUP.search(pattern) or _COMMENTS_ALLOWED.search(pattern):
        return 10 * CHEAP
    repeats, choices = sum(pattern.count(mark) for mark in "*+?{"), pattern.count("|")
    steps: int = (length + 1) ** (repeats + 1) * 2**choices * max(1, len(pattern))
    return steps


@functools.lru_cache(maxsize=16)
def _find_elsewhere(how: str, pattern: str, text: str) -> Found | SlowPattern | None:
    """Search in a child process, once for each text: a plan and its run render the same templates."""
    import subprocess

    task = json.dumps({"how": how, "pattern": pattern, "text": text})
    command = [sys.executable, "-I", "-S", "-c", _SEARCH]
    try:
        done = subprocess.run(  # noqa: S603 - our own words; what is not ours is its input
            command, input=task, capture_output=True, text=True, check=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return SlowPattern(
            f"the regular expression {pattern!r} takes more than {SECONDS:g} s over {len(text):,} characters"
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise SlowPattern(
            f"the regular expression {pattern!r} cannot be searched within a time limit: {error}"
        ) from None
    found = json.loads(done.stdout)
    return None if found is None else Found(found[0], tuple(found[1:]))
