"""What the program says where the distribution is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from batch_kit import Rows

from tests.without import Without, without


@pytest.fixture
def bare(tmp_path_factory: pytest.TempPathFactory) -> Without:
    """Return an environment without strands-cli-batch."""
    return without("strands-cli-batch", tmp_path_factory.mktemp("bare"))


def test_its_command_says_what_to_install(bare: Without) -> None:
    bare.assert_absent("batch", "strands-cli-batch", "batch", "flow.yaml", "rows.csv")


def test_nothing_else_misses_it(bare: Without) -> None:
    shown = bare.strands("--help")
    assert shown.returncode == 0, shown.stderr
    assert "\n  batch " not in shown.stdout
    assert bare.strands("plugin", "list").returncode == 0
    assert "No module named 'strands_cli_batch'" in bare.run("-c", "import strands_cli_batch").stderr


def test_a_stored_batch_is_a_run_that_consists_of_others(bare: Without, rows: Rows) -> None:
    rows.csv("bees", "ants")
    assert rows.batch().code == 0
    (batch,) = {line["run"].partition(".")[0] for line in rows.lines()}
    at = ("--runs-dir", str(rows.folder.runs))

    shown = bare.strands("runs", "show", batch, *at)
    parts = bare.strands("runs", "list", "--parts", batch, "--json", *at)
    deleted = bare.strands("runs", "delete", batch, *at)

    assert (shown.returncode, parts.returncode, deleted.returncode) == (0, 0, 0), shown.stderr + deleted.stderr
    assert all(line["run"] in parts.stdout for line in rows.lines())
    assert list(Path(rows.folder.runs).glob(f"{batch}*")) == []
