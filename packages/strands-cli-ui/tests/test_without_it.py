"""What the program says where the distribution is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.without import Without, without


@pytest.fixture
def bare(tmp_path: Path) -> Without:
    """Return an environment without strands-cli-ui."""
    return without("strands-cli-ui", tmp_path)


def test_its_command_says_what_to_install(bare: Without) -> None:
    ran = bare.strands("ui", "--port", "0")
    assert ran.returncode == 18, ran.stdout + ran.stderr
    assert "`ui` comes with strands-cli-ui" in ran.stderr
    assert "pip install 'strands-cli[ui]'" in ran.stderr


def test_nothing_else_misses_it(bare: Without) -> None:
    shown = bare.strands("--help")
    assert shown.returncode == 0, shown.stderr
    assert "strands-cli-ui" not in shown.stdout
    assert bare.strands("plugin", "list").returncode == 0
    assert "No module named 'strands_cli_ui'" in bare.run("-c", "import strands_cli_ui").stderr
