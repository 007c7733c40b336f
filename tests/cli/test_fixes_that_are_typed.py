"""Fixes are typed as they are printed, in a folder whose name needs quotes, and the mistake is gone."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from strands_cli.cli.program import run_program
from tests.workflow.spoiled import CHAIN, HEAD

ODD = "it's a $HOME"
FLOW = HEAD.replace("replay}", "openai, model_id: m}") + CHAIN
POLICY = "version: 1\nrules: [{allow: strands-tool-files/file_write}]\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ODD).mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-tests-0042")
    return tmp_path / ODD


class Shell:
    """Runs a command line and returns what its fixes say."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def fixes(self, *words: str, code: int) -> list[str]:
        assert run_program([*words]) == code
        return re.findall(r"^  fix: (.*)", self._capsys.readouterr().err, re.MULTILINE)

    def fix(self, *words: str, code: int) -> str:
        return self.fixes(*words, code=code)[0]

    def typed(self, line: str) -> int:
        name, *words = shlex.split(line)
        assert name == "strands"
        return run_program(words)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_a_file_of_one_agent(shell: Shell, folder: Path) -> None:
    (folder / "agent.yaml").write_text("prompt: You write.\n")
    assert shell.typed(shell.fix("validate", f"{ODD}/agent.yaml", code=3)) == 0


def test_a_lock_that_does_not_exist(shell: Shell, folder: Path) -> None:
    (folder / "flow.yaml").write_text(FLOW)
    check = ["lock", "--check", f"{ODD}/flow.yaml"]
    _, _, command = shell.fix(*check, code=21).partition("strands ")
    assert shell.typed(f"strands {command}") == 0
    assert run_program(check) == 0


def test_a_lock_that_has_changed(shell: Shell, folder: Path) -> None:
    (folder / "flow.yaml").write_text(FLOW.replace("{prompt: A}", "{prompt: A, tools: [native:calculator]}"))
    assert run_program(["lock", f"{ODD}/flow.yaml"]) == 0
    lock = folder / "strands.lock"
    lock.write_text(re.sub(r'(?m)^version = ".*"', 'version = "0.0.1"', lock.read_text(), count=1))
    plan = ["plan", f"{ODD}/flow.yaml", "--var", "topic=x"]
    assert shell.typed(shell.fix(*plan, code=21).partition(": ")[2]) == 0
    assert run_program(plan) == 0


def test_a_call_of_an_alias_with_a_wrong_value(shell: Shell, folder: Path) -> None:
    step = "{tool: sums, input: {expression: 3}}"
    tools = "tools: {python: [{tool: native:calculator, as: sums}]}\n"
    (folder / "flow.yaml").write_text(FLOW.replace('{agent: alpha, input: "{{ topic }}"}', step) + tools)
    fixes = shell.fixes("plan", f"{ODD}/flow.yaml", "--var", "topic=x", code=3)
    (command,) = [fix.partition("`")[2].rstrip("`") for fix in fixes if "tools show" in fix]
    assert shell.typed(command) == 0


def test_a_policy_file_beside_the_workflow(shell: Shell, folder: Path) -> None:
    (folder / "flow.yaml").write_text(FLOW)
    (folder / "strands-policy.yaml").write_text(POLICY)
    plan = ["plan", f"{ODD}/flow.yaml", "--var", "topic=x"]
    _, option, file = shlex.split(shell.fix(*plan, code=0))
    assert run_program([*plan, option, file]) == 0


def test_a_policy_file_that_is_not_there(shell: Shell, folder: Path) -> None:
    (folder / "flow.yaml").write_text(FLOW)
    assert "path" in shell.fix("plan", f"{ODD}/flow.yaml", "--policy", "none.yaml", code=21)


@pytest.mark.parametrize("value", ["A text on {{ topic }}", "{{ topic }}"])
def test_a_template_without_quotes_in_braces(shell: Shell, folder: Path, value: str) -> None:
    step = "{agent: alpha, input: TEXT}"
    flow = FLOW.replace('{agent: alpha, input: "{{ topic }}"}', step)
    (folder / "flow.yaml").write_text(flow.replace("TEXT", value))
    assert re.search('quotes|write "', shell.fix("validate", f"{ODD}/flow.yaml", code=3))
    (folder / "flow.yaml").write_text(flow.replace("TEXT", f'"{value}"'))
    assert run_program(["validate", f"{ODD}/flow.yaml"]) == 0


def test_a_program_and_its_arguments_in_one_text(shell: Shell, folder: Path) -> None:
    flow = FLOW.replace("{prompt: A}", "{prompt: A, tools: [mcp:s/x]}")
    (folder / "flow.yaml").write_text(flow + "tools: {mcp: [{id: s, command: no-such -y tool}]}\n")
    fixes = shell.fixes("plan", f"{ODD}/flow.yaml", "--var", "topic=x", code=18)
    assert fixes == ["write `command: no-such` and `args: [-y, tool]`"]


def test_a_journal_that_is_gone(shell: Shell, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "20261122-231954-b138c8"
    run.mkdir(parents=True)
    assert shell.typed(shell.fix("runs", "show", run.name, code=17).rpartition(": ")[2]) == 0
    assert not run.exists()


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (["runs", "show"], "strands runs list"),
        (["approve", "last", "--answer"], "--answer VALUE"),
        (["plan"], "workflow file"),
        (["agent"], "strands workflows agent"),
        (["rnu"], "'run'"),
        (["new", "flow", "--model", "m"], "--provider NAME"),
        (["plan", "."], "none in YAML"),
        (["validate", "."], "another folder"),
    ],
)
def test_what_is_missing_on_a_command_line(shell: Shell, words: list[str], fix: str) -> None:
    assert fix in shell.fix(*words, code=2)


@pytest.mark.parametrize(
    ("old", "new", "fix"),
    [
        ("model_id: m}", "model_id: m, api_key: sk-1}", "strands explain live-models"),
        ("inputs:", "security: {permissions: {allow: [calculator]}}\ninputs:", "--allow NAME"),
        ("{prompt: A}", "{prompt: A, tools: [{native: calculator}]}", "tool: native:NAME"),
        ("{{ topic }}", "{{ topic | uper }}", "did you mean 'upper'?"),
        ("{agent: beta}", "{input: x}", "agent: NAME"),
        ("{{ topic }}", "{{ inputs.topic }}", "write `topic`"),
        ("{prompt: A}", "{prompt: A: b}", "put the text with `:` in quotes"),
        ("spoiled", "@spoiled", "put the text with `@` in quotes"),
        ("inputs:", "skills: [./folder]\ninputs:", "with keys of "),
        ("inputs:", "tools: {mcp: [{id: s}]}\ninputs:", "`command:`"),
        ("inputs:", "tools: {mcp: [{id: s s, command: cat}]}\ninputs:", "digits and . _ : -"),
        ("{prompt: A}", "{prompt: A, tools: [{tool: native:calculator, as: a.b}]}", "at most 64"),
        ("{prompt: A}", "{prompt: A, output_schema: {type: strng}}", "did you mean 'string'?"),
    ],
)
def test_a_key_of_other_programs(shell: Shell, folder: Path, old: str, new: str, fix: str) -> None:
    (folder / "flow.yaml").write_text(FLOW.replace(old, new))
    code = 0 if "inputs.topic" in new else 3
    assert fix in " ".join(shell.fixes("validate", f"{ODD}/flow.yaml", code=code))
