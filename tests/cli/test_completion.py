"""Completion in real shells at a terminal: what Tab adds to a line."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from scripts.project_commands import project_commands
from strands_cli.cli.program import program
from tests.cli.strands import STRANDS, Folder

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX", allow_module_level=True)

from tests.cli.terminal import Terminal

pytestmark = pytest.mark.terminals
# How each shell starts without the settings of this machine, reads the script, and shows the words of a line.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'source <("$S" completion bash); strands() { echo "got:$*:"; }'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'mkdir .read; "$S" completion zsh > .read/_strands; fpath=($PWD/.read $fpath); autoload -Uz compinit; '
        'compinit -D -u; strands() { echo "got:$*:"; }',
    ),
    "fish": (
        ["fish", "--no-config", "--private"],
        '"$S" completion fish | source; function strands; echo "got:$argv:"; end',
    ),
}
WAITING = {"version": 2, "name": "gate"}
WRITER = {"writer": {"prompt": "You write.", "tools": []}}


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, folder: Folder) -> Iterator[Terminal]:
    """An interactive shell that has read the script, and whose line begins with `strands`."""
    command, read_script = SHELLS[request.param]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed; .ci/run installs it")
    program = shutil.which(STRANDS) or STRANDS
    environment = folder.environment(S=program, PATH=f"{program.rpartition('/')[0]}:/usr/bin:/bin")
    with Terminal(command, folder.work, environment) as terminal:
        terminal.type(f"{read_script}; echo rea''dy\n")
        terminal.wait_for("ready")
        yield terminal


def test_tab_completes_commands_options_and_what_is_on_this_machine(folder: Folder, shell: Terminal) -> None:
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "done"}]}, agents=WRITER)
    (folder.work / "deep").mkdir()
    shutil.copy(folder.work / "flow.yaml", folder.work / "deep" / "own-flow.yaml")
    shutil.copy(folder.work / "flow.recording.yaml", folder.work / "deep" / "own-flow.recording.yaml")
    (folder.work / "deep" / "$(touch run-by-the-shell).yaml").write_text("name: flow\n")
    assert folder.strands("run", "flow.yaml").code == 0
    (run,) = (entry.name for entry in folder.runs.iterdir() if entry.is_dir())
    folder.write("servers.json", {"mcpServers": {}})
    folder.write("uses.yaml", {"agents": {"one": {}, "two": {"tools": [{"python": "a:b"}, "mcp:files/read_text"]}}})
    gate = {"type": "hitl", "prompt": "Go on?"}
    folder.write("gate.yaml", WAITING | {"pattern": {"type": "chain", "config": {"steps": [gate]}}})
    assert folder.strands("run", "gate.yaml").code == 19
    lines = {
        "vali": "validate",
        "tools show curr": "tools show current_time",
        "run flow.yaml --allow calc": "run flow.yaml --allow calculator",
        "run --provider anthr": "run --provider anthropic",
        "run deep": "run deep/own-flow.yaml",
        f"runs show {run[:-1]}": f"runs show {run}",
        "runs show la": "runs show last",
        "rerun last --from st": "rerun last --from steps.0",
        "tools run --of serv": "tools run --of servers.json",
        "explain unknown-prov": "explain unknown-provider",
        "list-tools --sou": "list-tools --source",
        "run flow.yaml --allow native:calc": "run flow.yaml --allow native:calculator",
        'run "flow.yaml" --var "a=b c:d" --allow "native:calc': "run flow.yaml --var a=b c:d --allow native:calculator",
        "run flow.yaml --var a=b:c --allow native:calc": "run flow.yaml --var a=b:c --allow native:calculator",
        "run flow.yaml --var a=b:c --provider anthr": "run flow.yaml --var a=b:c --provider anthropic",
        "run uses.yaml --allow mcp:files/re": "run uses.yaml --allow mcp:files/read_text",
        'run "deep/own-f': "run deep/own-flow.yaml",
    }
    for typed, completed in lines.items():
        shell.type(f"strands {typed}\t\n")
        assert shell.wait_for(r"got:(.*?) ?:\r")[1] == completed
    assert not list(folder.work.rglob("run-by-the-shell"))


def test_tab_completes_a_part_of_a_word(shell: Terminal) -> None:
    left = "\x1b[D"
    lines = {
        "run --allow=native:calc\t": "run --allow=native:calculator",
        "run --allow native:'calc\t": "run --allow native:calculator",
        f"run --var a=b:c  --allow=native:calc more{left * 5}\t": "run --var a=b:c --allow=native:calculator more",
        "run --provider=anthr\t": "run --provider=anthropic",
    }
    for typed, completed in lines.items():
        shell.type(f"strands {typed}\n")
        assert shell.wait_for(r"got:(.*?) ?:\r")[1] == completed


@pytest.mark.parametrize(
    ("words", "begun", "offered"),
    [
        ("approve last", "st", ["steps.0"]),
        ("runs rerun last --from", "st", ["steps.0"]),
        ("runs show last", "st", ["steps.0"]),
        ("resume last --redo", "", []),
        ("runs list --status", "wai", ["waiting"]),
        ("tools list --family", "fil", ["files"]),
        ("tools list --category", "comp", ["compute"]),
        ("tools import", "", ["servers.json"]),
        ("tools list --mcp", "", ["gate.yaml", "servers.json"]),
        ("batch run gate.yaml", "", ["rows.csv"]),
        ("batch status", "", []),
        ("run gate.yaml --export", "rep", ["report="]),
    ],
)
def test_each_argument_is_completed_with_what_it_takes(
    folder: Folder, words: str, begun: str, offered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("servers.json", {"mcpServers": {}})
    folder.write("rows.csv", "topic\n")
    steps = [{"type": "hitl", "prompt": "Go on?"}]
    folder.write("gate.yaml", WAITING | {"pattern": {"type": "chain", "config": {"steps": steps}}})
    assert folder.strands("run", "gate.yaml").code == 19
    monkeypatch.chdir(folder.work)
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(folder.runs))
    assert completed(words.split(), begun) == offered


@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("", {"days=": "integer, optional How many", "kind=": "string, required", "dry=": "boolean, optional"}),
        ("d", {"days=": "integer, optional How many", "dry=": "boolean, optional"}),
        ("kind=", {"kind=a": None, "kind=b": None}),
        ("kind=b", {"kind=b": None}),
        ("dry=", {"dry=true": None, "dry=false": None}),
        ("days=", {}),
        ("x", {}),
    ],
)
def test_the_inputs_of_the_workflow_are_completed_with_their_meaning(
    folder: Folder, begun: str, offered: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    optional = {"days": {"type": "integer", "default": 7, "description": "How 'many'"}, "dry": {"type": "boolean"}}
    inputs = {"required": {"kind": {"type": "string", "enum": ["a", "b", "$(c)"]}}, "optional": optional}
    folder.write("flow.yaml", WAITING | {"inputs": inputs, "pattern": {"type": "chain", "config": {"steps": []}}})
    monkeypatch.chdir(folder.work)
    assert {item.value: item.help for item in items(["run", "flow.yaml", "--var"], begun)} == offered
    assert items(["run", "absent.yaml", "--var"], "") == []


def test_runs_are_completed_with_their_workflow_and_status(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [{"type": "hitl", "prompt": "Go on?"}]
    folder.write("gate.yaml", WAITING | {"pattern": {"type": "chain", "config": {"steps": steps}}})
    assert folder.strands("run", "gate.yaml").code == 19
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(folder.runs))
    run, last = items(["runs", "show"], "")
    assert (run.help, last.value) == ("gate waiting", "last")


def test_the_files_of_a_run_are_completed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [{"type": "hitl", "prompt": "Go on?"}]
    files = {"artifacts": [{"path": "sub/a.md", "from": "a"}, {"path": "b.txt", "from": "b"}]}
    pattern = {"type": "chain", "config": {"steps": steps}}
    folder.write("gate.yaml", WAITING | {"pattern": pattern, "outputs": files})
    assert folder.strands("run", "gate.yaml", "--out", "out").code == 19
    assert folder.strands("approve", "last").code == 0
    monkeypatch.chdir(folder.work)
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(folder.runs))
    assert completed(["runs", "artifacts", "last"], "out/") == ["out/sub/a.md", "out/b.txt"]


def completed(words: list[str], begun: str) -> list[str]:
    return [item.value for item in items(words, begun)]


def items(words: list[str], begun: str) -> list[Any]:
    """Return what the last option of the words, or their command's next argument, is completed with."""
    command: Any = project_commands()[words.pop(0)] if words else get_command(program)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    context = command.make_context("strands", list(words), resilient_parsing=True)
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    named = [one for one in command.params if words and words[-1] in one.opts]
    (wanted,) = named or arguments[len(words) :][:1]
    return list(wanted.shell_complete(context, begun))
