"""What a managed policy file asks: a person at a terminal answers, and nothing else does."""

from __future__ import annotations

import sys

import pytest

from tests.cli.strands import Folder, Ran
from tests.cli.terminal import Terminal

CODE = """import sys
from pathlib import Path
from strands_cli import config
file = Path(sys.argv.pop(1))
config.managed_policy_path = lambda: file
from strands_cli.cli import main
sys.exit(main())
"""
ECHO = "with open('calls.txt', 'a') as file:\n    file.write(tool['input']['text'] + '\\n')\nreturn answer('said it')"
pytestmark = pytest.mark.terminals
INPUT = '{"text": "typed"}'


@pytest.fixture
def asking(folder: Folder) -> Folder:
    """A folder whose managed policy file asks about `echo`, which one step calls."""
    folder.write("managed.yaml", {"version": 1, "rules": [{"ask": "echo", "reason": "a person looks"}]})
    folder.tool("echo", ECHO)
    folder.workflow([{"tool": "native:echo", "input": {"text": "a"}}])
    return folder


def command(folder: Folder, *words: str) -> list[str]:
    return [sys.executable, "-c", CODE, str(folder.work / "managed.yaml"), *words]


def strands(folder: Folder, *words: str) -> Ran:
    return folder.run(command(folder, *words))


def terminal(folder: Folder, *words: str) -> Terminal:
    return Terminal(command(folder, *words), folder.work, folder.environment())


def calls(folder: Folder) -> str:
    path = folder.work / "calls.txt"
    return path.read_text() if path.exists() else ""


def waiting_run(folder: Folder) -> str:
    assert strands(folder, "run", "flow.yaml", "--detach").code == 19
    (record,) = folder.runs.iterdir()
    return record.name


@pytest.mark.parametrize("words", [[], ["--yes"], ["--allow", "echo"]])
def test_no_option_allows_it_and_the_warning_offers_none(asking: Folder, words: list[str]) -> None:
    ran = strands(asking, "run", "flow.yaml", *words)
    assert ran.code != 0
    assert "managed.yaml" in ran.err
    assert "(allow" not in ran.err
    assert "allow it with" not in ran.err
    assert calls(asking) == ""


@pytest.mark.parametrize("words", [[], ["--answer", "yes"], ["--arguments", '{"text": "b"}']])
def test_a_script_cannot_approve_it(asking: Folder, words: list[str]) -> None:
    run = waiting_run(asking)
    ran = strands(asking, "approve", run, *words)
    assert ran.code == 21, ran.err
    assert "terminal" in ran.err
    assert calls(asking) == ""
    # The question still waits.
    assert strands(asking, "resume", run).code == 19
    assert "rejected" in strands(asking, "reject", run).err
    assert calls(asking) == ""


@pytest.mark.parametrize(("typed", "called"), [("y", "a\n"), ("n", "")])
def test_a_person_at_a_terminal_can(asking: Folder, typed: str, called: str) -> None:
    run = waiting_run(asking)
    with terminal(asking, "approve", run, "--answer", "yes") as person:
        person.wait_for(r"Allow .* to call echo ")
        person.wait_for(r"\[y/N/d\]")
        assert calls(asking) == ""
        person.type(f"{typed}\n")
        person.end()
    assert calls(asking) == called


def test_typing_a_call_by_hand_does_not_answer_it(asking: Folder) -> None:
    ran = strands(asking, "tools", "run", "echo", "--input", INPUT)
    assert ran.code != 0
    assert "managed.yaml" in ran.err
    assert calls(asking) == ""
    with terminal(asking, "tools", "run", "echo", "--input", INPUT) as person:
        person.wait_for(r"\[y/N/d\]")
        person.type("y\n")
        assert person.end() == 0
    assert calls(asking) == "typed\n"


def test_what_a_program_answers_does_not_count(asking: Folder) -> None:
    program = (
        "import sys; from pathlib import Path; from strands_cli import config\n"
        f"config.managed_policy_path = lambda: Path({str(asking.work / 'managed.yaml')!r})\n"
        "from strands_cli import Workflow\n"
        "Workflow.from_file('flow.yaml').run(answer=lambda question: True)\n"
    )
    ran = asking.run([sys.executable, "-c", program])
    assert "at a terminal" in ran.err, ran.err
    assert calls(asking) == ""


def test_another_hook_that_asks_does_not_hide_it(asking: Folder) -> None:
    from tests.cli.test_hook_plugins import deciding, hook_plugin, switch_on

    switch_on(asking, hook_plugin(asking, "strands-hooks-ask", deciding("ask", "strands_decide_call")))
    ran = strands(asking, "approve", waiting_run(asking))
    assert ran.code == 21, ran.err


def test_explain_offers_no_option(asking: Folder) -> None:
    assert "--allow" not in strands(asking, "explain", "flow.yaml").out
    assert "--allow" not in strands(asking, "explain", "policy", "native:echo").out


def test_a_new_name_of_a_tool_is_not_allowed_by_that_name(folder: Folder) -> None:
    folder.tool("calculator", "return answer('42')", annotations={"readOnlyHint": True})
    folder.tool("echo", ECHO, annotations={"destructiveHint": True})
    agents = {"writer": {"prompt": "w", "tools": [{"tool": "native:echo", "as": "calculator"}]}}
    turns = {"steps.0": [{"calls": [{"calculator": {"text": "a"}}]}, {"text": "done"}]}
    folder.workflow([{"agent": "writer", "input": "go"}], turns, agents=agents)
    ran = folder.strands("run", "flow.yaml", "--allow", "calculator")
    assert calls(folder) == "", ran.err
    assert "unmatched-rule" in ran.codes
    assert "--allow native:strands-tool-echo/echo" in ran.err
    assert folder.strands("run", "flow.yaml", "--allow", "native:strands-tool-echo/echo").code == 0
    assert calls(folder) == "a\n"
