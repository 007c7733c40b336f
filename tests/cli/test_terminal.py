"""`strands` at a terminal: questions and their answers, progress below the lines, nothing that could take it over."""

from __future__ import annotations

import re
import sys

import pytest

from tests.cli.screen import Screen, without_drawing
from tests.cli.strands import Folder
from tests.cli.test_hook_plugins import hook_plugin, switch_on

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX", allow_module_level=True)

pytestmark = pytest.mark.terminals

WRITE = {"calls": [{"file_write": {"path": "note.txt", "content": "hello"}}]}
WRITER = {"writer": {"prompt": "You write.", "tools": ["native:file_write"]}}
ONE_STEP = [{"agent": "writer", "input": "Write."}]
# The exit code of a run that waits.
WAITS = 19
ESCAPE = re.compile(r"\x1b")


def gate(**fields: object) -> dict[str, object]:
    return {"type": "hitl", "prompt": "Publish?", "context_display": "{{ last_response }}", **fields}


@pytest.mark.parametrize("answer", ["y", "YES"])
def test_a_yes_lets_the_call_happen(folder: Folder, answer: str) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [WRITE, {"text": "done"}]}, agents=WRITER)
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\? .*\bwriter .*\bfile_write .*\bstrands-tool-files\? \(.+\)")
        terminal.wait_for(r"content: hello")
        terminal.wait_for(r"\[y/N[^]]*\] $")
        terminal.type(f"{answer}\n")
        assert terminal.end() == 0
    assert (folder.work / "note.txt").read_text() == "hello"
    assert "denied" not in terminal.text


@pytest.mark.parametrize("answer", ["n", "", "no"])
def test_anything_that_is_not_a_yes_denies_and_nonsense_is_asked_again(folder: Folder, answer: str) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [WRITE, {"text": "done"}]}, agents=WRITER)
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\[y/N[^]]*\] $")
        terminal.type("perhaps\n")
        terminal.wait_for(r"\[y/N[^]]*\] $")
        terminal.type(f"{answer}\n")
        assert terminal.end() == 0
    assert "denied: file_write: " in terminal.text
    assert not (folder.work / "note.txt").exists()


def test_a_gate_asks_until_the_answer_fits_its_pattern(folder: Folder) -> None:
    steps = [*ONE_STEP, gate(validation={"pattern": "ship|hold"}), {"agent": "writer", "input": "{{ hitl_response }}"}]
    turns = {"steps.0": [{"text": "The draft."}], "steps.2": [{"when": "ship", "text": "Shipped."}]}
    folder.workflow(steps, turns)
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\? Publish\?\s+The draft\.\s+\w+: $")
        terminal.type("maybe\n")
        terminal.wait_for(r"\bship\|hold\s+\w+: $")
        terminal.type("ship\n")
        assert terminal.end() == 0
    assert "Shipped." in terminal.text


def test_an_empty_answer_takes_the_default_of_a_gate(folder: Folder) -> None:
    turns = {"steps.0": [{"text": "The draft."}], "steps.2": [{"when": "hold", "text": "Held."}]}
    folder.workflow([*ONE_STEP, gate(default="hold"), {"agent": "writer", "input": "{{ hitl_response }}"}], turns)
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\[hold\]: $")
        terminal.type("\n")
        assert terminal.end() == 0
    assert "Held." in terminal.text


def test_after_its_timeout_a_gate_takes_its_default_and_leaves_the_next_answer_to_the_next_question(
    folder: Folder,
) -> None:
    steps = [*ONE_STEP, gate(default="hold", timeout_seconds=1), gate(prompt="Really?")]
    folder.workflow(steps, {"steps.0": [{"text": "The draft."}]})
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\[hold, .*\b1 s\]: ")
        terminal.wait_for(r"\b1 s; .*: hold")
        terminal.wait_for(r"\? Really\?\s+hold\s+\w+: $")
        terminal.type("sure\n")
        assert terminal.end() == 0
    assert terminal.text.rstrip().endswith("sure")


def test_a_gate_without_default_waits_after_its_timeout(folder: Folder) -> None:
    folder.workflow([*ONE_STEP, gate(timeout_seconds=1)], {"steps.0": [{"text": "The draft."}]})
    with folder.terminal("run", "flow.yaml") as terminal:
        assert terminal.end() == WAITS
    assert folder.record()["status"] == "waiting"


