"""What the program says where the distribution is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.without import Without, without


@pytest.fixture
def bare(tmp_path: Path) -> Without:
    """Return an environment without strands-cli-migrate."""
    return without("strands-cli-migrate", tmp_path)


def test_its_command_says_what_to_install(bare: Without) -> None:
    bare.assert_absent("workflows agent", "strands-cli-migrate", "workflows", "agent", "list")


@pytest.mark.parametrize("words", ["migrate", "workflows migrate"])
def test_each_of_its_commands_says_what_to_install(bare: Without, words: str) -> None:
    ran = bare.strands(*words.split(), "x")
    assert ran.returncode == 18, ran.stdout + ran.stderr
    assert "`workflows migrate` comes with strands-cli-migrate" in ran.stderr


@pytest.mark.parametrize("version", ["0", "1", "'1'", "1.0", "1.0.0", "3", "latest"])
def test_a_file_of_another_version_is_one_finding_with_what_to_install(bare: Without, version: str) -> None:
    (bare.work / "old.yaml").write_text(FLOW.replace("version: 2", f"version: {version}") + "colour: red\n")
    for command in ("validate", "plan", "run"):
        ran = bare.strands(command, "old.yaml")
        assert ran.returncode == 18, ran.stdout + ran.stderr
        assert ran.stderr.count("[unknown-format]") == ran.stderr.count("  fix: ") == 1, ran.stderr
        assert "old.yaml:2:10" in ran.stderr
        assert "pip install 'strands-cli[migrate]'" in ran.stderr
        assert "strands workflows migrate old.yaml" in ran.stderr


def test_nothing_else_misses_it(bare: Without) -> None:
    shown = bare.strands("--help")
    assert shown.returncode == 0, shown.stderr
    assert "strands-cli-migrate" not in shown.stdout
    assert bare.strands("plugin", "list").returncode == 0


AGENT = """
prompt: You say.
tests: [{name: a, input: x, recording: [{text: y}], expect: {output: y}}]
"""
FLOW = """
version: 2
name: flow
runtime: {provider: replay, recording: turns.yaml}
agents: {teller: {$ref: agents/teller.yaml}}
pattern: {type: chain, config: {steps: [{agent: teller, input: Go.}]}}
"""


def test_workflows_use_agents_and_folders_are_checked_without_it(bare: Without) -> None:
    (bare.work / "agents").mkdir()
    (bare.work / "agents" / "teller.yaml").write_text(AGENT)
    (bare.work / "flow.yaml").write_text(FLOW)
    (bare.work / "turns.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: all well}]}\n")
    ran = bare.strands("run", "flow.yaml", "--quiet", "--runs-dir", "runs")
    assert (ran.returncode, ran.stdout) == (0, "all well\n"), ran.stderr
    checked = bare.strands("validate", "agents")
    assert (checked.returncode, checked.stdout.splitlines()) == (0, ["agents/teller.yaml: ok"]), checked.stderr
