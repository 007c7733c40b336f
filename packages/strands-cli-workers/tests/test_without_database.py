"""Commands of queues where there are none: what is missing is named, with what to do."""

from __future__ import annotations

import pytest

from tests.cli.strands import Folder

COMMANDS = (
    ["workers", "submit", "flow.yaml"],
    ["workers", "start"],
    ["workers"],
    ["workers", "queue", "status"],
    ["workers", "queue", "cancel", "x"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_runs_in_a_directory_have_no_queues(folder: Folder, command: list[str]) -> None:
    folder.workflow([{"agent": "writer", "input": "x"}], {"steps.0": [{"text": "y"}]})

    ran = folder.strands(*command)

    assert ran.code == 2
    assert "--store postgresql://" in ran.err


def test_a_workspace_that_is_not_a_directory_is_refused(folder: Folder) -> None:
    assert folder.strands("workers", "start", "--workspace", "none").code == 2
