"""Parse the patterns of rules: `file_write`, `native:http_*`, `file_write(path=docs/**, mode=create)`."""

from __future__ import annotations

import re
from typing import Any

from strands_cli.policy.rules.rule import Effect, Level, Rule

MAX_LENGTH = 1000

_PATTERN = re.compile(r"([^()\s=,]+)(?:\((.*)\))?", re.DOTALL)
_PATH = re.compile(r"[^\s()=,*?.]+(?:\.[^\s()=,*?.]+)*")
# A comma ends an argument only if another `name=` follows, so that globs may contain commas.
_NEXT = re.compile(r",(?=\s*[^\s()=,*?]+\s*=)")


class PatternError(ValueError):
    """A text is not a pattern; the message gives the reason."""


def parse_pattern(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the tools that a pattern names, and its pairs of argument and glob.

    Raises:
        PatternError: The text is not a pattern.
    """
    if len(text) > MAX_LENGTH:
        raise PatternError(f"is {len(text)} characters long; at most {MAX_LENGTH} are read")
    found = _PATTERN.fullmatch(text.strip())
    if found is None:
        raise PatternError("is not a tool's name, a glob, or name(argument=glob)")
    tools, arguments = found.groups()
    if "@" in tools:
        raise PatternError("has a version, which a policy file sets with the key `version`")
    if arguments is None:
        return tools, ()
    return tools, tuple(_argument(part) for part in _NEXT.split(arguments))


def _argument(text: str) -> tuple[str, str]:
    path, equals, glob = text.strip().partition("=")
    if not equals or not _PATH.fullmatch(path.strip()):
        raise PatternError(f"has {text.strip()!r} between its brackets, which is not argument=glob")
    if not glob.strip():
        raise PatternError(f"has no glob for the argument {path.strip()!r}; write '**' for every value")
    return path.strip(), glob.strip()


def make_rule(effect: Effect, pattern: str, level: Level, origin: str, **narrowing: Any) -> Rule:
    """Return the rule for a pattern; `narrowing` are further fields of `Rule`.

    Raises:
        PatternError: The text is not a pattern.
    """
    tools, arguments = parse_pattern(pattern)
    return Rule(effect, tools, level, origin, arguments=arguments, **narrowing)
