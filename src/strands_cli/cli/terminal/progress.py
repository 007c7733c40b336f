"""Choose the view of a run that fits stderr: lines, lines with a status line below them, or JSON."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from strands_cli.cli.output import logs_json
from strands_cli.cli.terminal.log_view import LogView
from strands_cli.cli.terminal.run_view import View
from strands_cli.cli.terminal.status_view import StatusView, wants_status


@contextlib.contextmanager
def open_view(*, quiet: bool, verbose: bool) -> Iterator[View]:
    """Open the view that fits stderr: a status line only on a terminal that can show it while nothing else streams."""
    if logs_json():
        yield LogView(quiet=quiet, verbose=verbose)
        return
    if quiet or verbose or not wants_status():
        yield View(quiet=quiet, verbose=verbose)
        return
    with StatusView() as view:
        yield view
