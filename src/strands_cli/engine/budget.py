"""What a run and a step may spend: counted over the whole run, checked before each effect."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from strands_cli.engine.journal_rows import Clock, Journal, Row, RowKind
from strands_cli.errors import BudgetExceeded
from strands_cli.events import Usage
from strands_cli.prices import PriceTable
from strands_cli.workflow.model import AgentLimits, FailurePolicy

if TYPE_CHECKING:
    from strands_cli.workflow.model import Budgets

Result = TypeVar("Result")

# The mark in the detail of a row that a new run has taken over from another: the other has paid for it.
REUSED = "reused"


@dataclass(slots=True)
class StepTally:
    """What one step has spent; what the journal answered counts too."""

    turns: int = 0
    tokens: int = 0
    tool_calls: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def count_model_call(self, usage: Usage, cost: float | None) -> None:
        """Add what a model call has used."""
        self.tokens += usage.total_tokens
        self.cost_usd += cost or 0.0
        self.unpriced += cost is None


@dataclass(frozen=True, slots=True)
class StepLimits:
    """On what terms one step's models are called: its agent's limits, the run's retries, what models cost.

    `budget` is what its agent may spend in the whole run, None where nothing bounds that.
    """

    limits: AgentLimits = field(default_factory=AgentLimits)
    retries: FailurePolicy = field(default_factory=lambda: FailurePolicy(retries=0))
    prices: PriceTable = field(default_factory=lambda: PriceTable({}, ""))
    budget: Budget | None = None

    def require(self, kind: RowKind, key: str, who: str, spent: StepTally, *, inside: bool = False) -> None:
        """Check that one more call of a step may begin; one `inside` a call of it is no turn of its agent.

        Raises:
            BudgetExceeded: a limit of the step's agent is reached, or can no longer be kept.
        """
        of_models = ("tokens", "cost_usd") if inside else ("turns", "tokens", "cost_usd")
        for name in ("tool_calls",) if kind == "tool" else of_models:
            limit = getattr(self.limits, name)
            if limit is not None and getattr(spent, name) >= limit:
                raise _stopped(
                    f"budget: {key} reached limits.{name} of the agent '{who}': {limit:g}", f"agents.{who}.{name}"
                )
        if kind == "model" and self.limits.cost_usd is not None and spent.unpriced:
            raise BudgetExceeded(
                f"budget: limits.cost_usd of the agent '{who}' cannot be kept: what a model call cost is not known",
                fix="give all the model's prices; where a server reports no tokens, limit turns instead",
            )
        if self.budget is not None:
            self.budget.require(kind)

    async def in_time(self, work: Awaitable[Result], key: str, who: str) -> Result:
        """Await a step's work and break it off where the time of the step or of its agent ends.

        Raises:
            BudgetExceeded: the time is over.
        """
        limit = self.limits.duration_s
        if limit is not None:
            reached = _stopped(
                f"budget: {key} reached limits.duration_s of the agent '{who}': {limit:g}", f"agents.{who}.duration_s"
            )
            work = _within(limit, work, reached)
        return await (work if self.budget is None else self.budget.in_time(work))


async def _within(seconds: float, work: Awaitable[Result], reached: BudgetExceeded) -> Result:
    """Await work and break it off after so many seconds with this error."""
    bound = asyncio.timeout(max(0.0, seconds))
    try:
        async with bound:
            return await work
    except TimeoutError as error:
        if not bound.expired():
            raise
        raise reached from error


def _stopped(message: str, limit: str, run: str = "RUN") -> BudgetExceeded:
    """Return the error of a limit that a resumed run may raise by the name `limit`."""
    fix = f"go on with a larger limit: strands resume {run} --budget {limit}=N; what was done so far is kept"
    error = BudgetExceeded(message, fix=fix)
    error.limit = limit
    return error


@dataclass(slots=True)
class Budget:
    """The limits of `runtime.budgets` and what has been spent, by earlier processes of the run too.

    With an `agent` they are the `budgets` of that agent, and what its own steps have spent, with all that its tools did
    for it. With a `workflow` they are those of a workflow that is used as a tool, for one call of it. A call that was
    answered counts, and one that is under way counts until it fails, so that branches side by side cannot exceed a
    limit together.
    """

    limits: Budgets
    clock: Clock
    run: str = "RUN"
    agent: str | None = None
    workflow: str | None = None
    steps: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    earlier_s: float = 0.0
    latest: float = 0.0
    _known_cost: float = 0.0
    _unpriced: int = 0
    _unmeasured: int = 0
    _under_way: Counter[RowKind] = field(init=False, default_factory=Counter)
    _started: float = field(init=False)
    _warned: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._started = self.clock.monotonic()

    @classmethod
    def resumed(
        cls,
        limits: Budgets,
        clock: Clock,
        journal: Journal,
        *,
        agent: str | None = None,
        agents_of: Callable[[str], Sequence[str]] = lambda key: (),
        workflow: str | None = None,
        below: str = "",
    ) -> Budget:
        """Go on counting from what the journal says was done; what an earlier run had paid for is free.

        Args:
            limits: What may be spent.
            clock: Time.
            journal: The run's record.
            agent: Whose calls count; all if not given.
            agents_of: Tells whose step a key belongs to: the step's agent, then those that are tools in it, as deep as
                the key goes.
            workflow: The workflow that is used as a tool.
            below: What the keys begin with that count, and what `agents_of` is not told.
        """
        budget = cls(limits, clock, journal.get("id") or "RUN", agent, workflow)
        worked = 0.0
        for row in journal.rows():
            budget.latest = max(budget.latest, row.ended_at or row.started_at)
            if row.detail.get(REUSED) or not row.key.startswith(below):
                continue
            key = row.key[len(below) :]
            acting = agents_of(key) if agent is not None else ()
            is_own = acting[-1:] == (agent,) if agent is not None else "/" not in key
            if row.kind == "step" and is_own:
                worked += max(0.0, (row.ended_at or row.started_at) - row.started_at)
            if row.status != "done" or (agent is not None and agent not in acting):
                continue
            if row.kind == "model":
                budget.count_model_call(row.usage, row.cost)
            elif row.kind == "tool":
                budget.count_tool_call()
            elif _is_step(row) and (agent is None or is_own):
                budget.count_step()
        whole = agent is None and workflow is None
        budget.earlier_s = worked_before(journal, budget.latest) if whole else worked
        return budget

    @property
    def place(self) -> str:
        """Where the limits are written."""
        return "runtime.budgets" if self.agent is None else f"agents.{self.agent}.budgets"

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
                f"budget: {self.place}.max_cost_usd cannot be kept: what {self._unpriced} of the run's model calls"
                " cost is not known",
                fix="give all the model's prices; where a server reports no tokens, limit max_model_calls instead",
            )

    def _reached(self, name: str, limit: float) -> BudgetExceeded:
        if self.agent is None:
            who, path = f"the workflow {self.workflow}" if self.workflow else "the run", name
        else:
            who, path = f"the agent '{self.agent}'", f"agents.{self.agent}.{name}"
        return _stopped(f"budget: {who} reached {self.place}.{name}: {limit:g}", path, self.run)

    def warnings(self, kind: RowKind) -> list[str]:
        """Return what to tell before an effect: limits of which `warn_threshold` is spent; each is told once."""
        near = {
            name: f"{spent:g} of {self.place}.{name}: {limit:g} are spent"
            for name, spent, limit in self._limits_on(kind)
            if limit * self.limits.warn_threshold <= spent < limit
        }
        if kind == "model" and self.limits.max_tokens is not None and self._unmeasured:
            near["unmeasured"] = f"a model reports no tokens, so {self.place}.max_tokens cannot count its calls"
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
        began = self.clock.monotonic()
        try:
            if limit is None:
                return await work
            return await _within(limit - self.seconds, work, self._reached("max_duration_s", limit))
        finally:
            if self.agent is not None:
                self.earlier_s += self.clock.monotonic() - began

    @property
    def seconds(self) -> float:
        """How long the run has been worked on, or the agent's steps took, in earlier processes too.

        Time in which the run waited does not count.
        """
        return self.earlier_s + (self.clock.monotonic() - self._started if self.agent is None else 0.0)

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


def _is_step(row: Row) -> bool:
    """Return whether a row is a step's: an approval, or what a tool asks, is a question and no gate."""
    name = row.key.rpartition("/")[2]
    return row.kind == "step" or (row.kind == "human" and name != "approval" and not name.startswith("interrupt."))


def worked_before(journal: Journal, latest: float | None = None) -> float:
    """Return the seconds that earlier processes of the run worked on it.

    A process that ended on its own accord has put the sum into `worked_s`; of one that was killed only the rows tell
    how far it came; `latest` is their latest moment, for whoever has read them.
    """
    worked, session = journal.get("worked_s"), journal.get("session_started_at")
    if session is None:
        return float(worked or 0.0)
    if latest is None:
        latest = max((row.ended_at or row.started_at for row in journal.rows()), default=0.0)
    return float(worked or 0.0) + max(0.0, latest - float(session))
