"""All pictures of a run together, so that its workflow is read once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from strands_cli.run_views.pictures.budget_bars import BudgetBar, budget_bars_of
from strands_cli.run_views.pictures.costs import Costs, costs_of
from strands_cli.run_views.pictures.pattern_graph import PatternGraph, pattern_graph_of
from strands_cli.run_views.pictures.stored_spec import stored_spec_of
from strands_cli.run_views.pictures.timeline import Timeline, timeline_of

if TYPE_CHECKING:
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.engine.stored_runs import RunSummary


@dataclass(frozen=True, slots=True)
class Pictures:
    """What pictures show of a run; `pattern` is None where its workflow is not known."""

    timeline: Timeline
    pattern: PatternGraph | None
    costs: Costs
    budgets: tuple[BudgetBar, ...]


def pictures_of(journal: SqliteJournal, summary: RunSummary, now: float | None = None) -> Pictures:
    """Return the pictures of a run as values.

    Args:
        now: Where the bars of effects end that have not ended, in seconds since the epoch; the time of the machine.
    """
    spec = stored_spec_of(journal)
    return Pictures(
        timeline=timeline_of(summary, now),
        pattern=pattern_graph_of(spec, summary),
        costs=costs_of(summary),
        budgets=budget_bars_of(spec, summary, journal.get("budgets")),
    )
