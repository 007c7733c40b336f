"""The view of a run that fits stderr: lines, a status line below them, or JSON."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from strands_cli.cli.terminal.log_view import LogView
from strands_cli.cli.terminal.output import says_json
from strands_cli.cli.terminal.run_view import View
from strands_cli.cli.terminal.status_view import StatusView, wants_status


@contextlib.contextmanager
def open_view(*, quiet: bool, verbose: bool) -> Iterator[View]:
    """Return the view that fits stderr: a status only where a terminal can show it and nothing else streams."""
    if says_json():
        yield LogView(quiet=quiet, verbose=verbose)
        return
    if quiet or verbose or not wants_status():
        yield View(quiet=quiet, verbose=verbose)
        return
    with StatusView() as view:
        yield view
