"""What works where the distribution is not installed: the core and the tools, and a test file names what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli_dev.plugin_new.new_plugin import NewPlugin, make_plugin
from strands_cli_dev.plugin_new.plugin_name import name_plugin
from tests.adoption.kit import FILE, adopt, install
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


@pytest.mark.parametrize(
    "words",
    [
        ("workflows", "watch", "run", "flow.yaml"),
        ("run", "flow.yaml", "--watch"),
        ("plugin", "new", "your_words"),
        ("plugin", "check", "."),
        ("plugin", "manifest", "--check"),
        ("plugin", "adopt", "acme-tools", "--all"),
        ("plugin", "unadopt", "acme-tools"),
    ],
    ids=" ".join,
)
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
    project = make_plugin(NewPlugin(name_plugin("your_words")), tmp_path)
    assert "pip install strands-cli-dev" in (project / "README.md").read_text(encoding="utf-8")
    pytest_ = (
        "import sys; sys.path.insert(0, 'src'); import pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider']))"
    )
    ran = bare.run("-c", pytest_, cwd=project)
    assert ran.returncode == pytest.ExitCode.INTERRUPTED, ran.stdout
    assert "No module named 'strands_cli_dev'" in ran.stdout


def test_what_was_adopted_works(bare: Without) -> None:
    site = bare.work / "site"
    install(site)
    adopt(bare.work / ".config" / "strands-cli" / FILE, site, {"hello": "acme_tools.hello:hello"})
    program = "import sys; sys.path.append(sys.argv.pop(1)); from strands_cli.cli import main; main()"
    ran = bare.run("-c", program, str(site), "tools", "run", "hello", "--input", '{"name": "Ada"}')
    assert ran.returncode == 0, ran.stderr


def test_the_fix_of_an_unknown_tool_is_the_same(bare: Without) -> None:
    ran = bare.strands("tools", "show", "native:calculatr")
    assert (ran.returncode, "native:calculator" in ran.stderr) == (3, True)
