"""What the program says where the distribution is not installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.cli.strands import EXAMPLES


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return the interpreter of an environment with links to all that is installed here, but strands-cli-migrate."""
    venv.create(tmp_path / "venv", symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", vars=dict.fromkeys(("base", "platbase"), str(tmp_path / "venv"))))
    for entry in map(Path, sys.path):
        if entry.name == "site-packages":
            for installed in entry.iterdir():
                if not installed.name.removeprefix("__editable__.").removeprefix("_").startswith("strands_cli_migrate"):
                    (site / installed.name).symlink_to(installed)
    return tmp_path / "venv" / "bin" / "python"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return the folder that commands are typed in."""
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def run(bare: Path, work: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("STRANDS_", "PYTHON"))}
    return subprocess.run(
        [str(bare), "-P", "-m", "strands_cli", *words],
        cwd=work,
        env={**environment, "HOME": str(work.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_its_command_says_what_to_install(bare: Path, work: Path) -> None:
    ran = run(bare, work, "atomic", "list")
    assert ran.returncode == 18, ran.stdout + ran.stderr
    assert "`atomic` comes with strands-cli-migrate, which is not installed" in ran.stderr
    assert "pip install strands-cli-migrate" in ran.stderr


def test_nothing_else_misses_it(bare: Path, work: Path) -> None:
    shown = run(bare, work, "--help")
    assert shown.returncode == 0, shown.stderr
    assert "strands-cli-migrate" not in shown.stdout
    assert run(bare, work, "plugin", "list").returncode == 0


AGENT = """
prompt: You say.
tests: [{name: a, input: x, recording: [{text: y}], expect: {output: y}}]
"""
FLOW = """
version: 1
name: flow
runtime: {provider: replay, recording: turns.yaml}
agents: {teller: {$ref: agents/teller.yaml}}
pattern: {type: chain, config: {steps: [{agent: teller, input: Go.}]}}
"""


def test_workflows_use_agents_and_folders_are_checked_without_it(bare: Path, work: Path) -> None:
    (work / "agents").mkdir()
    (work / "agents" / "teller.yaml").write_text(AGENT)
    (work / "flow.yaml").write_text(FLOW)
    (work / "turns.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: all well}]}\n")
    ran = run(bare, work, "run", "flow.yaml", "--quiet", "--runs-dir", "runs")
    assert (ran.returncode, ran.stdout) == (0, "all well\n"), ran.stderr
    checked = run(bare, work, "validate", "agents")
    assert (checked.returncode, checked.stdout.splitlines()) == (0, ["agents/teller.yaml: ok"]), checked.stderr


def test_a_package_with_an_agent_is_checked_and_its_tests_are_skipped(bare: Path, work: Path) -> None:
    package = work / "package"
    shutil.copytree(EXAMPLES / "packages" / "strands-flow-your-triage", package)
    checked = run(bare, work, "plugin", "check", str(package), "--json")
    document = json.loads(checked.stdout)
    tests = {test["status"] for test in document["tests"] if test["kind"] == "agent"}
    fixes = [(finding["code"], finding["fix"]) for finding in document["findings"]]
    assert (checked.returncode, tests) == (0, {"skipped"}), checked.stdout + checked.stderr
    assert fixes == [("package-untested", "pip install strands-cli-migrate")]
