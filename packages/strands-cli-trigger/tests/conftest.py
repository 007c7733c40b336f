"""What the tests of triggers share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.strands import Folder, empty_folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """Return an empty folder to run commands in."""
    with empty_folder(tmp_path) as made:
        yield made
