"""The page that compares two runs, as the report of two runs does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands_cli.api import UsageError, comparison_body
from strands_cli_ui.frame.ui_frame import page_response
from strands_cli_ui.frame.ui_state import Ui

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli.api import RunPage


def show_comparison(ui: Ui, request: Any) -> Response:
    """Return the comparison of the two runs that were marked, the earlier one first."""
    names = [name.strip() for name in request.query_params.getlist("run") if name.strip()]
    if len(names) != 2:
        raise UsageError(f"{len(names)} runs are marked", fix="mark two runs in the list")
    before, after = sorted((_page_of(ui, name) for name in names), key=lambda page: page.summary.run.started_at)
    return page_response("Two runs", comparison_body(before, after))


def _page_of(ui: Ui, name: str) -> RunPage:
    with ui.opened() as runs, runs.open(name) as run:
        return run.page()
