"""What a run and a step may spend: counted over the whole run, checked before each effect."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from strands_cli.engine.rows import Clock, Journal, RowKind
from strands_cli.errors import BudgetExceeded
from strands_cli.events import Usage
from strands_cli.prices import PriceTable
from strands_cli.spec.model import AgentLimits, FailurePolicy

if TYPE_CHECKING:
    from strands_cli.spec.model import Budgets

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms one step's models are called: its agent's limits, the run's retries, what models cost."""

    limits: AgentLimits = field(default_factory=AgentLimits)
    retries: FailurePolicy = field(default_factory=lambda: FailurePolicy(retries=0))
    prices: PriceTable = field(default_factory=lambda: PriceTable({}, ""))

    def require(self, key: str, who: str, calls: int, usage: Usage) -> None:
        """Check that one more model call of a step may begin; what the journal answered counts too.

        Raises:
            BudgetExceeded: the agent's limit is reached.
        """
        spent = {"turns": calls, "tokens": usage.total_tokens}
        for name, limit in (("turns", self.limits.turns), ("tokens", self.limits.tokens)):
            if limit is not None and spent[name] >= limit:
                raise BudgetExceeded(
                    f"budget: {key} reached limits.{name} of the agent '{who}': {limit}",
                    fix=f"raise limits.{name} of the agent, or ask less of one step",
                )


@dataclass(slots=True)
class Budget:
    """The limits of `runtime.budgets` and what has been spent, by earlier processes of the run too.

    A call that was answered counts, and one that is under way counts until it fails, so that branches side by side
    cannot exceed a limit together.
    """

    limits: Budgets
    clock: Clock
    run: str = "RUN"
    steps: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    earlier_s: float = 0.0
    _known_cost: float = 0.0
    _unpriced: int = 0
    _unmeasured: int = 0
    _under_way: Counter[RowKind] = field(init=False, default_factory=Counter)
    _started: float = field(init=False)
    _warned: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._started = self.clock.monotonic()

    @classmethod
    def resumed(cls, limits: Budgets, clock: Clock, journal: Journal) -> Budget:
        """Go on counting from what the journal says was done."""
        budget = cls(limits, clock, journal.get("id") or "RUN", earlier_s=worked_before(journal))
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
            BudgetExceeded: a limit is reached, or can no longer be kept; what was done so far stays in the journal.
        """
        for name, spent, limit in self._limits_on(kind):
            if spent >= limit:
                raise self._reached(name, limit)
        if kind == "model" and self.limits.max_cost_usd is not None and self._unpriced:
            raise BudgetExceeded(
                f"budget: runtime.budgets.max_cost_usd cannot be kept: what {self._unpriced} of the run's model calls"
                " cost is not known",
                fix="give all the model's prices; where a server reports no tokens, limit max_model_calls instead",
            )

    def _reached(self, name: str, limit: float) -> BudgetExceeded:
        error = BudgetExceeded(
            f"budget: the run reached runtime.budgets.{name}: {limit:g}",
            fix=f"go on with a larger limit: strands resume {self.run} --budget {name}=N; what was done so far is kept",
        )
        error.limit = name
        return error

    def warnings(self, kind: RowKind) -> list[str]:
        """Return what to tell before an effect: limits of which `warn_threshold` is spent; each is told once."""
        near = {
            name: f"{spent:g} of runtime.budgets.{name}: {limit:g} are spent"
            for name, spent, limit in self._limits_on(kind)
            if limit * self.limits.warn_threshold <= spent < limit
        }
        if kind == "model" and self.limits.max_tokens is not None and self._unmeasured:
            near["unmeasured"] = "a model reports no tokens, so runtime.budgets.max_tokens cannot count its calls"
        new = {name: message for name, message in near.items() if name not in self._warned}
        self._warned |= new.keys()
        return list(new.values())

    def _limits_on(self, kind: RowKind) -> list[tuple[str, float, float]]:
        limits = self.limits
        on: list[tuple[str, float, float | None]] = []
        if kind == "step":
            on.append(("max_steps", self.steps, limits.max_steps))
        if kind == "model":
            on.append(("max_model_calls", self.model_calls + self._under_way["model"], limits.max_model_calls))
            on.append(("max_tokens", self.usage.total_tokens, limits.max_tokens))
            on.append(("max_cost_usd", self._known_cost, limits.max_cost_usd))
        if kind == "tool":
            on.append(("max_tool_calls", self.tool_calls + self._under_way["tool"], limits.max_tool_calls))
        if kind in ("step", "model", "tool"):
            on.append(("max_duration_s", self.seconds, limits.max_duration_s))
        return [(name, spent, limit) for name, spent, limit in on if limit is not None]

    async def in_time(self, work: Awaitable[Result]) -> Result:
        """Await a step's work and break it off where `max_duration_s` ends.

        Raises:
            BudgetExceeded: the time is over.
        """
        limit = self.limits.max_duration_s
        if limit is None:
            return await work
        bound = asyncio.timeout(max(0.0, limit - self.seconds))
        try:
            async with bound:
                return await work
        except TimeoutError as error:
            if not bound.expired():
                raise
            raise self._reached("max_duration_s", limit) from error

    @property
    def seconds(self) -> float:
        """How long the run has been worked on, by earlier processes too; time in which it waited does not count."""
        return self.earlier_s + self.clock.monotonic() - self._started

    @property
    def cost(self) -> float | None:
        """What the run's model calls cost in US dollars; None where the cost of one of them is not known."""
        return None if self._unpriced else self._known_cost

    def count_step(self) -> None:
        """Add a step that begins."""
        self.steps += 1

    def begin_call(self, kind: RowKind) -> None:
        """Hold a place for a model or tool call that begins; `count_...` takes it, `drop_call` gives it back."""
        self._under_way[kind] += 1

    def drop_call(self, kind: RowKind) -> None:
        """Give back the place of a call that failed or was broken off."""
        self._under_way[kind] = max(0, self._under_way[kind] - 1)

    def count_model_call(self, usage: Usage, cost: float | None) -> None:
        """Add a model call that has ended."""
        self.drop_call("model")
        self.model_calls += 1
        self.usage += usage
        self._unmeasured += usage.total_tokens == 0
        if cost is None:
            self._unpriced += 1
        else:
            self._known_cost += cost

    def count_tool_call(self) -> None:
        """Add a tool call that has ended."""
        self.drop_call("tool")
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
