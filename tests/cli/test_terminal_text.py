"""What a terminal shows of our lines: colours, rows broken between words, tables that fit; a pipe gets neither."""

from __future__ import annotations

import io
import re

import pytest

from strands_cli.cli.terminal_text import (
    RED,
    aligned,
    coloured_row,
    columns_of,
    has_colours,
    laid_out,
    width_of,
    wrapped,
)
from tests.cli.strands import Folder
from tests.cli.test_failed_calls import TURNS, WRITER

SGR = re.compile(r"\x1b\[[0-9;]*m")


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "COLUMNS", "WT_SESSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize(
    ("environ", "at_terminal", "in_pipe"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"CLICOLOR_FORCE": "1"}, True, True),
        ({"CLICOLOR": "0"}, False, False),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_variables_choose_colours(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], at_terminal: bool, in_pipe: bool
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert (has_colours(Screen()), has_colours(io.StringIO())) == (at_terminal, in_pipe)


def test_a_pipe_a_dumb_terminal_and_a_closed_stream_have_no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = Screen()
    closed.close()
    assert columns_of(io.StringIO()) is None
    assert (columns_of(Screen()), columns_of(closed)) == (80, 80)
    monkeypatch.setenv("TERM", "dumb")
    assert columns_of(Screen()) is None


def test_a_pipe_gets_the_text_unchanged() -> None:
    text = "error[x]: " + "word " * 80
    assert laid_out(text, io.StringIO()) == text


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize(
    "line",
    [
        "error[unknown-key]: " + "some words of a message " * 9,
        "  fix: " + "write this and that " * 12,
        "ok       python                     " + "a long text of a check " * 9,
        "denied:    " + "a reason with words " * 12,
        "  | " + "what a model says " * 12,
        "  > steps.0: " + "漢字の文 " * 30,
    ],
)
def test_a_line_is_broken_between_words_and_no_row_looks_like_a_line_of_ours(
    monkeypatch: pytest.MonkeyPatch, columns: int, line: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = SGR.sub("", laid_out(line, Screen())).split("\n")
    assert len(rows) > 1
    assert all(width_of(row) <= columns for row in rows)
    mark = re.match(r" *[|>] ", line)
    before = mark[0] if mark else " " * 7
    assert all(row.startswith(before) for row in rows[1:])
    joined = " ".join(row.removeprefix(before).strip() for row in rows[1:])
    assert f"{rows[0].rstrip()} {joined}".split() == line.split()


@pytest.mark.parametrize(
    "command",
    [
        "strands resume 20261127-134306-95e885 --spec a/rather/long/name/of/a/workflow.yaml --budget max_tokens=5",
        "`strands approve 20261127-134306-95e885 steps.0/tool.0.file_write/approval --answer yes --no-resume`",
    ],
)
def test_a_command_is_never_broken(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = SGR.sub("", laid_out(f"some words of a row, then: {command}", Screen()))
    assert command in shown


def test_text_from_outside_brings_no_colours_and_gets_none() -> None:
    assert coloured_row("  | error: a model says so") == "  | error: a model says so"
    assert coloured_row("error: ours").startswith(RED)


@pytest.mark.parametrize(
    "line",
    [
        "error[x]: m",
        "warning: m",
        "  fix: m",
        "  --> a.yaml:1:2",
        "  done  steps.0  a  (3 ms)",
        "  FAILED steps.0  a: m",
        "  tool  steps.0  t  (ok, 3 ms)",
        "  tool  steps.0  t  (denied, 3 ms)",
        "completed in 3 ms: 1 model call",
        "failed after 3 ms",
        "waiting after 3 ms",
        "RUN  STATUS  STARTED",
        "20261127-134306-95e885  failed  2026",
        "status:    completed",
        "continue with: strands resume RUN",
    ],
)
def test_what_people_look_for_is_distinguishable(line: str) -> None:
    shown = coloured_row(line)
    assert shown != line
    assert SGR.sub("", shown) == line


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_table_fits_and_loses_no_word(columns: int) -> None:
    rows = [("TOOL", "STATUS", "DISTRIBUTION", "DESCRIPTION")]
    rows += [(f"tool_{n}", "available", f"strands-tool-number-{n} 0.1.0", "what it does " * (n + 1)) for n in range(9)]
    lines = aligned(rows, columns)
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        assert all(len(part) <= columns for part in line.split("\n"))
        assert sorted(line.split()) == sorted(" ".join(row).split())
    assert aligned(rows) == aligned(rows, 1000)


def test_a_long_word_is_broken_only_where_it_has_to_fit() -> None:
    assert [len(row) for row in wrapped("a" * 50, 20)] == [20, 20, 10]
    assert wrapped("a" * 50, 20, breaks_words=False) == ["a" * 50]


@pytest.mark.terminals
@pytest.mark.parametrize("columns", [80, 120])
def test_a_real_terminal_shows_colours_and_whole_words(folder: Folder, columns: int) -> None:
    folder.workflow([{"agent": "writer", "input": "Look."}], TURNS, agents=WRITER)
    for command in (("run", "flow.yaml"), ("runs", "show", "last"), ("runs", "list"), ("list-tools",), ("doctor",)):
        with folder.terminal(*command, columns=columns, NO_COLOR="") as terminal:
            terminal.end()
            assert "\x1b[3" in terminal.text or "\x1b[1" in terminal.text, command
            rows = [SGR.sub("", row).rstrip("\r") for row in terminal.text.split("\n")]
            own = [row for row in rows if "\x1b" not in row and "/" not in row]
            assert [row for row in own if width_of(row) > columns] == []
