"""What the tests of batches share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from batch_kit import Rows

from tests.cli.strands import empty_folder


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Rows]:
    """Return a folder with a workflow for rows, and a model that answers each by its input."""
    with empty_folder(tmp_path) as folder:
        made = Rows(folder)
        with made.server:
            made.flow()
            yield made
