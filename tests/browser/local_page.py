"""A real `strands ui` on a free port of this machine, and browsers that it admits."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from tests.browser.chromium import WIDTHS, Chromium, Window
from tests.cli.strands import SECONDS, Folder, Started


def row_link(run: str) -> str:
    """Return the selector of the link from the list of runs to one of them."""
    return f"#r-{run} th a"


@dataclass(frozen=True)
class LocalPage:
    """The page that is served, and the folder in which it was started."""

    folder: Folder
    started: Started
    chromium: Chromium

    def address(self) -> str:
        """Return the next address that admits a browser, once."""
        assert self.started.process.stdout is not None
        guard = threading.Timer(SECONDS, self.started.process.kill)
        guard.start()
        try:
            line = self.started.process.stdout.readline().strip()
        finally:
            guard.cancel()
        assert line.startswith("http://127.0.0.1:"), f"no address came, but {line!r}"
        return line

    @contextlib.contextmanager
    def window(self, width: int = WIDTHS[1], *, dark: bool = False, javascript: bool = True) -> Iterator[Window]:
        """Open a window that is admitted and shows the runs."""
        with self.chromium.window(width, dark=dark, javascript=javascript) as window:
            window.open(self.address())
            window.page.get_by_role("heading", name="Runs", level=1).wait_for()
            window.forget()
            yield window


@contextlib.contextmanager
def served(folder: Folder, chromium: Chromium) -> Iterator[LocalPage]:
    """Serve the page of a folder until the end."""
    started = folder.start("ui", "--port", "0")
    try:
        yield LocalPage(folder, started, chromium)
    finally:
        started.send(signal.SIGTERM)
        # Reads to the end and closes its pipes; an open one is a warning, which fails the whole session.
        started.end()
