"""Laws of what is printed: nothing hidden reaches a terminal, JSON stays JSON, a status line fits."""

from __future__ import annotations

import contextlib
import io
import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.cli.output.results import json_text
from strands_cli.cli.terminal.event_lines import line_for
from strands_cli.cli.terminal.live_view import View
from strands_cli.cli.terminal.run_progress import RunProgress, StatusView
from strands_cli.cli.terminal_text import fitted, one_line
from strands_cli.errors import ExitCode, Finding, Where
from strands_cli.events import ModelText, RunStarted, StepFailed, StepStarted
from strands_cli.texts.phrases import duration
from strands_cli.texts.unicode_safety import printable
from strands_cli.workflow.findings import BAD_VALUE
from tests.cli.strands import Folder

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


@given(ANY_TEXT, ANY_TEXT)
def test_text_of_several_lines_begins_no_line_of_a_finding(message: str, fix: str) -> None:
    lines = str(Finding(BAD_VALUE, message, Where("f.yaml", 1, 2), fix)).split("\n")
    ours = [line for line in lines if not line.startswith(("    | ", " " * 7))]
    assert [line.split(" ")[0] for line in ours if line[:1] != " "] == ["error[bad-value]:"]
    assert sum(line.startswith("  fix: ") for line in ours) == 1
    assert sum(line.startswith("  --> ") for line in ours) == 1


@given(ANY_TEXT)
def test_one_line_is_one(text: str) -> None:
    assert "\n" not in one_line(text)
    assert one_line(text) == text or "\n" in text


@given(st.lists(ANY_TEXT, min_size=1, max_size=4))
def test_what_a_model_says_is_marked_at_every_line(pieces: list[str]) -> None:
    view, stderr = View(verbose=True), io.StringIO()
    with contextlib.redirect_stderr(stderr):
        for piece in filter(None, pieces):
            view(ModelText(at=0.0, key="steps.0", text=piece))
        view.line("ours")
    *said, ours = stderr.getvalue().removesuffix("\n").split("\n")
    assert ours == "ours"
    assert all(line.startswith("  > ") for line in said)


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
    ("seconds", "shown"),
    [
        (None, ""),
        (0.0004, "0 ms"),
        (0.25, "250 ms"),
        (0.9996, "1.0 s"),
        (1.04, "1.0 s"),
        (59.9, "59.9 s"),
        (59.96, "1 min 00 s"),
        (125, "2 min 05 s"),
        (179.7, "3 min 00 s"),
        (3599.6, "1 h 00 min"),
        (90_061, "25 h 01 min"),
        (float("inf"), "not known"),
    ],
)
def test_a_duration_is_short_and_rounded_before_it_is_divided_into_units(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


def test_the_key_of_a_failed_step_is_shown_once() -> None:
    failed = StepFailed(0.0, "steps.0", "call", "native:count", "steps.0: the tool count failed: no\nmore")
    assert line_for(failed) == "  FAILED steps.0  native:count: the tool count failed: no"


def test_a_name_of_several_lines_cannot_imitate_lines_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    view = View()
    view(RunStarted(0.0, "id", "name\nerror: not ours", "chain", 1))
    view(StepFailed(0.0, "steps.0", "agent", "writer", ""))
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("error")] == []
    assert lines[-1] == "  FAILED steps.0  writer: "


def test_every_exit_code_of_the_program_is_one_of_the_documented() -> None:
    expected: Mapping[str, int] = {
        "OK": 0,
        "NO": 1,
        "USAGE": 2,
        "INVALID": 3,
        "RUN_FAILED": 10,
        "ARTIFACT": 12,
        "RUN_RECORD": 17,
        "NOT_EQUIPPED": 18,
        "WAITING": 19,
        "BUDGET": 20,
        "DENIED": 21,
        "AGENT_LOOP": 22,
        "INTERNAL": 70,
        "HUNG_UP": 129,
        "INTERRUPTED": 130,
        "READER_STOPPED": 141,
        "TERMINATED": 143,
    }
    assert {code.name: int(code) for code in ExitCode} == expected


def test_the_status_counts_from_the_start_of_the_run_as_its_last_line_does(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 5))
    monkeypatch.setattr("strands_cli.cli.terminal.run_progress.time.monotonic", lambda: float(next(clock)))
    progress = RunProgress()
    progress.loading("flow")
    assert re.fullmatch("flow .*, 5 s", *progress.lines(80, 24))
    progress.follow(RunStarted(0.0, "id", "name", "chain", 1))
    progress.follow(StepStarted(0.0, "steps.0", "agent", "writer"))
    assert progress.lines(80, 24) == ["10 s", "  steps.0  writer, 5 s"]


@pytest.mark.parametrize("kind", [View, StatusView])
def test_what_comes_while_a_question_is_there_is_shown_after_its_answer(kind: type[View]) -> None:
    view, stderr = kind(), io.StringIO()
    with contextlib.redirect_stderr(stderr):
        view.line("before")
        view.pause()
        view.line("a line of another step")
        view.tool_line("what a tool prints")
        assert stderr.getvalue() == "before\n"
        view.unpause()
    assert stderr.getvalue() == "before\na line of another step\n  | what a tool prints\n"


@pytest.mark.parametrize("words", [["list-tools"], ["validate", "flow.yaml"], ["plan", "flow.yaml"], ["doctor"]])
def test_a_json_document_begins_with_the_version_of_its_form(folder: Folder, words: list[str]) -> None:
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "done"}]})
    document = folder.strands(*words, "--json").document
    assert next(iter(document.items())) == ("format", 1)


@pytest.mark.parametrize("words", [["workflows", "schema"], ["validate", "flow.yaml", "--format", "sarif"]])
def test_a_json_document_of_another_standard_has_no_field_of_ours(folder: Folder, words: list[str]) -> None:
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "done"}]})
    assert "format" not in folder.strands(*words).document
