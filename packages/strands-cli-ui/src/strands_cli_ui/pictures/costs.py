"""The costs of the agents, models and tools of a run, and how much of each limit of the run is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from strands_cli.api import Usage

if TYPE_CHECKING:
    from strands_cli.api import EffectSummary, RunSummary

# The name of the agent or model of a call whose row does not say it, since it has not ended.
UNNAMED = "not known"


@dataclass(slots=True)
class CostLine:
    """The calls of one agent, model or tool, without those that another run has paid for.

    Attributes:
        calls: How many have begun.
        failures: How many of them have failed or answered an error.
        usage: The tokens of finished ones.
        known_cost: In US dollars, of the calls with a known cost.
        unpriced: How many finished calls have no known cost.
        seconds: How long all of them took together.
    """

    name: str
    calls: int = 0
    failures: int = 0
    usage: Usage = field(default_factory=Usage)
    known_cost: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0

    @property
    def cost(self) -> float | None:
        """In US dollars; None where that of a call is not known."""
        return None if self.unpriced else self.known_cost

    def add(self, effect: EffectSummary, *, failed: bool) -> None:
        """Count one call."""
        row = effect.row
        self.calls += 1
        self.failures += failed
        self.seconds += max(0.0, row.ended_at - row.started_at) if row.ended_at is not None else 0.0
        if row.kind == "model" and row.paid_calls:
            self.usage += row.usage
            self.known_cost += row.cost or 0.0
            self.unpriced += row.cost is None


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a run, the dearest first; model calls count for their agent and for their model."""

    by_agent: tuple[CostLine, ...]
    by_model: tuple[CostLine, ...]
    by_tool: tuple[CostLine, ...]


def costs_of(summary: RunSummary) -> Costs:
    """Return the costs of a run by agent, model and tool."""
    lines: dict[str, dict[str, CostLine]] = {"agent": {}, "model": {}, "tool": {}}
    for effect in summary.effects:
        if effect.row.kind not in ("model", "tool") or effect.status == "reused":
            continue
        names = {"agent" if effect.row.kind == "model" else "tool": effect.who or UNNAMED}
        if effect.row.kind == "model":
            names["model"] = str(effect.row.detail.get("model") or UNNAMED)
        for kind, name in names.items():
            failed = effect.status_in(summary.run.status) == "failed"
            lines[kind].setdefault(name, CostLine(name)).add(effect, failed=failed)
    return Costs(*(tuple(sorted(found.values(), key=_dearest_first)) for found in lines.values()))


def _dearest_first(line: CostLine) -> tuple[float, int, float, str]:
    return -line.known_cost, -line.usage.total_tokens, -line.seconds, line.name


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
    limits: Mapping[str, float | None], summary: RunSummary, warn_at: float = 0.8
) -> tuple[BudgetBar, ...]:
    """Return the limits of a run in the order of the format.

    Args:
        limits: Those of `runtime.budgets`, by their names; None where there is none.
        warn_at: See `BudgetBar`.
    """
    spent = summary.spent
    used = {
        "max_steps": float(spent.steps),
        "max_tokens": float(spent.usage.total_tokens),
        "max_model_calls": float(spent.model_calls),
        "max_tool_calls": float(spent.tool_calls),
        "max_cost_usd": spent.cost if spent.cost is not None else _known_cost(summary),
        "max_duration_s": summary.run.worked_s or 0.0,
    }
    return tuple(
        BudgetBar(name, amount, limit, warn_at, name == "max_cost_usd" and spent.cost is None)
        for name, amount in used.items()
        if (limit := limits.get(name)) is not None
    )


def _known_cost(summary: RunSummary) -> float:
    rows = (effect.row for effect in summary.effects if effect.status != "reused" and effect.row.kind == "model")
    return sum(row.cost or 0.0 for row in rows)
