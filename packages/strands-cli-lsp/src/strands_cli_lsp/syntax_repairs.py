"""Repairs of a text with faulty YAML: each missing character that would explain the fault, to be tried one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from strands_cli_lsp.text_edits import TextEdit

_KEY = r"(?:[\w.-]+|\"[^\"]*\"|'[^']*')"
_HEAD = re.compile(rf"( *(?:- )*{_KEY}:)(?=[^\s/:])")
_NO_COLON = re.compile(rf"( *(?:- )*{_KEY})(?: +(\S.*))?$")
_DASH = re.compile(r"( *-)(?=[^\s-])")
_UNQUOTED = re.compile(rf"( *(?:- )*(?:{_KEY}: +)?)([^\s\"'\[{{|>&*#!].*)$")
_BARE_TEMPLATE = re.compile(r"([:,\[] )(\{\{.*?\}\}(?:\{\{.*?\}\}|[^,\[\]{}\"])*)")
_MOST_LINES = 5


class SyntaxRepairs:
    """The repairs of a text whose fault is reported in a line (1-based); not all of them are right."""

    def __init__(self, text: str, number: int) -> None:
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        fault = min(number, len(self._lines)) - 1
        before = next((index for index in range(fault - 1, -1, -1) if self._lines[index].strip()), fault)
        near = [index for index in dict.fromkeys((fault, before)) if index >= 0]
        self._near = [index for index in near if not self._lines[index].lstrip().startswith("#")]
        indents = (_indent(line) for index, line in enumerate(self._lines) if index not in near and line.strip())
        self._unit = min(filter(None, indents), default=2)

    def of(self, kind: str) -> Iterator[tuple[TextEdit, ...]]:
        """Yield the repairs of a kind of edit."""
        if kind == "tabs":
            yield tuple(self._without_tabs())
            return
        repairs = [(index, _indented(self._content(index), self._unit)) for index in self._near]
        if kind == "syntax":
            odd = [index for index, line in enumerate(self._lines) if line.count('"') % 2 or line.count("'") % 2]
            repairs = [(index, _of_line(self._content(index))) for index in self._near]
            repairs += [(index, _quotes(self._content(index))) for index in [*self._near, *odd[:_MOST_LINES]]]
        for index, contents in repairs:
            content = self._content(index)
            yield from ((_change(self._starts[index], content, new),) for new in contents if new != content)

    def _content(self, index: int) -> str:
        return self._lines[index].rstrip("\r\n")

    def _without_tabs(self) -> Iterator[TextEdit]:
        """Yield spaces for each indentation with tabs: so many for a tab as the least that another line has."""
        for line, start in zip(self._lines, self._starts, strict=False):
            indent = line[: len(line) - len(line.lstrip(" \t"))]
            if "\t" in indent:
                yield TextEdit(start, start + len(indent), indent.replace("\t", " " * self._unit))


def _change(start: int, old: str, new: str) -> TextEdit:
    """Return the edit of a line as the characters that differ."""
    least = min(len(old), len(new))
    begin = next((at for at in range(least) if old[at] != new[at]), least)
    end = next((at for at in range(least - begin) if old[-1 - at] != new[-1 - at]), least - begin)
    return TextEdit(start + begin, start + len(old) - end, new[begin : len(new) - end])


def _of_line(line: str) -> Iterator[str]:
    """Yield a line with a space, a colon, a bracket or quotes more."""
    if match := _HEAD.match(line):
        yield f"{match[1]} {line[match.end() :]}"
    if match := _DASH.match(line):
        yield f"{match[1]} {line[match.end() :]}"
    if (match := _NO_COLON.match(line)) and not line.rstrip().endswith(":"):
        yield f"{match[1]}: {match[2]}" if match[2] else f"{match[1]}:"
    if (match := _UNQUOTED.match(line)) and not (line.count('"') % 2 or line.count("'") % 2):
        quote = "'" if '"' in match[2] else '"'
        yield f"{match[1]}{quote}{match[2]}{quote}"
    yield _BARE_TEMPLATE.sub(r'\1"\2"', line)
    yield from _brackets(line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _indented(line: str, unit: int) -> Iterator[str]:
    """Yield a line with a space or two more or less, as other lines are indented."""
    indent = _indent(line)
    steps = (to for to in range(max(indent - 2, 0), indent + 3) if to % unit == 0 and to != indent)
    yield from (" " * to + line[indent:] for to in steps)


def _quotes(line: str) -> Iterator[str]:
    """Yield a line with the quote that is missing at the end or the beginning of its last value."""
    for quote in '"', "'":
        if line.count(quote) % 2 == 0:
            continue
        content = line.rstrip()
        end = len(content.rstrip("]} "))
        if content[:end].endswith(quote) and (begin := re.search(r"(?:: |- )(?=[^\s\"'\[{])", line)):
            yield f"{line[: begin.end()]}{quote}{line[begin.end() :]}"
        else:
            yield from (f"{content[:at]}{quote}{content[at:]}" for at in range(end, len(content) + 1))


def _brackets(line: str) -> Iterator[str]:
    """Yield a line with the bracket that is missing at the end or the beginning of its value, or a comma in it."""
    bare = re.sub(r"\"[^\"]*\"|'[^']*'|\{\{.*?\}\}|\{%.*?%\}", "", line)
    for opening, closing in ("[", "]"), ("{", "}"):
        missing = bare.count(opening) - bare.count(closing)
        content = line.rstrip()
        if missing == 1:
            yield content + closing
            yield re.sub(r"([\]}]+)$", rf"{closing}\1", content)
        elif missing == -1 and (begin := re.search(r"(?:: |- )(?=[^\[{])", line)):
            yield f"{line[: begin.end()]}{opening}{line[begin.end() :]}"
    if "{" in bare or "[" in bare:
        yield re.sub(rf"(?<=[\w\"'\]}}]) +(?={_KEY}:)", ", ", line, count=1)
