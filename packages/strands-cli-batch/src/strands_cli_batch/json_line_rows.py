"""Rows from JSON Lines: each line is an object whose members are the inputs of one row."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, NoReturn

from strands_cli.api import Where, shortened
from strands_cli_batch.row_findings import RowFindings
from strands_cli_batch.row_source import BAD_ROW, GivenRow, TextLines


class JsonLineRows:
    """The rows of a text of JSON Lines; empty lines do not count."""

    def __init__(self, lines: TextLines, findings: RowFindings) -> None:
        self._lines, self._findings = lines, findings
        self._located: tuple[int, dict[str, int]] | None = None  # the line parsed for places

    def __iter__(self) -> Iterator[GivenRow]:
        """Yield the rows; a line of another form than an object becomes a finding."""
        number = 0
        for text in self._lines:
            if not text.strip():
                continue
            number += 1
            line = self._lines.number
            try:
                values = _DECODER.decode(text)
            except json.JSONDecodeError as error:
                self._refuse(number, f"the line is not JSON: {error.msg}", error.colno)
            except (ValueError, RecursionError) as error:
                self._refuse(number, f"the line cannot be read as JSON: {error}", 1)
            else:
                if isinstance(values, dict):
                    written = {
                        name: json_number.text
                        for name, json_number in values.items()
                        if isinstance(json_number, _Number)
                    }
                    yield GivenRow(number, line, {}, values, partial(self._where, text, line), written)
                else:
                    self._refuse(number, "the line is not an object of JSON", len(text) - len(text.lstrip()) + 1)

    def _refuse(self, number: int, message: str, column: int) -> None:
        line, fix = self._lines.number, 'write one object a line: {"NAME": VALUE, ...}'
        self._findings.add_made(BAD_ROW, message, lambda: (self._lines.where(line, column), fix), (number, line))

    def _where(self, text: str, line: int, name: str) -> Where:
        """Return where a line has a member; for one that it has not, the place of the object."""
        if self._located is None or self._located[0] != line:  # only rows with a finding need it
            self._located = line, dict(_places(text))
        pointer = f"/{name.replace('~', '~0').replace('/', '~1')}"
        return self._lines.where(line, self._located[1].get(name, text.index("{") + 1), pointer)


def _places(text: str) -> Iterator[tuple[str, int]]:
    """Yield each name of a parsed JSON object, with the column where it begins."""
    position = _after_space(text, text.index("{") + 1)
    while text[position] == '"':
        name, end = _PLAIN.raw_decode(text, position)
        yield name, position + 1
        _, end = _PLAIN.raw_decode(text, _after_space(text, _after_space(text, end) + 1))
        position = _after_space(text, end)
        if text[position] != ",":
            return
        position = _after_space(text, position + 1)


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        name = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise ValueError(f"it has the name {shortened(name, 100)!r} twice")
    return members


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


class _Number(float):
    """A number with a point or an exponent, as it is written."""

    text: str


def _number(text: str) -> float:
    number = _Number(text)
    number.text = text
    return number if repr(float(text)) != text else float(text)


_PLAIN, _SPACE = json.JSONDecoder(), re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_refuse_constant, parse_float=_number)
