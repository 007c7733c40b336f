"""The page that compares two runs, as the report of two runs does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands_cli.api import UsageError
from strands_cli_ui.frame.ui_frame import page_response
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.pages.comparison import comparison

if TYPE_CHECKING:
    from starlette.responses import Response


def show_comparison(ui: Ui, request: Any) -> Response:
    """Return the comparison of the two runs that were marked, the earlier one first."""
    names = [name.strip() for name in request.query_params.getlist("run") if name.strip()]
    if len(names) != 2:
        raise UsageError(f"{len(names)} runs are marked", fix="mark two runs in the list")
    with ui.opened() as runs:
        first, second = sorted(names, key=lambda name: runs.get(name).started_at)
        with runs.open(first) as before, runs.open(second) as after:
            return page_response("Two runs", comparison(before, after)[1])
