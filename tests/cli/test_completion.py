"""Completion in real shells at a terminal: what Tab adds to a line."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator

import pytest

from tests.cli.strands import STRANDS, Folder

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX", allow_module_level=True)

from tests.cli.terminal import Terminal

# How each shell starts without the settings of this machine, reads the script, and shows the words of a line.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'source <("$S" completion bash); strands() { echo "got:$*:"; }'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'autoload -Uz compinit; compinit -D -u; source <("$S" completion zsh); strands() { echo "got:$*:"; }',
    ),
    "fish": (
        ["fish", "--no-config", "--private"],
        '"$S" completion fish | source; function strands; echo "got:$argv:"; end',
    ),
}
WAITING = {"version": 1, "name": "gate"}
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
        "approve last st": "approve last steps.0",
        "rerun last --from st": "rerun last --from steps.0",
        "runs list --status wai": "runs list --status waiting",
        "list-tools --family fil": "list-tools --family files",
        "tools run --of serv": "tools run --of servers.json",
        "tools import serv": "tools import servers.json",
        "explain unknown-prov": "explain unknown-provider",
        "list-tools --sou": "list-tools --source",
    }
    for typed, completed in lines.items():
        shell.type(f"strands {typed}\t\n")
        assert shell.wait_for(r"got:(.*?) ?:")[1] == completed
    assert not list(folder.work.rglob("run-by-the-shell"))
