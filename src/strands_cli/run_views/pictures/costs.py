"""What a run's agents, models and tools were called for and cost, each with its sum."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from strands_cli.events import Usage
from strands_cli.run_views.row_facts import status_of, who_of

if TYPE_CHECKING:
    from strands_cli.engine.stored_runs.effect_summary import EffectSummary
    from strands_cli.engine.stored_runs.summary import RunSummary

# The name of the agent or model of a call whose row does not say it, since it has not ended.
UNNAMED = "not known"


@dataclass(frozen=True, slots=True)
class CostLine:
    """The calls of one agent, model or tool; what another run has paid for does not count.

    Attributes:
        calls: How many have begun.
        failures: How many of them have failed or answered an error.
        usage: The tokens of those that are done.
        known_cost: In US dollars, of the calls whose cost is known.
        unpriced: How many calls are done and have no known cost.
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


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a run, the dearest first; model calls count for their agent and for their model."""

    by_agent: tuple[CostLine, ...]
    by_model: tuple[CostLine, ...]
    by_tool: tuple[CostLine, ...]


@dataclass(slots=True)
class _Sum:
    """The sum of calls that is being made."""

    calls: int = 0
    failures: int = 0
    usage: Usage = field(default_factory=Usage)
    known_cost: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0

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


def costs_of(summary: RunSummary) -> Costs:
    """Return what each agent, model and tool of a run was called for."""
    agents: dict[str, _Sum] = {}
    models: dict[str, _Sum] = {}
    tools: dict[str, _Sum] = {}
    for effect in summary.effects:
        if effect.row.kind not in ("model", "tool") or effect.status == "reused":
            continue
        failed = status_of(effect, summary.run.status) == "failed"
        who = who_of(effect) or UNNAMED
        if effect.row.kind == "tool":
            tools.setdefault(who, _Sum()).add(effect, failed=failed)
        else:
            model = effect.row.detail.get("model") or UNNAMED
            agents.setdefault(who, _Sum()).add(effect, failed=failed)
            models.setdefault(str(model), _Sum()).add(effect, failed=failed)
    return Costs(_lines(agents), _lines(models), _lines(tools))


def _lines(sums: dict[str, _Sum]) -> tuple[CostLine, ...]:
    lines = [
        CostLine(name, one.calls, one.failures, one.usage, one.known_cost, one.unpriced, one.seconds)
        for name, one in sums.items()
    ]
    return tuple(sorted(lines, key=lambda one: (-one.known_cost, -one.usage.total_tokens, -one.seconds, one.name)))
