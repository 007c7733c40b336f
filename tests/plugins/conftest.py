"""What the tests of plugins share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.strands import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Return an empty folder to run commands in."""
    made = Folder(tmp_path)
    made.work.mkdir()
    made.site.mkdir()
    return made
