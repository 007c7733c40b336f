"""Texts with faulty YAML: the fault and its place, and the open bracket there."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from typing import Any

import yaml

from strands_cli.errors import Code, Edit, InvalidInput, Where
from strands_cli.yaml_files.document import refused

NOT_YAML = Code("not-yaml", "The text is not well-formed YAML or JSON.", "Correct the syntax at the reported place.")

_CLOSING = {"[": "]", "{": "}"}

# The expression of a template in a text without quotes.
_UNQUOTED = re.compile(r"[:\-,\[]\s+([^\s\"'{}\[\],#][^\"'{}\[\],#]*)?\{[{%]")


def syntax_error(file: str, text: str, error: yaml.MarkedYAMLError, events: Iterable[Any]) -> InvalidInput:
    """Return the error for a text with faulty YAML.

    Args:
        events: The text's events, read again for the open bracket.
    """
    mark, begin = error.problem_mark or error.context_mark, error.context_mark
    where = Where(file, mark.line + 1, mark.column + 1) if mark else Where(file)
    problem = " ".join(part for part in (error.context, error.problem) if part)
    if mark and begin and begin.line != mark.line:
        problem += f" (it begins in line {begin.line + 1})"
    lines = text.splitlines()
    line = lines[mark.line] if mark is not None and mark.line < len(lines) else ""
    char = line[mark.column : mark.column + 1] if mark is not None else ""
    at_tab = char == "\t"
    fix = "indent with spaces: YAML allows no tabs there" if at_tab else "correct the syntax here"
    if _UNQUOTED.search(line):
        fix = "put the text with `{{` or `{%` in quotes"
    elif "cannot start any token" in problem and not at_tab:
        fix = f"put the text with `{char}` in quotes"
    elif not at_tab and "flow" in (error.context or "") and (opened := _open_bracket(lines, events)):
        bracket, row, column = opened
        problem = f"the `{bracket}` in line {row}, column {column} is not closed, or a comma is missing after it"
        fix = f"write `{_CLOSING[bracket]}` after its last element, or a comma between two elements"
        if char == ":" and row == where.line:
            problem, fix = "a second `: ` in one value", "put the text with `:` in quotes"
    elif not at_tab and (plain := _in_plain_words(error)):
        problem, fix = plain
    has_tabs = re.search(r"^ *\t", text, re.MULTILINE)
    edits = (Edit("\t", "", "tabs"),) if has_tabs else (Edit("", "", "syntax"), Edit("", "", "indent"))
    return refused(NOT_YAML, f"this is not YAML: {problem}", where, fix, *edits)


def _in_plain_words(error: yaml.MarkedYAMLError) -> tuple[str, str] | None:
    """Return the fault in the lines of a mapping or a list, and the correction."""
    problem, begin = error.problem or "", error.context_mark.line + 1 if error.context_mark else None
    if "mapping values are not allowed" in problem:
        return (
            "a second `: ` in one value, or a line that is indented too far",
            "put the value in quotes, or indent less",
        )
    if begin is None or "did not find expected" not in problem:
        return None
    if "'-' indicator" in problem:
        fix = "indent it as its item's other keys; a new item begins with `- `"
        return f"this line does not fit the list that begins in line {begin}", fix
    if "expected key" in problem:
        fix = "indent it as the keys above; a text with quotes in it needs the other kind around it"
        return f"this does not continue the mapping that begins in line {begin}", fix
    return None


def _open_bracket(lines: list[str], events: Iterable[Any]) -> tuple[str, int, int] | None:
    """Return the innermost open bracket where the syntax is wrong, with its line and column."""
    opened: list[Any] = []
    with contextlib.suppress(yaml.YAMLError):
        for event in events:
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append(event.start_mark)
            elif isinstance(event, yaml.CollectionEndEvent):
                opened.pop()
    places = [(token.line + 1, token.column + 1) for token in reversed(opened)]
    brackets = [(lines[line - 1][column - 1 : column], line, column) for line, column in places]
    return next((bracket for bracket in brackets if bracket[0] in _CLOSING), None)
