"""Which ids people may give to runs that workers run."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.api import UsageError
from strands_cli_workers.names import require_id
from strands_cli_workers.workspace import Workspace


@pytest.mark.parametrize(
    "run_id", ["../../escaped", "/etc", "..", "two words", "a;b", "-x", "last", "a\n", "\u00e9t\u00e9", "", "a" * 101]
)
def test_an_id_that_leads_out_of_the_folder_or_is_another_word_in_a_shell_is_refused_and_the_fix_names_one_that_is_none(
    run_id: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        require_id(run_id)
    require_id(str(refused.value.fix).removeprefix("--id "))

    with pytest.raises(UsageError):  # a run may be stored by other programs
        Workspace(None, tmp_path).of_run(run_id)


@pytest.mark.parametrize("run_id", ["nightly", "nightly-20261201T060000", "rows-0a1b2c3d.0123456789abcdef", "a" * 100])
def test_ids_of_schedules_firings_and_rows_are_ids(run_id: str, tmp_path: Path) -> None:
    assert Workspace(None, tmp_path).of_run(run_id).parent == tmp_path / "runs"
