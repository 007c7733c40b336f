"""The page about two workers, from an empty directory: every block as a reader types it, one worker killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.pages import CLONE
from tests.docs.reader import Reader
from tests.warm import STRANDS

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(sys.platform == "win32", reason="a shell, signals and sockets as POSIX has them"),
    pytest.mark.skipif(find_spec("strands_cli_workers") is None, reason="needs the engine"),
]
PAGE = CLONE / "docs" / "how-to" / "two-workers.md"


@pytest.fixture
def reader() -> Iterator[Reader]:
    """Return a reader in an empty directory; what still runs when the page is over is killed."""
    with tempfile.TemporaryDirectory(prefix="two-") as made:
        root = Path(made)
        for name in ("work", "home"):
            (root / name).mkdir()
        yield Reader(Path(STRANDS).parent, root / "work", root / "home")
        for file in (root / "work").glob("*.pid"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(file.read_text()), signal.SIGKILL)
        for lock in root.rglob("server.lock"):
            with lock.open("rb+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # until the server has stopped


def test_a_batch_on_two_workers_survives_the_death_of_one(reader: Reader) -> None:
    reader.follow_page(PAGE)
