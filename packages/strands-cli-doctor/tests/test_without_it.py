"""What the program says where the distribution is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

INSTALLED_AS = ("strands_cli_doctor", "_strands_cli_doctor", "__editable__.strands_cli_doctor")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return a folder with links to all that is installed, without strands-cli-doctor."""
    site = tmp_path / "site"
    site.mkdir()
    for entry in map(Path, sys.path):
        if entry.name == "site-packages":
            for one in entry.iterdir():
                if not one.name.startswith(
                    ("strands_cli_doctor", "_strands_cli_doctor", "__editable__.strands_cli_doctor")
                ):
                    (site / one.name).symlink_to(one)
    return site


def run(bare: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("STRANDS_", "PYTHON"))}
    program = "import site, sys; site.addsitedir(sys.argv.pop(1)); from strands_cli.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-S", "-c", program, str(bare), *words],
        cwd=bare.parent,
        env={**environment, "HOME": str(bare.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_its_command_says_what_to_install(bare: Path) -> None:
    ran = run(bare, "doctor", "--no-engines")
    assert ran.returncode == 18, ran.stdout + ran.stderr
    assert "`doctor` comes with strands-cli-doctor, which is not installed" in ran.stderr
    assert "pip install strands-cli-doctor" in ran.stderr


def test_nothing_else_misses_it(bare: Path) -> None:
    shown = run(bare, "--help")
    assert shown.returncode == 0, shown.stderr
    assert "doctor" not in shown.stdout
    assert run(bare, "plugin", "list").returncode == 0


def test_a_workflow_runs_and_a_text_that_names_the_command_is_right(bare: Path) -> None:
    made = run(bare, "new", "flow.yaml")
    assert made.returncode == 0, made.stderr
    ran = run(bare, "run", "flow.yaml", "--yes")
    assert ran.returncode == 0, ran.stderr
    assert "strands_cli_doctor" not in ran.stdout + ran.stderr


NAMES = """
import site, sys
site.addsitedir(sys.argv[1])
import strands_cli.api as api
print(len([getattr(api, name) for name in api._PUBLIC]))
"""


def test_the_names_that_it_uses_of_the_core_need_nothing_of_it(bare: Path) -> None:
    ran = subprocess.run([sys.executable, "-S", "-c", NAMES, str(bare)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
