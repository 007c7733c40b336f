"""What the tests of the local page share: one server for each module, and a run that waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from served import GATE, Browser, Served

from tests.cli.strands import Folder
from tests.wordings import wording

__all__ = ["wording"]

TURNS = {"steps.1": [{"text": "shipped"}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    """Return a folder with a workflow, and a run of it that waits."""
    made = Folder(tmp_path_factory.mktemp("ui"))
    made.work.mkdir()
    made.site.mkdir()
    made.workflow([GATE, {"agent": "writer", "input": "ship"}], TURNS)
    assert made.strands("run", "flow.yaml", "--detach").code == 19
    yield made
    made.end_started()


@pytest.fixture(scope="module")
def served(folder: Folder) -> Iterator[Served]:
    """Return a page that is served."""
    one = Served(folder)
    yield one
    one.process.kill()
    one.end()


@pytest.fixture(scope="module")
def browser(served: Served) -> Browser:
    """Return a browser that is admitted."""
    return Browser.admitted(served.address())
