"""The progress of a run below its lines: it fits every terminal, stays in its place, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import io
import json
import re
import signal
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.cli.terminal.run_progress import ERASE, RunProgress, StatusView, StreamedText, frame
from strands_cli.events import (
    Event,
    ModelCallFinished,
    ModelCallStarted,
    ModelText,
    RunStarted,
    StepFinished,
    StepStarted,
    ToolCallDecided,
    ToolCallFinished,
    ToolProgress,
    Usage,
)
from strands_cli.workflow.sections import Budgets
from tests.cli.screen import Screen, without_drawing
from tests.cli.strands import STRANDS, Folder

STARTED = RunStarted(0.0, "id", "flow", "chain", 1)
SHOWN = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.sampled_from(
    ["蜜蜂 🐝 " * 9, "a\u0301b " * 30]
)


def width_of(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(bool(unicodedata.combining(char)) for char in text)


def answering(key: str, *pieces: str) -> list[Event]:
    """Return the events of a model that is not done."""
    step = key.rpartition("/")[0]
    texts = [ModelText(0.0, key, piece) for piece in pieces]
    return [StepStarted(0.0, step, "agent", "writer"), ModelCallStarted(0.0, key, "writer", "m"), *texts]


def following(*events: Event, limits: Budgets | None = None) -> RunProgress:
    progress = RunProgress(limits)
    for event in (STARTED, *events):
        progress.follow(event)
    return progress


@settings(max_examples=40)
@given(st.integers(1, 120), st.integers(1, 40), st.lists(SHOWN, max_size=5), st.integers(1, 9))
def test_the_block_fits_every_terminal_and_leaves_a_row(columns: int, rows: int, texts: list[str], steps: int) -> None:
    events = [event for step in range(steps) for event in answering(f"steps.{step}/model.0", *texts)]
    lines = [without_drawing(line) for line in following(*events).lines(columns, rows)]
    assert 1 <= len(lines) <= max(1, rows - 2)
    assert max(map(width_of, lines)) <= max(1, columns - 1)
    screen = Screen(columns, rows).feed("-\r\n" * rows + frame(lines) + ERASE)
    assert screen.text.split() == ["-"] * rows


@settings(max_examples=40)
@given(SHOWN, st.lists(st.integers(0, 60)), st.integers(2, 30))
def test_a_text_has_the_same_rows_however_it_is_cut_into_pieces(text: str, cuts: list[int], columns: int) -> None:
    whole, pieces = StreamedText(), StreamedText()
    whole.feed(text)
    at = 0
    for cut in [*sorted(cuts), len(text)]:
        pieces.feed(text[at : max(at, cut)])
        pieces.rows(columns, 3)
        at = max(at, cut)
    assert pieces.rows(columns, 3) == whole.rows(columns, 3)


def test_the_text_of_one_model_is_shown_until_it_has_answered() -> None:
    first, second = answering("steps.0/model.0", "one "), answering("steps.1/model.0", "uno ")
    progress = following(*first, *second, ModelText(0.0, "steps.0/model.0", "two"))
    assert "one two" in progress.lines(80, 24)[-1]
    progress.follow(ModelCallFinished(0.0, "steps.0/model.0", "writer", "m", Usage(), 1.0))
    assert "one two" in progress.lines(80, 24)[-1], "until another begins to speak"
    progress.follow(ModelText(0.0, "steps.1/model.0", "dos"))
    assert "> dos" in progress.lines(80, 24)[-1]
    progress.follow(StepFinished(0.0, "steps.1", "agent", "writer", "dos", 1.0, Usage()))
    assert not [line for line in progress.lines(80, 24) if "  > " in line]


def test_steps_beyond_the_shown_ones_are_counted() -> None:
    steps = [StepStarted(0.0, f"steps.{number}", "agent", "writer") for number in range(7)]
    assert following(*steps).lines(80, 24)[1:] == [*(f"  steps.{n}  writer" for n in range(3)), "  and 4 more"]
    assert following(*steps[:4]).lines(80, 24)[-1] == "  steps.3  writer"


def test_of_calls_side_by_side_one_that_goes_on_is_shown_and_the_others_are_counted() -> None:
    calls = [ToolCallDecided(0.0, f"steps.0/tool.{n}.{name}", name, "allow", "", "") for n, name in enumerate("abc")]
    progress = following(StepStarted(0.0, "steps.0", "agent", "writer"), *calls)
    assert progress.lines(80, 24)[1:] == ["  steps.0  calls a and 2 more"]
    progress.follow(ToolCallFinished(0.0, calls[0].key, "a", "success", 0.1))
    progress.follow(ToolProgress(0.0, calls[1].key, "b", "half"))
    progress.follow(ToolCallFinished(0.0, calls[2].key, "c", "success", 0.1))
    assert progress.lines(80, 24)[1:] == ["  steps.0  b: half"]


def test_what_is_used_of_the_budget_counts_earlier_processes_and_nothing_twice() -> None:
    limits = Budgets(max_tokens=1000, max_model_calls=4, max_tool_calls=10, max_cost_usd=1.0)
    resumed = RunStarted(0.0, "id", "flow", "chain", 1, True, 60.0, Usage(100, 100), 1, 2, 0.25)
    answers = [
        ModelCallFinished(0.0, f"steps.0/model.{n}", "a", "m", Usage(200, 100), 1.0, (), replayed, 0.5)
        for n, replayed in enumerate([True, False])
    ]
    tool = ToolCallFinished(0.0, "steps.0/tool.0", "native:x", "success", 0.1)
    progress = following(resumed, *answers, tool, StepStarted(0.0, "steps.1", "agent", "a"), limits=limits)
    used = "75% of cost, 50% of tokens, 50% of model calls, 30% of tool calls"
    assert progress.lines(120, 24)[0] == f"0 s, 500 tokens, $0.7500, budget [#######...] {used}"


def test_no_row_of_the_log_is_lost_or_doubled_by_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    view, stderr = StatusView(), io.StringIO()
    with contextlib.redirect_stderr(stderr):
        view.loading(STARTED)
        for event in (STARTED, *answering("steps.0/model.0", "one\ntwo\nthree\nfour")):
            view(event)
        view.line("a line")
        view.pause()
        view.unpause()
        view.line("another\nof two")
        view.settle()
    screen = Screen(80, 24).feed(stderr.getvalue().replace("\n", "\r\n"))
    assert screen.is_as_before
    assert screen.text.splitlines()[1:] == ["a line", "another", "      of two"]


def test_events_say_what_calls_cost_and_what_earlier_processes_spent(folder: Folder) -> None:
    steps = [{"agent": "writer", "input": f"Part {n}."} for n in range(2)]
    turns = {f"steps.{n}": [{"text": "done", "usage": [30, 12]}] for n in range(2)}
    folder.workflow(
        steps,
        turns,
        runtime={"provider": "replay", "recording": "flow.recording.yaml", "budgets": {"max_model_calls": 1}},
    )
    assert folder.strands("run", "flow.yaml").code == 20
    ran = folder.strands("resume", "last", "--budget", "max_model_calls=2", "--events", "-")
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert (events[0]["model_calls"], events[0]["usage"]["output_tokens"], events[0]["cost_usd"]) == (1, 12, 0.0)
    assert [event["cost_usd"] for event in events if event["event"] == "ModelCallFinished"] == [0.0]


if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX", allow_module_level=True)

WAITS = "import pathlib, time\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.05)\nreturn answer('ok')"
GATE = {"type": "hitl", "prompt": "Publish?", "context_display": "x"}
ENDS = ["run", "tool", "done", "?", "x", "answer:", "done", "completed", "yes"]


@pytest.fixture
def waiting(folder: Folder) -> Folder:
    """Return a folder with a run that streams text, then waits for the file `go` in a tool, then asks."""
    folder.tool("slow", WAITS)
    agents = {"writer": {"prompt": "You write.", "tools": ["native:slow"]}}
    first = {"text": "蜜蜂 \x1b[31m bees\nfly \u202e home", "calls": [{"slow": {}}], "usage": [30, 12]}
    steps = [{"agent": "writer", "input": "Write."}, GATE]
    folder.workflow(steps, {"steps.0": [first, {"text": "done"}]}, agents=agents)
    return folder


def shown(screen: Screen) -> list[str]:
    return [line.split()[0] for line in screen.text.splitlines() if line]


@pytest.mark.terminals
def test_a_run_leaves_only_its_lines_after_resizes_and_a_question(waiting: Folder) -> None:
    with waiting.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"42 tokens(?s:.*)  > 蜜蜂 \\x1b\[31m bees(?s:.*)  > fly \\u202e home")
        assert shown(Screen().feed(terminal.text))[-4:] == ["0", "steps.0", ">", ">"]
        terminal.resize(20, 5)
        terminal.wait_for(r"  steps\.0  calls sl\x1b\[K")
        terminal.resize(100)
        (waiting.work / "go").touch()
        terminal.wait_for(r"answer: $")
        drawn = len(terminal.text)
        terminal.type("yes\n")
        assert terminal.end() == 0
    assert "\x1b" not in terminal.text[drawn : terminal.text.index("yes", drawn)], "nothing is drawn over a question"
    screen = Screen().feed(terminal.text)
    assert screen.is_as_before
    assert shown(screen) == ENDS


@pytest.mark.terminals
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "SIGKILL"])
def test_a_stopped_run_leaves_the_terminal_as_it_was(waiting: Folder, number: signal.Signals) -> None:
    with waiting.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"fly \\u202e home(?s:.*)\x1b\[\?7h")
        terminal.send(number)
        terminal.end()
    screen = Screen().feed(terminal.text)
    assert screen.is_as_before
    if number == signal.SIGINT:
        assert shown(screen)[:3] == ["run", "stopping;", "interrupted"]


@pytest.mark.terminals
def test_ctrl_z_removes_the_block_and_fg_draws_it_again(waiting: Folder) -> None:
    """The shell is a real one: job control needs it."""
    from tests.cli.terminal import Terminal

    words = ["bash", "--norc", "--noprofile", "-i"]
    with Terminal(words, waiting.work, waiting.environment(PS1="$ ")) as shell:
        shell.type(f"{STRANDS} run flow.yaml\n")
        shell.wait_for(r"fly \\u202e home(?s:.*)\x1b\[\?7h")
        shell.type("\x1a")
        shell.wait_for(r"Stopped")
        # Without what the shell itself draws while a person types.
        drawn = shell.text[shell.text.index("\x1b[?7l") : shell.text.index("Stopped")]
        stopped = Screen().feed(re.sub(r"\x1b\[\?2004[hl]", "", drawn))
        assert not [line for line in stopped.text.splitlines() if line.lstrip().startswith((">", "steps."))]
        shell.type("fg\n")
        shell.wait_for(r"fly \\u202e home")
        (waiting.work / "go").touch()
        shell.wait_for(r"answer: $")
        shell.type("yes\n")
        shell.wait_for(r"completed in")
        shell.type("exit\n")
        shell.end()
