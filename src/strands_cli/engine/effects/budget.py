"""The limits on the usage of a run and its steps, counted over the whole run and checked before each effect."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from strands_cli.engine.journal.journal_rows import REUSED as REUSED
from strands_cli.engine.journal.journal_rows import Clock, Journal, Row, RowKind
from strands_cli.errors import BudgetExceeded, UsageError, suggest
from strands_cli.events import Usage
from strands_cli.planning.prices import PriceTable
from strands_cli.workflow.agent_sections import AgentLimits
from strands_cli.workflow.sections import FailurePolicy

if TYPE_CHECKING:
    from strands_cli.workflow.sections import Budgets

Result = TypeVar("Result")


@dataclass(slots=True)
class StepTally:
    """The usage of one step, including results from the journal."""

    turns: int = 0
    tokens: int = 0
    tool_calls: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def count_model_call(self, usage: Usage, cost: float | None) -> None:
        """Add the tokens and the cost of a model call."""
        self.tokens += usage.total_tokens
        self.cost_usd += cost or 0.0
        self.unpriced += cost is None


@dataclass(frozen=True, slots=True)
class StepLimits:
    """The limits of one step.

    Attributes:
        limits: The limits of its agent for one step.
        retries: How failed model calls are repeated.
        prices: The prices of models.
        budget: The limits of its agent in the whole run, or None.
    """

    limits: AgentLimits = field(default_factory=AgentLimits)
    retries: FailurePolicy = field(default_factory=lambda: FailurePolicy(retries=0))
    prices: PriceTable = field(default_factory=lambda: PriceTable({}, ""))
    budget: Budget | None = None

    def require(self, kind: RowKind, key: str, who: str, spent: StepTally, *, nested: bool = False) -> None:
        """Check that one more call of a step may begin; a `nested` one is not a turn of its agent.

        Raises:
            BudgetExceeded: A limit of the step's agent is reached, or can no longer be checked.
        """
        of_models = ("tokens", "cost_usd") if nested else ("turns", "tokens", "cost_usd")
        for name in ("tool_calls",) if kind == "tool" else of_models:
            limit = getattr(self.limits, name)
            if limit is not None and getattr(spent, name) >= limit:
                raise _stopped(
                    f"budget: {key} reached limits.{name} of the agent '{who}': {limit:g}",
                    f"agents.{who}.{name}",
                    getattr(spent, name),
                )
        if kind == "model" and self.limits.cost_usd is not None and spent.unpriced:
            raise BudgetExceeded(
                f"budget: limits.cost_usd of the agent '{who}' cannot be checked: a model call has no known cost",
                fix="give all the model's prices; where a server reports no tokens, limit turns instead",
            )
        if self.budget is not None:
            self.budget.require(kind)

    def require_cost(self, most: float, key: str, who: str, spent: StepTally) -> None:
        """Check that a model call of a step may cost so much.

        Raises:
            BudgetExceeded: It could pass the limit on the money of the step's agent.
        """
        limit = self.limits.cost_usd
        if limit is not None and spent.cost_usd + most > limit:
            raise _stopped(
                f"budget: {key} could pass, with a call of at most ${most:.4f}, limits.cost_usd of the agent "
                f"'{who}': {limit:g}",
                f"agents.{who}.cost_usd",
                spent.cost_usd + most,
            )

    async def in_time(self, work: Awaitable[Result], key: str, who: str) -> Result:
        """Await a step's work; cancel it when the time of the step or of its agent is over.

        Raises:
            BudgetExceeded: The time is over.
        """
        limit = self.limits.duration_s
        if limit is not None:
            reached = _stopped(
                f"budget: {key} reached limits.duration_s of the agent '{who}': {limit:g}",
                f"agents.{who}.duration_s",
                limit,
            )
            work = _within(limit, work, reached)
        return await (work if self.budget is None else self.budget.in_time(work))


async def _within(seconds: float, work: Awaitable[Result], reached: BudgetExceeded) -> Result:
    """Await work; after this many seconds cancel it and raise `reached`."""
    bound = asyncio.timeout(max(0.0, seconds))
    try:
        async with bound:
            return await work
    except TimeoutError as error:
        if not bound.expired():
            raise
        raise reached from error


def _stopped(message: str, limit: str, spent: float, run: str = "RUN") -> BudgetExceeded:
    """Return the error of a limit, which a resumed run may raise under the name `limit`."""
    fix = f"go on with a larger limit: strands resume {run} --budget {limit}=N; finished steps are not repeated"
    error = BudgetExceeded(message, fix=fix)
    error.limit, error.spent = limit, spent
    return error


@dataclass(frozen=True, slots=True)
class Spender:
    """Whose spending a budget counts; the default is the run.

    Attributes:
        agent: Id of the agent whose steps count, with the calls of their tools.
        workflow: File of a workflow used as a tool; one call of it counts.
        prefix: The beginning of the keys that count.
        agents_of: Returns who acts at a key without the prefix: the step's agent, then the agents that are tools in it.
        runs: The word for many counted runs together, for messages.
        fix: How the many runs go on after a limit of theirs; `{limit}` is its name.
    """

    agent: str | None = None
    workflow: str | None = None
    prefix: str = ""
    agents_of: Callable[[str], Sequence[str]] = lambda key: ()
    runs: str | None = None
    fix: str = ""

    @property
    def is_run(self) -> bool:
        """Whether it is one run, of which the journal knows the time."""
        return self.agent is None and self.workflow is None and self.runs is None

    @property
    def place(self) -> str:
        """The words before the name of a limit: its place in the workflow, or the many runs that it is for."""
        if self.runs is not None:
            return f"the limit of {self.runs} on "
        return "runtime.budgets." if self.agent is None else f"agents.{self.agent}.budgets."

    def reached(self, name: str, limit: float, spent: float, run: str, most: float = 0.0) -> BudgetExceeded:
        """Return the error of a reached limit, or of a model call that could pass it: it may cost `most`."""
        reached = f"could pass, with a call of at most ${most:.4f}," if most else "reached"
        if self.runs is not None:
            error = BudgetExceeded(
                f"budget: {self.runs} {reached} {name}: {limit:g}", fix=self.fix.replace("{limit}", name)
            )
            error.is_of_many = True
            return error
        if self.agent is None:
            who, path = f"the workflow {self.workflow}" if self.workflow else "the run", name
        else:
            who, path = f"the agent '{self.agent}'", f"agents.{self.agent}.{name}"
        return _stopped(f"budget: {who} {reached} {self.place}{name}: {limit:g}", path, spent + most, run)


# The limits that may end a run before an effect of a kind begins.
_LIMITS_ON: Mapping[RowKind, tuple[str, ...]] = {
    "step": ("max_steps", "max_duration_s"),
    "model": ("max_model_calls", "max_tokens", "max_cost_usd", "max_duration_s"),
    "tool": ("max_tool_calls", "max_duration_s"),
}


@dataclass(slots=True)
class Budget:
    """Limits, and the usage of this process and earlier ones of the run.

    A call counts from its beginning until it fails, so that branches side by side cannot exceed a limit together.
    """

    limits: Budgets
    clock: Clock
    run: str = "RUN"
    spender: Spender = field(default_factory=Spender)
    steps: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    earlier_s: float = 0.0
    latest: float = 0.0
    is_frozen: bool = False
    _known_cost: float = 0.0
    _unpriced: int = 0
    _unmeasured: int = 0
    _reserved: Counter[RowKind] = field(init=False, default_factory=Counter)
    _open_costs: list[float] = field(init=False, default_factory=list)
    _freed: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _started: float = field(init=False)
    _warned: set[str] = field(init=False, default_factory=set)
    _counted: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._started = self.clock.monotonic()

    @classmethod
    def resumed(cls, limits: Budgets, clock: Clock, journal: Journal, spender: Spender | None = None) -> Budget:
        """Return a budget with the usage in the journal; rows that another run has paid for do not count."""
        spender = spender or Spender()
        rows = journal.rows(below=spender.prefix.removesuffix("/"))
        return cls.counted(limits, clock, journal, rows, spender)

    @classmethod
    def counted(
        cls, limits: Budgets, clock: Clock, journal: Journal, rows: Iterable[Row], spender: Spender | None = None
    ) -> Budget:
        """Return a budget with the usage in these rows of a journal, for those who have read them."""
        spender = spender or Spender()
        budget = cls(limits, clock, journal.get("id") or "RUN", spender)
        agent, worked = spender.agent, 0.0
        for row in rows:
            ended = row.ended_at or row.started_at
            budget.latest = max(budget.latest, ended)
            if row.detail.get(REUSED):
                continue
            key = row.key.removeprefix(spender.prefix)
            acting = spender.agents_of(key) if agent is not None else ()
            is_own = acting[-1:] == (agent,) if agent is not None else "/" not in key
            if row.kind == "step" and is_own:
                worked += max(0.0, ended - row.started_at)
            if agent is None or agent in acting:
                budget._count_row(row, is_own=agent is None or is_own)
        budget.earlier_s = worked_before(journal, budget.latest) if spender.is_run else worked
        return budget

    def _count_row(self, row: Row, *, is_own: bool) -> None:
        """Count the usage in a row of the journal."""
        is_done = row.status == "done"
        if row.kind == "model":
            if paid := row.paid_calls:
                self.count_model_call(row.usage, row.cost, calls=paid)
        elif row.kind == "tool":
            self.tool_calls += row.paid_calls - is_done
            if is_done:
                self.count_tool_call()
        elif row.kind == "row":
            if row.ended_at is not None:
                self.count_run(row.key, row.usage, row.cost)
        elif is_done and is_own and row.is_step:
            self.count_step()

    @classmethod
    def of_many(
        cls, limits: Mapping[str, float], clock: Clock, runs: str, fix: str, journal: Journal | None = None
    ) -> Budget:
        """Return a budget that many runs spend together, for `SharedRuns`.

        Args:
            limits: By names of `runtime.budgets`.
            runs: The word for them together, for messages.
            fix: How they go on after a limit; `{limit}` is its name.
            journal: Has the facts of the runs together, such as how long earlier processes worked on them.
        """
        from strands_cli.workflow.sections import Budgets

        earlier_s = worked_before(journal) if journal is not None else 0.0
        section = Budgets(**limits)  # type: ignore[arg-type]  # each limit has the type of its field
        return cls(section, clock, spender=Spender(runs=runs, fix=fix), earlier_s=earlier_s)

    @staticmethod
    def read_limits(texts: Mapping[str, str]) -> dict[str, float]:
        """Return limits for `of_many` from their texts.

        Raises:
            UsageError: A name is not one of `runtime.budgets`, or a limit is not a number above 0.
        """
        from strands_cli.workflow.sections import Budgets

        names = [name for name in Budgets.model_fields if name.startswith("max_")]
        limits: dict[str, float] = {}
        for name, text in texts.items():
            if name not in names:
                fix = suggest(name, names, f"there are: {', '.join(names)}")
                raise UsageError(f"there is no budget '{name}'", fix=fix)
            try:
                limits[name] = float(text) if name.endswith(("cost_usd", "duration_s")) else int(text)
            except ValueError:
                limits[name] = 0
            if not 0 < limits[name] < float("inf"):
                message = f"--budget {name}={text}: that is not a number above 0"
                raise UsageError(message, fix=f"write --budget {name}=1000")
        return limits

    def exceeded(self) -> BudgetExceeded | None:
        """Return why no further one of many runs may begin: a limit is reached, or can no longer be checked."""
        try:
            for kind in _LIMITS_ON:
                self.require(kind)
        except BudgetExceeded as error:
            return error
        return None

    def count_journal(self, journal: Journal) -> None:
        """Count the usage in the journal of one of many runs; see `count_run`."""
        spent = Budget.resumed(self.limits, self.clock, journal)
        calls = {"steps": spent.steps, "model_calls": spent.model_calls, "tool_calls": spent.tool_calls}
        self.count_run(spent.run, spent.usage, spent.cost, **calls)

    def count_run(
        self, run: str, usage: Usage, cost: float | None, *, steps: int = 0, model_calls: int = 0, tool_calls: int = 0
    ) -> None:
        """Count the usage of one of many runs in earlier processes; each run is counted once."""
        if run in self._counted:
            return
        self._counted.add(run)
        self.steps += steps
        self.model_calls += model_calls
        self.tool_calls += tool_calls
        self.usage += usage
        self._known_cost += cost or 0.0
        self._unpriced += cost is None

    def require(self, kind: RowKind) -> None:
        """Check that one more effect of this kind may begin.

        Raises:
            BudgetExceeded: A limit is reached, or can no longer be checked.
        """
        for name, spent, limit in self._limits_on(kind):
            if spent >= limit:
                raise self.spender.reached(name, limit, spent, self.run)
        if kind == "model" and self.limits.max_cost_usd is not None and self._unpriced:
            error = BudgetExceeded(
                f"budget: {self.spender.place}max_cost_usd cannot be checked: the cost of {self._unpriced} of "
                f"{self.spender.runs or 'the run'}'s model calls is not known",
                fix="give all the model's prices; where a server reports no tokens, limit max_model_calls instead",
            )
            error.is_of_many = self.spender.runs is not None
            raise error

    def warnings(self, kind: RowKind) -> list[str]:
        """Return warnings before an effect: limits of which `warn_threshold` is spent, each once."""
        if not (limits := self._limits_on(kind)):
            return []
        near = {
            name: f"{spent:g} of {self.spender.place}{name}: {limit:g} are spent"
            for name, spent, limit in limits
            if limit * self.limits.warn_threshold <= spent < limit
        }
        if kind == "model" and self.limits.max_tokens is not None and self._unmeasured:
            near["unmeasured"] = (
                f"a model does not report all tokens, so {self.spender.place}max_tokens counts estimates: "
                "a token for 4 bytes of text"
            )
        new = {name: message for name, message in near.items() if name not in self._warned}
        self._warned |= new.keys()
        return list(new.values())

    def _limits_on(self, kind: RowKind) -> list[tuple[str, float, float]]:
        limits = [(name, getattr(self.limits, name)) for name in _LIMITS_ON.get(kind, ())]
        return [(name, self._spent_of(name), limit) for name, limit in limits if limit is not None]

    def _spent_of(self, limit: str) -> float:
        spent = {
            "max_steps": self.steps,
            "max_model_calls": self.model_calls + self._reserved["model"],
            "max_tokens": self.usage.total_tokens,
            "max_cost_usd": self._known_cost,
            "max_tool_calls": self.tool_calls + self._reserved["tool"],
            "max_duration_s": self.seconds,
        }
        return spent[limit]

    async def in_time(self, work: Awaitable[Result]) -> Result:
        """Await a step's work; cancel it when `max_duration_s` is over.

        Raises:
            BudgetExceeded: The time is over.
        """
        limit = self.limits.max_duration_s
        began = self.clock.monotonic()
        try:
            if limit is None:
                return await work
            reached = self.spender.reached("max_duration_s", limit, max(limit, self.seconds), self.run)
            return await _within(limit - self.seconds, work, reached)
        finally:
            if self.spender.agent is not None:
                self.earlier_s += self.clock.monotonic() - began

    @property
    def seconds(self) -> float:
        """How long all processes of the run have worked, or how long the agent's steps took."""
        counts = self.spender.agent is None and not self.is_frozen
        return self.earlier_s + (self.clock.monotonic() - self._started if counts else 0.0)

    @property
    def cost(self) -> float | None:
        """The cost of the model calls in US dollars, or None where the cost of one is not known."""
        return None if self._unpriced else self._known_cost

    def count_step(self) -> None:
        """Count a step that begins."""
        self.steps += 1

    def begin_call(self, kind: RowKind) -> None:
        """Reserve a model or tool call that begins; `count_...` or `release_call` ends the reservation."""
        self._reserved[kind] += 1

    def release_call(self, kind: RowKind) -> None:
        """Release the reservation of a call that failed or was cancelled."""
        self._reserved[kind] = max(0, self._reserved[kind] - 1)

    async def reserve_cost(self, most: float) -> None:
        """Reserve the most that a model call may cost; wait while calls beside it may still cost too much for both.

        Raises:
            BudgetExceeded: It could pass the limit by itself.
        """
        limit = self.limits.max_cost_usd
        while limit is not None and (spent := self._known_cost) + sum(self._open_costs) + most > limit:
            if not self._open_costs:
                raise self.spender.reached("max_cost_usd", limit, spent, self.run, most)
            self._freed.clear()
            await self._freed.wait()
        self._open_costs.append(most)

    def release_cost(self, most: float) -> None:
        """Release what `reserve_cost` has reserved."""
        self._open_costs.remove(most)
        self._freed.set()

    def count_model_call(self, usage: Usage, cost: float | None, *, calls: int = 1) -> None:
        """Count an ended model call; `calls` are its attempts with an answer."""
        self.release_call("model")
        self.model_calls += calls
        self.usage += usage
        self._unmeasured += usage.total_tokens == 0 or usage.estimated_tokens > 0
        if cost is None:
            self._unpriced += 1
        else:
            self._known_cost += cost

    def count_tool_call(self) -> None:
        """Count an ended tool call."""
        self.release_call("tool")
        self.tool_calls += 1


def worked_before(journal: Journal, latest: float | None = None) -> float:
    """Return the seconds that earlier processes of the run worked on it.

    A process that ended has stored the sum as `worked_s`; for one that was killed, the latest time in the rows counts.

    Args:
        latest: The latest time in the rows, where the caller knows it.
    """
    worked, session = journal.get("worked_s"), journal.get("session_started_at")
    if session is None:
        return float(worked or 0.0)
    if latest is None:
        latest = max((row.ended_at or row.started_at for row in journal.rows()), default=0.0)
    return float(worked or 0.0) + max(0.0, latest - float(session))
