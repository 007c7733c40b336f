"""Laws of what is printed: nothing hidden reaches a terminal, JSON stays JSON, a status line fits."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.cli.live import View, duration
from strands_cli.cli.output import fitted, json_text, printable
from strands_cli.errors import ExitCode
from strands_cli.events import RunStarted, StepFailed

ANY_TEXT = st.text(st.characters(codec=None))
HIDDEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


def hidden(text: str) -> list[str]:
    return [char for char in text if unicodedata.category(char) in HIDDEN and char not in "\n\t"]


@given(ANY_TEXT)
def test_nothing_hidden_is_left_in_printable_text(text: str) -> None:
    shown = printable(text)
    assert hidden(shown) == []
    assert printable(shown) == shown
    assert len(shown) >= len(text), "escaped, not dropped"


@given(JSON)
def test_json_text_is_the_same_json_with_nothing_hidden(document: Any) -> None:
    text = json_text(document, indent=2)
    assert json.loads(text) == document
    assert hidden(text) == []
    text.encode()


@given(ANY_TEXT.map(printable), st.integers(0, 60))
def test_a_fitted_line_is_the_beginning_and_takes_no_more_than_its_columns(text: str, columns: int) -> None:
    shown, width = fitted(text, columns)
    assert text.startswith(shown)
    assert width <= columns


def test_wide_letters_take_two_columns() -> None:
    assert fitted("蜂蜜", 3) == ("蜂", 2)
    assert fitted("e\u0301te", 3) == ("e\u0301te", 3)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.0004, "0 ms"), (0.25, "250 ms"), (1.04, "1.0 s"), (59.9, "59.9 s"), (125, "2 min 05 s")]
)
def test_a_duration_is_short(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_a_name_of_several_lines_cannot_imitate_lines_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    view = View()
    view(RunStarted(0.0, "id", "name\nerror: not ours", "chain", 1))
    view(StepFailed(0.0, "steps.0", "agent", "writer", ""))
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("error")] == []
    assert lines[-1] == "  FAILED steps.0  writer: "


def test_every_exit_code_of_the_program_is_one_of_the_documented() -> None:
    expected: Mapping[str, int] = {
        "OK": 0, "USAGE": 2, "INVALID": 3, "RUN_FAILED": 10, "ARTIFACT": 12, "RUN_RECORD": 17, "NOT_EQUIPPED": 18,
        "WAITING": 19, "BUDGET": 20, "DENIED": 21, "INTERNAL": 70, "INTERRUPTED": 130, "TERMINATED": 143,
    }  # fmt: skip
    assert {code.name: int(code) for code in ExitCode} == expected
