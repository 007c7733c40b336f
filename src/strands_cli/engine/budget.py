"""What a run may spend: counted over the whole run, checked before each effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from strands_cli.engine.ports import Clock, Journal, RowKind
from strands_cli.errors import BudgetExceeded
from strands_cli.events import Usage

if TYPE_CHECKING:
    from strands_cli.spec.model import Budgets


@dataclass(slots=True)
class Budget:
    """The limits of `runtime.budgets` and what has been spent, by earlier processes of the run too."""

    limits: Budgets
    clock: Clock
    steps: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    earlier_s: float = 0.0
    _started: float = field(init=False)
    _warned: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._started = self.clock.monotonic()

    @classmethod
    def resumed(cls, limits: Budgets, clock: Clock, journal: Journal) -> Budget:
        """Go on counting from what the journal says was done."""
        budget = cls(limits, clock, earlier_s=worked_before(journal))
        for row in journal.rows():
            if row.status != "done":
                continue
            if row.kind == "model":
                budget.count_model_call(row.usage, row.cost)
            elif row.kind == "tool":
                budget.count_tool_call()
            elif row.kind == "step" or (row.kind == "human" and "/" not in row.key):
                budget.count_step()
        return budget

    def require(self, kind: RowKind) -> None:
        """Check that one more effect of this kind may begin.

        Raises:
            BudgetExceeded: a limit is reached; what was done so far stays in the journal.
        """
        for name, spent, limit in self._limits_on(kind):
            if spent >= limit:
                raise BudgetExceeded(
                    f"the run reached runtime.budgets.{name}: {limit:g}",
                    fix=f"raise runtime.budgets.{name}; what the run did so far is in its record",
                )

    def nearing(self, kind: RowKind) -> list[tuple[str, float, float]]:
        """Return (limit's name, spent, limit) where `warn_threshold` of it is spent; each limit is told once."""
        near = [
            (name, spent, limit)
            for name, spent, limit in self._limits_on(kind)
            if limit * self.limits.warn_threshold <= spent < limit and name not in self._warned
        ]
        self._warned |= {name for name, _, _ in near}
        return near

    def _limits_on(self, kind: RowKind) -> list[tuple[str, float, float]]:
        limits = self.limits
        on: list[tuple[str, float, float | None]] = []
        if kind == "step":
            on.append(("max_steps", self.steps, limits.max_steps))
        if kind == "model":
            on.append(("max_model_calls", self.model_calls, limits.max_model_calls))
            on.append(("max_tokens", self.usage.total_tokens, limits.max_tokens))
        if kind == "tool":
            on.append(("max_tool_calls", self.tool_calls, limits.max_tool_calls))
        if kind in ("step", "model", "tool"):
            on.append(("max_duration_s", self.seconds, limits.max_duration_s))
        return [(name, spent, limit) for name, spent, limit in on if limit is not None]

    @property
    def seconds(self) -> float:
        """How long the run has been worked on, by earlier processes too; time in which it waited does not count."""
        return self.earlier_s + self.clock.monotonic() - self._started

    def count_step(self) -> None:
        """Add a step that begins."""
        self.steps += 1

    def count_model_call(self, usage: Usage, cost: float | None) -> None:
        """Add a model call that has ended."""
        self.model_calls += 1
        self.usage += usage
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost

    def count_tool_call(self) -> None:
        """Add a tool call that has ended."""
        self.tool_calls += 1


def worked_before(journal: Journal) -> float:
    """Return the seconds that earlier processes of the run worked on it.

    A process that ended on its own accord has put the sum into `worked_s`; of one that was killed only the rows tell
    how far it came.
    """
    worked, session = journal.get("worked_s"), journal.get("session_started_at")
    last = max((row.ended_at or row.started_at for row in journal.rows()), default=0.0)
    unrecorded = max(0.0, last - float(session)) if session is not None else 0.0
    return float(worked or 0.0) + unrecorded