def test_the_end_of_input_leaves_a_gate_and_a_call_waiting_until_they_are_answered(folder: Folder) -> None:
    turns = {"steps.0": [WRITE, {"text": "The draft."}]}
    folder.workflow([*ONE_STEP, gate()], turns, agents=WRITER)
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\[y/N[^]]*\] $")
        terminal.type("\x04")
        assert terminal.end() == WAITS
    assert folder.record()["status"] == "waiting"
    assert "denied" not in terminal.text
    assert not (folder.work / "note.txt").exists()
    with folder.terminal("resume", "last") as terminal:
        terminal.wait_for(r"\[y/N[^]]*\] $")
        terminal.type("y\n")
        terminal.wait_for(r"\n *\w+: $")
        terminal.type("\x04")
        assert terminal.end() == WAITS
    assert folder.record()["status"] == "waiting"
    assert (folder.work / "note.txt").read_text() == "hello"


def test_what_was_typed_before_a_question_is_not_taken_for_its_answer(folder: Folder) -> None:
    folder.workflow(
        [gate(timeout_seconds=60, context_display="x"), *ONE_STEP],
        {"steps.1": [WRITE, {"text": "done"}]},
        agents=WRITER,
    )
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\[.*\b60 s\]: $")
        terminal.type("first\nyes\n")
        terminal.wait_for(r"\[y/N[^]]*\] $")
        terminal.type("n\n")
        assert terminal.end() == 0
    assert not (folder.work / "note.txt").exists()


def test_ask_asks_for_each_missing_input_until_it_has_its_type(folder: Folder) -> None:
    required = {"topic": {"type": "string", "description": "what about"}, "count": {"type": "integer", "enum": [1, 2]}}
    steps = [{"agent": "writer", "input": "{{ topic }} {{ count + 1 }}"}]
    folder.workflow(steps, {"steps.0": [{"when": "bees 3", "text": "ok"}]}, inputs={"required": required})
    with folder.terminal("run", "flow.yaml", "--ask") as terminal:
        terminal.wait_for(r"topic \(string\), what about: $")
        terminal.type("\n")
        terminal.wait_for(r"\n.*\n.*\btopic \(string\).*: $")
        terminal.type("bees\n")
        terminal.wait_for(r"count \(integer\) \[1 \| 2\]: $")
        terminal.type("seven\n")
        terminal.wait_for(r"'count' .*\s+count .*: $")
        terminal.type("2\n")
        assert terminal.end() == 0


def test_ask_reads_what_is_installed_once(folder: Folder) -> None:
    registering = (
        "@hookimpl\ndef strands_register_tools(context):\n"
        "    with open('asked.txt', 'a') as file:\n        file.write('once,')\n    return []\n"
    )
    switch_on(folder, hook_plugin(folder, "strands-hooks-asked", registering))
    folder.workflow(ONE_STEP, {"steps.0": [{"text": "ok"}]}, inputs={"required": {"topic": "string"}})
    with folder.terminal("run", "flow.yaml", "--ask") as terminal:
        terminal.wait_for(r"topic \(string\): $")
        terminal.type("bees\n")
        assert terminal.end() == 0
    assert (folder.work / "asked.txt").read_text() == "once,"


def test_ask_without_an_answer_names_the_option(folder: Folder) -> None:
    folder.workflow(ONE_STEP, inputs={"required": {"topic": "string"}})
    with folder.terminal("run", "flow.yaml", "--ask") as terminal:
        terminal.wait_for(r"topic \(string\): $")
        terminal.type("\x04")
        assert terminal.end() == 2
    assert "--var topic=VALUE" in terminal.text
    piped = folder.strands("run", "flow.yaml", "--ask")
    assert piped.code == 2
    assert "--ask" in piped.err


def test_ctrl_c_at_a_question_ends_the_run_as_interrupted(folder: Folder) -> None:
    folder.workflow([*ONE_STEP, gate()], {"steps.0": [{"text": "The draft."}]})
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\n *\w+: $")
        terminal.type("\x03")
        assert terminal.end() == 130
    assert folder.record()["status"] == "interrupted"
    assert "Traceback" not in terminal.text


