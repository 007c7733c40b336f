"""The limits of a run, each beside what is used of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strands_cli.engine.stored_runs.summary import RunSummary
    from strands_cli.workflow.model import WorkflowSpec


@dataclass(frozen=True, slots=True)
class BudgetBar:
    """One limit of `runtime.budgets`.

    Attributes:
        name: Its name there, such as `max_tokens`.
        used: In the unit of the limit: a number, US dollars for `max_cost_usd`, seconds for `max_duration_s`.
        warn_at: The share of the limit at which a run warns.
        is_lower_bound: Whether more may be used than is known, since a model call has no known cost.
    """

    name: str
    used: float
    limit: float
    warn_at: float = 0.8
    is_lower_bound: bool = False

    @property
    def share(self) -> float:
        """How much of the limit is used; 1 for a limit of 0."""
        return self.used / self.limit if self.limit > 0 else 1.0


def budget_bars_of(
    spec: WorkflowSpec | None, summary: RunSummary, raised: Mapping[str, float] | None = None
) -> tuple[BudgetBar, ...]:
    """Return the limits of a run in the order of the format; none where its workflow is not known.

    Args:
        raised: The limits that `resume --budget` has raised, as the journal has them under `budgets`.
    """
    if spec is None:
        return ()
    limits, spent = spec.runtime.budgets, summary.spent
    used = {
        "max_steps": float(spent.steps),
        "max_tokens": float(spent.usage.total_tokens),
        "max_model_calls": float(spent.model_calls),
        "max_tool_calls": float(spent.tool_calls),
        "max_cost_usd": spent.cost if spent.cost is not None else _known_cost(summary),
        "max_duration_s": summary.run.worked_s or 0.0,
    }
    found = {name: (raised or {}).get(name) or getattr(limits, name) for name in used}
    return tuple(
        BudgetBar(name, used[name], limit, limits.warn_threshold, name == "max_cost_usd" and spent.cost is None)
        for name, limit in found.items()
        if limit is not None
    )


def _known_cost(summary: RunSummary) -> float:
    rows = (one.row for one in summary.effects if one.status != "reused" and one.row.kind == "model")
    return sum(row.cost or 0.0 for row in rows)
