"""What works where the distribution is not installed: the core and the tools, and a test file names what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.without import Without, without

# Each starts processes with a folder of links for site-packages.
pytestmark = pytest.mark.wheels


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Without:
    """Return an environment without strands-cli-dev."""
    return without("strands-cli-dev", tmp_path_factory.mktemp("without"))


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
def test_the_core_and_its_tools_do_not_miss_it(bare: Without, words: tuple[str, ...]) -> None:
    ran = bare.strands(*words)
    assert ran.returncode == 0, ran.stderr
    assert "strands-cli-dev" not in (ran.stdout + ran.stderr).replace("_", "-")


@pytest.mark.parametrize("words", [("watch", "run", "flow.yaml"), ("run", "flow.yaml", "--watch")], ids=" ".join)
def test_its_commands_say_what_to_install(bare: Without, words: tuple[str, ...]) -> None:
    ran = bare.strands(*words)
    assert ran.returncode == 18, ran.stdout + ran.stderr
    assert "comes with strands-cli-dev" in ran.stderr
    assert "pip install 'strands-cli[dev]'" in ran.stderr


def test_every_name_for_distributions_is_there(bare: Without) -> None:
    program = "import strands_cli.api as api; print(all(getattr(api, name) is not None for name in api._PUBLIC))"
    ran = bare.run("-c", program)
    assert (ran.returncode, ran.stdout.strip()) == (0, "True"), ran.stderr


def test_nothing_of_it_is_left_behind(bare: Without) -> None:
    assert "ModuleNotFoundError: No module named 'strands_cli_dev'" in bare.run("-c", "import strands_cli_dev").stderr


def test_the_tests_of_a_new_plugin_name_what_is_missing(bare: Without, tmp_path: Path) -> None:
    made = bare.strands("plugin", "new", "your_words", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    project = tmp_path / "strands-tool-your-words"
    assert "pip install strands-cli-dev" in made.stdout
    assert "pip install strands-cli-dev" in (project / "README.md").read_text(encoding="utf-8")
    pytest_ = (
        "import sys; sys.path.insert(0, 'src'); import pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider']))"
    )
    ran = bare.run("-c", pytest_, cwd=project)
    assert ran.returncode == pytest.ExitCode.INTERRUPTED, ran.stdout
    assert "No module named 'strands_cli_dev'" in ran.stdout
