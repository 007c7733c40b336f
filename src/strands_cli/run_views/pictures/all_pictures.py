"""All pictures of a run together, so that its workflow is read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from strands_cli.engine.stored_runs.stored_secrets import stored_redactor
from strands_cli.run_views.pictures.budget_bars import BudgetBar, budget_bars_of
from strands_cli.run_views.pictures.costs import Costs, costs_of
from strands_cli.run_views.pictures.pattern_graph import PatternGraph, pattern_graph_of
from strands_cli.run_views.pictures.stored_spec import stored_spec_of
from strands_cli.run_views.pictures.timeline import Timeline, timeline_of
from strands_cli.run_views.tree import Branch, tree_of

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import StoredJournal
    from strands_cli.engine.stored_runs.summary import RunSummary
    from strands_cli.secrets.redactor import Redactor


@dataclass(frozen=True, slots=True)
class Pictures:
    """What pictures show of a run; `pattern` is None where its workflow is not known."""

    timeline: Timeline
    pattern: PatternGraph | None
    costs: Costs
    budgets: tuple[BudgetBar, ...]


def pictures_of(
    journal: StoredJournal,
    summary: RunSummary,
    now: float | None = None,
    redactor: Redactor | None = None,
    tree: Sequence[Branch] | None = None,
) -> Pictures:
    """Return the pictures of a run as values.

    Args:
        now: Where the bars of effects end that have not ended, in seconds since the epoch; the time of the machine.
        redactor: What hides the secrets of the run, where the caller has it; rows are stored without them.
        tree: The effects of the run as trees, where the caller has them; for a long run they take time to make.
    """
    spec = stored_spec_of(journal)
    tree = tree_of(summary) if tree is None else tree
    pattern = pattern_graph_of(spec, summary, tree)
    return Pictures(
        timeline=timeline_of(summary, now, tree),
        pattern=_without_secrets(pattern, redactor or stored_redactor(journal)) if pattern else None,
        costs=costs_of(summary),
        budgets=budget_bars_of(spec, summary, journal.get("budgets")),
    )


def _without_secrets(graph: PatternGraph, redactor: Redactor) -> PatternGraph:
    """Return a pattern without the secrets that its workflow has written into names and conditions."""
    nodes = (replace(one, name=redactor.text(one.name), who=redactor.text(one.who)) for one in graph.nodes)
    edges = (replace(one, label=redactor.text(one.label)) for one in graph.edges)
    return replace(graph, nodes=tuple(nodes), edges=tuple(edges))
