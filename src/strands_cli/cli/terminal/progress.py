"""Choose the view of a run that fits stderr: lines, lines with its progress below them, or JSON."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from strands_cli.cli.output.messages import logs_json, real_stderr
from strands_cli.cli.terminal.live_block import can_draw
from strands_cli.cli.terminal.live_view import View
from strands_cli.cli.terminal.log_view import LogView
from strands_cli.cli.terminal.status_view import BlockView, Progress, StatusView

if TYPE_CHECKING:
    from strands_cli.workflow.sections import Budgets


@contextlib.contextmanager
def open_view(
    *, quiet: bool, verbose: bool, limits: Budgets | None = None, progress: Progress | None = None
) -> Iterator[View]:
    """Open the view that fits stderr: progress only on a terminal that can show it while nothing else streams.

    Args:
        quiet: Show no lines.
        verbose: Show the text of models and the progress of tools as lines.
        limits: The budgets of the run, of which the progress shows the used share.
        progress: What the block shows in the place of the progress of a run.
    """
    if logs_json():
        yield LogView(quiet=quiet, verbose=verbose)
        return
    if quiet or verbose or not can_draw(real_stderr()):
        yield View(quiet=quiet, verbose=verbose)
        return
    with BlockView(progress) if progress is not None else StatusView(limits) as view:
        yield view