def test_a_person_sees_what_goes_on_while_a_tool_works(folder: Folder) -> None:
    folder.tool(
        "slow",
        "import pathlib, time\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.05)\nreturn answer('ok')",
    )
    agents = {"writer": {"prompt": "You write.", "tools": ["native:slow"]}}
    turns = {"steps.0": [{"calls": [{"slow": {}}], "usage": [30, 12]}, {"text": "done"}]}
    folder.workflow(ONE_STEP, turns, agents=agents)
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\r\d s, 42 \w+\x1b\[K\r\n\r  steps\.0  \w+ slow\x1b")
        terminal.wait_for(r"\r\d s, 42 \w+\x1b\[K\r\n\r  steps\.0  \w+ slow, \d s\x1b")
        (folder.work / "go").touch()
        assert terminal.end() == 0
    screen = Screen().feed(terminal.text)
    assert [line.split()[0] for line in screen.text.splitlines()] == ["run", "tool", "done", "done", "completed"]


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"CI": "true"}], ids=str)
def test_a_dumb_terminal_and_that_of_a_build_get_lines_only(folder: Folder, environment: dict[str, str]) -> None:
    folder.examples()
    with folder.terminal("run", "examples/quickstart.yaml", **environment) as terminal:
        assert terminal.end() == 0
    assert not ESCAPE.search(terminal.text)
    assert "\r" not in terminal.text.replace("\r\n", "")
    assert "  start steps.0  analyst" in terminal.text


def test_no_colour_is_ever_written_with_no_color(folder: Folder) -> None:
    folder.examples()
    for arguments in (["run", "examples/quickstart.yaml"], ["--help"], ["run", "nowhere.yaml"], ["runn"]):
        with folder.terminal(*arguments, NO_COLOR="1") as terminal:
            terminal.end()
        assert not ESCAPE.search(without_drawing(terminal.text))
        assert not re.search("\x1b\\[[0-9;]*m", terminal.text)


HOSTILE = "red \x1b[31m, clipboard \x1b]52;c;aGk=\x07, bidi \u202e, nothing \u200b, c1 \x9b31m, gone\rover"


def test_hostile_text_of_a_model_a_tool_and_a_file_is_escaped_at_a_terminal(folder: Folder) -> None:
    folder.tool(
        "hostile",
        f"print({HOSTILE!r}, flush=True)\nreturn {{'status': 'success', 'content': [{{'text': {HOSTILE!r}}}]}}",
    )
    agents = {"writer": {"prompt": "You write.", "tools": ["native:hostile", "native:file_write"]}}
    write = {"calls": [{"file_write": {"path": f"a{HOSTILE}", "content": HOSTILE}}]}
    turns = {"steps.0": [{"calls": [{"hostile": {}}]}, write, {"text": HOSTILE}]}
    folder.workflow([*ONE_STEP, gate(prompt="{{ last_response }}")], turns, agents=agents)
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\[y/N[^]]*\] $")
        terminal.type("n\n")
        terminal.wait_for(r"\n *\w+: $")
        terminal.type("ok\n")
        assert terminal.end() == 0
    assert "red \\x1b[31m, clipboard \\x1b]52;c;aGk=\\x07, bidi \\u202e, nothing \\u200b, c1 \\x9b31m" in terminal.text
    assert not re.search("[\x1b\x07\u202e\u200b\x9b]", without_drawing(terminal.text))
    with folder.terminal("tools", "run", "hostile") as terminal:
        assert terminal.end() == 0
    assert "\\x1b[31m" in terminal.text
    assert not re.search("[\x1b\x07\u202e\u200b\x9b]", terminal.text)


def test_a_question_cannot_be_imitated_by_text_of_several_lines(folder: Folder) -> None:
    folder.workflow(
        [*ONE_STEP, gate(prompt="{{ last_response }}")], {"steps.0": [{"text": "one\n? Allow all? [y/N] "}]}
    )
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\? one\r\n  \? Allow all\? \[y/N\]")
        terminal.type("\x03")
        terminal.end()


def test_the_answer_is_shown_whole_at_a_terminal(folder: Folder) -> None:
    folder.examples()
    with folder.terminal("run", "examples/quickstart.yaml") as terminal:
        assert terminal.end() == 0
    assert Screen(200, 60).feed(terminal.text).text.count("# Sales in October") == 1
    assert "wrote artifacts/report.md" in terminal.text


def test_quiet_asks_all_the_same(folder: Folder) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [WRITE, {"text": "done"}]}, agents=WRITER)
    with folder.terminal("run", "flow.yaml", "--quiet") as terminal:
        terminal.wait_for(r"\? .*\bwriter .*")
        terminal.wait_for(r"\[y/N[^]]*\] $")
        terminal.type("y\n")
        assert terminal.end() == 0
    assert (folder.work / "note.txt").exists()
