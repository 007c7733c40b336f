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
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        self._started = self.clock.monotonic()

    @classmethod
    def resumed(cls, limits: Budgets, clock: Clock, journal: Journal) -> Budget:
        """Go on counting from what the journal says was done."""
        budget = cls(limits, clock)
        for row in journal.rows():
            if row.status == "done" and row.kind == "model":
                budget.count_model_call(row.usage, row.cost)
            elif row.status == "done" and row.kind == "tool":
                budget.count_tool_call()
            elif row.status == "done" and row.kind == "step":
                budget.count_step()
        return budget

    def require(self, kind: RowKind) -> None:
        """Check that one more effect of this kind may begin.

        Raises:
            BudgetExceeded: a limit is reached; what was done so far stays in the journal.
        """
        limits = self.limits
        if kind == "step":
            self._check("max_steps", self.steps, limits.max_steps)
        if kind == "model":
            self._check("max_model_calls", self.model_calls, limits.max_model_calls)
            self._check("max_tokens", self.usage.total_tokens, limits.max_tokens)
        if kind == "tool":
            self._check("max_tool_calls", self.tool_calls, limits.max_tool_calls)
        if kind in ("step", "model", "tool"):
            self._check("max_duration_s", self.seconds, limits.max_duration_s)

    @property
    def seconds(self) -> float:
        """How long this process has worked on the run."""
        return self.clock.monotonic() - self._started

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

    def _check(self, name: str, spent: float, limit: float | None) -> None:
        if limit is not None and spent >= limit:
            raise BudgetExceeded(
                f"the run reached runtime.budgets.{name}: {limit}",
                fix=f"raise runtime.budgets.{name}; what the run did so far is in its record",
            )
