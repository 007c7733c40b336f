"""What the program says where the distribution is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return a folder with links to all that is installed, without strands-cli-ui."""
    site = tmp_path / "site"
    site.mkdir()
    for entry in map(Path, sys.path):
        if entry.name == "site-packages":
            for one in entry.iterdir():
                if not one.name.startswith(("strands_cli_ui", "_strands_cli_ui", "__editable__.strands_cli_ui")):
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
    ran = run(bare, "ui", "--port", "0")
    assert ran.returncode == 18, ran.stdout + ran.stderr
    assert "`ui` comes with strands-cli-ui, which is not installed" in ran.stderr
    assert "pip install strands-cli-ui" in ran.stderr


def test_nothing_else_misses_it(bare: Path) -> None:
    shown = run(bare, "--help")
    assert shown.returncode == 0, shown.stderr
    assert "strands-cli-ui" not in shown.stdout
    assert run(bare, "plugin", "list").returncode == 0
