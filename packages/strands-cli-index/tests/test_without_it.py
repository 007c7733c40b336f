"""The program where the distribution is not installed; tests/cli/test_plain_install.py has the plain install."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.without import Without, without


@pytest.fixture
def bare(tmp_path: Path) -> Without:
    """Return an environment without strands-cli-index."""
    return without("strands-cli-index", tmp_path)


@pytest.mark.parametrize("words", [["search"], ["index", "build"], ["publisher"]])
def test_its_commands_say_what_to_install(bare: Without, words: list[str]) -> None:
    ran = bare.strands("plugin", *words)
    assert ran.returncode == 18, ran.stdout + ran.stderr
    assert f"`plugin {words[0]}` comes with strands-cli-index" in ran.stderr
    assert "pip install 'strands-cli[index]'" in ran.stderr


def test_nothing_else_misses_it(bare: Without) -> None:
    shown = bare.strands("plugin", "--help")
    assert shown.returncode == 0, shown.stderr
    assert "\n  search " not in shown.stdout
    assert "\n  install " in shown.stdout
    for command in (["list"], ["verify"]):
        assert bare.strands("plugin", *command).returncode in (0, 3)
    assert "No module named 'strands_cli_index'" in bare.run("-c", "import strands_cli_index").stderr


def test_only_the_build_of_an_index_needs_the_checks_of_authors(tmp_path: Path) -> None:
    bare = without("strands-cli-dev", tmp_path)
    (bare.work / "wheels").mkdir()
    built = bare.strands("plugin", "index", "build", "wheels", "-o", "site")
    assert (built.returncode, "pip install 'strands-cli[dev]'" in built.stderr) == (18, True), built.stderr
    assert bare.strands("plugin", "search", "nothing-has-this-name").returncode == 1
