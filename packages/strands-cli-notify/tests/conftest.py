"""What the tests of the messages share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strands_tool_kit.loopback import LoopbackServer, loopback_servers
from tests.cli.strands import Folder, empty_folder
from tests.wordings import wording

__all__ = ["wording"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """Return an empty folder to run commands in."""
    with empty_folder(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[..., LoopbackServer]]:
    """Yield what starts a server on loopback; all of them stop at the end of a module."""
    with loopback_servers() as started:
        yield started
