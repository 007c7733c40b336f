"""What the program says where the distribution is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.without import Without, without


@pytest.fixture
def bare(tmp_path: Path) -> Without:
    """Return an environment without strands-cli-doctor."""
    return without("strands-cli-doctor", tmp_path)


def test_its_command_says_what_to_install(bare: Without) -> None:
    bare.assert_absent("doctor", "strands-cli-doctor", "doctor", "--no-engines")


def test_nothing_else_misses_it(bare: Without) -> None:
    shown = bare.strands("--help")
    assert shown.returncode == 0, shown.stderr
    assert "\n  doctor " not in shown.stdout
    assert bare.strands("plugin", "list").returncode == 0


def test_a_workflow_runs_and_a_text_that_names_the_command_is_right(bare: Without) -> None:
    made = bare.strands("new", "flow.yaml")
    assert made.returncode == 0, made.stderr
    ran = bare.strands("run", "flow.yaml", "--yes")
    assert ran.returncode == 0, ran.stderr
    assert "strands_cli_doctor" not in ran.stdout + ran.stderr


NAMES = "import strands_cli.api as api; print(all(getattr(api, name) is not None for name in api._PUBLIC))"


def test_the_names_that_it_uses_of_the_core_need_nothing_of_it(bare: Without) -> None:
    ran = bare.run("-c", NAMES)
    assert (ran.returncode, ran.stdout) == (0, "True\n"), ran.stderr
    assert "No module named 'strands_cli_doctor'" in bare.run("-c", "import strands_cli_doctor").stderr
