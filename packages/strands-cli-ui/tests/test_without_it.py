"""What the program says where the distribution is not installed."""

from __future__ import annotations

import pytest

from tests.cli.strands import EXAMPLES
from tests.without import Without, without

QUICKSTART = str(EXAMPLES / "quickstart.yaml")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Without:
    """Return an environment without strands-cli-ui."""
    return without("strands-cli-ui", tmp_path_factory.mktemp("bare"))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("ui", "--port", "0"), "ui"),
        (("runs", "diff", "a", "b"), "runs diff"),
        (("runs", "report", "last"), "runs report"),
        (("runs", "search", "bees"), "runs search"),
        (("runs", "stats"), "runs stats"),
        (("run", QUICKSTART, "--report", "run.html"), "--report"),
        (("run", QUICKSTART, "--export", "report=run.html"), "--report"),
    ],
)
def test_what_it_brings_says_what_to_install(words: tuple[str, ...], named: str, bare: Without) -> None:
    bare.assert_absent(named, "strands-cli-ui", *words)
    assert not (bare.work / "run.html").exists()


def test_nothing_else_misses_it(bare: Without) -> None:
    for words in (
        ("--help",),
        ("runs", "--help"),
        ("plugin", "list"),
        ("runs", "list"),
        ("explain", "supported"),
    ):
        shown = bare.strands(*words)
        assert (shown.returncode, "strands-cli-ui" in shown.stdout) == (0, False), (words, shown.stdout + shown.stderr)
    assert bare.strands("run", QUICKSTART, "--quiet").returncode == 0
    assert bare.strands("runs", "show", "last").returncode == 0
    assert "No module named 'strands_cli_ui'" in bare.run("-c", "import strands_cli_ui").stderr
