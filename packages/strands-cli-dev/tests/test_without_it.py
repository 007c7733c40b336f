"""What works where the distribution is not installed: the core and the tools, and a test file names what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Each starts processes with a folder of links for site-packages.
pytestmark = pytest.mark.wheels


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with links to all that is installed, without strands-cli-dev."""
    site = tmp_path_factory.mktemp("without") / "site"
    site.mkdir()
    for entry in map(Path, sys.path):
        if entry.name == "site-packages":
            for one in entry.iterdir():
                if "strands_cli_dev" not in one.name:
                    (site / one.name).symlink_to(one)
    return site


def run(bare: Path, program: str, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("STRANDS_", "PYTHON"))}
    whole = f"import site, sys; site.addsitedir(sys.argv.pop(1)); {program}"
    return subprocess.run(
        [sys.executable, "-S", "-B", "-c", whole, str(bare), *words],
        cwd=cwd or bare.parent,
        env={**environment, "HOME": str(bare.parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


STRANDS = "from strands_cli.cli import main; sys.exit(main())"


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("list-tools",),
        ("plugin", "list"),
        ("tools", "run", "native:calculator", "--input", '{"expression": "6 * 7"}'),
    ],
    ids=" ".join,
)
def test_the_core_and_its_tools_do_not_miss_it(bare: Path, words: tuple[str, ...]) -> None:
    ran = run(bare, STRANDS, *words)
    assert ran.returncode == 0, ran.stderr
    assert "strands-cli-dev" not in (ran.stdout + ran.stderr).replace("_", "-")


def test_every_name_for_distributions_is_there(bare: Path) -> None:
    program = "import strands_cli.api as api; print(all(getattr(api, name) is not None for name in api._PUBLIC))"
    ran = run(bare, program)
    assert (ran.returncode, ran.stdout.strip()) == (0, "True"), ran.stderr


@pytest.mark.parametrize("module", ["strands_cli_dev", "strands_cli.testing"])
def test_nothing_of_it_is_left_behind(bare: Path, module: str) -> None:
    assert f"ModuleNotFoundError: No module named '{module}'" in run(bare, f"import {module}").stderr


def test_the_tests_of_a_new_plugin_name_what_is_missing(bare: Path, tmp_path: Path) -> None:
    made = run(bare, STRANDS, "plugin", "new", "your_words", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    project = tmp_path / "strands-tool-your-words"
    assert "pip install strands-cli-dev" in made.stdout
    assert "pip install strands-cli-dev" in (project / "README.md").read_text(encoding="utf-8")
    pytest_ = "sys.path.insert(0, 'src'); import pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider']))"
    ran = run(bare, pytest_, cwd=project)
    assert ran.returncode == pytest.ExitCode.INTERRUPTED, ran.stdout
    assert "No module named 'strands_cli_dev'" in ran.stdout
