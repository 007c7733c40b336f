"""What the tests of the doctor share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.strands import Folder, empty_folder
from tests.wordings import wording

__all__ = ["wording"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """Return an empty folder to run commands in."""
    with empty_folder(tmp_path) as made:
        yield made


@pytest.fixture
def sane(folder: Folder) -> Folder:
    """Return a folder with a home and a PATH on which this program is."""
    (folder.root / "home").mkdir()
    folder.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.defpath])
    return folder
