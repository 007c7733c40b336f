"""What the program says where the distribution is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.without import Without, without

INSTALL = "pip install 'strands-cli[notify]'"


@pytest.fixture
def bare(tmp_path: Path) -> Without:
    """Return an environment without strands-cli-notify."""
    return without("strands-cli-notify", tmp_path)


def test_its_command_says_what_to_install(bare: Without) -> None:
    bare.assert_absent("runs notify", "strands-cli-notify", "runs", "notify", "--test")


def test_nothing_else_misses_it(bare: Without) -> None:
    shown = bare.strands("--help")
    assert shown.returncode == 0, shown.stderr
    assert "strands-cli-notify" not in shown.stdout
    assert bare.strands("plugin", "list").returncode == 0
    assert "No module named 'strands_cli_notify'" in bare.run("-c", "import strands_cli_notify").stderr


def configure(bare: Without, text: str) -> Path:
    path = bare.work / ".config" / "strands-cli" / "config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"version: 1\n{text}\n", encoding="utf-8")
    return path


def test_a_config_file_with_a_target_stops_a_run_before_it_begins(bare: Without) -> None:
    made = bare.strands("new", "flow.yaml")
    assert made.returncode == 0, made.stderr
    path = configure(bare, "notify: {command: [notify-me]}")
    ran = bare.strands("run", "flow.yaml", "--yes", "--runs-dir", "runs")
    assert ran.returncode == 18, ran.stdout + ran.stderr
    assert str(path) in ran.stderr
    assert INSTALL in ran.stderr
    assert not (bare.work / "runs").exists()
    checked = bare.strands("doctor", "--no-engines")
    assert checked.returncode == 18, checked.stdout
    assert INSTALL in checked.stdout
    for options in ([], ["--json"]):
        planned = bare.strands("plan", "flow.yaml", *options)
        assert (planned.returncode, INSTALL in planned.stderr) == (18, True), planned.stderr


@pytest.mark.parametrize("text", ["", "notify: []", "notify:"])
def test_without_a_target_a_run_needs_nothing(bare: Without, text: str) -> None:
    bare.strands("new", "flow.yaml")
    configure(bare, text)
    ran = bare.strands("run", "flow.yaml", "--yes")
    assert ran.returncode == 0, ran.stderr
    assert "notify" not in ran.stdout + ran.stderr
