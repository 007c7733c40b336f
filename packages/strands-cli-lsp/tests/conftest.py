"""What the tests of corrections and of the language server share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from editor import Editor

from tests.cli.strands import Folder, empty_folder
from tests.wordings import wording

__all__ = ["wording"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """Return an empty folder."""
    with empty_folder(tmp_path) as made:
        yield made


@pytest.fixture
def editor(folder: Folder) -> Iterator[Editor]:
    """Return an editor with a server in that folder."""
    opened = Editor(folder.work, folder.environment())
    yield opened
    opened.close()
