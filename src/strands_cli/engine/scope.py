"""One step's view of its run: effects under its key, events, questions, and the way to stop from inside a call."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from strands_cli.engine.budget import StepLimits, StepTally
from strands_cli.engine.effects import Effect, EffectSpec
from strands_cli.engine.journal_rows import Answer, Question
from strands_cli.errors import BudgetExceeded, RunFailed, StrandsCliError, WaitingForPerson
from strands_cli.events import Event, HumanAnswered, HumanAsked, RunWarning, Usage
from strands_cli.workflow.templates.bounded_regex import SlowPattern, fullmatch

if TYPE_CHECKING:
    from strands_cli.engine.budget import Budget
    from strands_cli.engine.journal_rows import Clock, Human, Row, RowKind
    from strands_cli.policy import Request


class RunContext(Protocol):
    """What a scope needs of the run it belongs to."""

    clock: Clock
    human: Human
    budget: Budget

    def emit(self, event: Event) -> None:
        """Tell the listeners."""

    def effect(self, spec: EffectSpec) -> Effect:
        """Look an effect up, or check that it may begin."""

    def count_step(self) -> None:
        """Count a step that begins."""

    def done_below(self, key: str) -> Iterable[Row]:
        """Return what the journal holds of what was done inside a call."""


@dataclass(slots=True)
class StepState:
    """What has come of a step so far; whoever sees one of its calls alone shares it."""

    stopped: StrandsCliError | None = None
    usage: Usage = field(default_factory=Usage)
    tally: StepTally = field(default_factory=StepTally)
    tool_uses: int = 0
    positions: dict[str, deque[int]] = field(default_factory=dict)
    inner: list[StepScope] = field(default_factory=list)
    exceeded: BudgetExceeded | None = None


class StepScope:
    """What agents and tools see of a run while one step is executed; `key` is the step's path.

    `retries_call` is set where a step's own tool call failed before and is to be made again. `before_asking` is awaited
    before a question goes to a person, and raises where it may no longer be put. `outer` is the step of whose call this
    is a part: what is spent here is spent there too, and what is asked here waits as that call would.
    """

    def __init__(
        self, run: RunContext, key: str, who: str, terms: StepLimits | None = None, outer: StepScope | None = None
    ) -> None:
        self.key = key
        self.who = who
        self.cancel: Callable[[], None] | None = None
        self.terms = terms or StepLimits()
        self.began: float | None = None
        self.retries_call = False
        self.before_asking: Callable[[], Awaitable[None]] | None = None
        self.outer = outer
        self._run = run
        self._course = StepState()
        if outer is not None:
            self.before_asking = outer.before_asking
            outer._course.inner.append(self)

    def within(self, key: str) -> StepScope:
        """Return the scope of the tool calls that one call of this step is made of, below that call's key."""
        inner = StepScope(self._run, key, self.who, self.terms, self)
        inner.retries_call = self.retries_call
        return inner

    @property
    def host(self) -> RunContext:
        """The run it belongs to."""
        return self._run

    @property
    def stopped(self) -> StrandsCliError | None:
        """Why the step must end, if it must."""
        return self._course.stopped

    @property
    def usage(self) -> Usage:
        """What its model calls used, without those that the journal answered."""
        return self._course.usage

    @property
    def cost_usd(self) -> float | None:
        """What its model calls cost, None where the price of one of them is not known."""
        tally = self._course.tally
        return None if tally.unpriced else tally.cost_usd

    @property
    def is_limited(self) -> bool:
        """Whether anything bounds what this step may call or spend."""
        of_time = ("warn_threshold", "max_duration_s", "duration_s")
        limits = (self.terms.limits, *(budget.limits for budget in self._budgets))
        own = any(value is not None for one in limits for name, value in one if name not in of_time)
        return own or (self.outer is not None and self.outer.is_limited)

    @property
    def run_id(self) -> str | None:
        """The run's id, None for a call outside a run."""
        return getattr(self._run, "id", None)

    def now(self) -> float:
        """Return seconds since the epoch by the run's clock."""
        return self._run.clock.now()

    def monotonic(self) -> float:
        """Return seconds for measuring durations by the run's clock."""
        return self._run.clock.monotonic()

    def emit(self, event: Event) -> None:
        """Tell the listeners."""
        self._run.emit(event)

    def stop(self, reason: StrandsCliError) -> None:
        """Record why the step must end and cancel its agent; the first reason stands, and the runner raises it."""
        self._course.stopped = self.stopped or reason
        for inner in self._course.inner:
            inner.stop(reason)
        if self.cancel is not None:
            self.cancel()

    async def turn(self, request: Request) -> None:
        """Wait until a call may begin that stands beside others in its turn; alone it may at once."""

    def model_effect(self, given: Any, *, label: str = "model") -> Effect:
        """Open the next model call of this step; checks run's and agent's limits where the journal has no answer."""
        key = f"{self.key}/{label}.{self._course.tally.turns}"
        effect = self._run.effect(EffectSpec(key, "model", given))
        if effect.recorded is None:
            self._begin_call("model")
        else:
            for tally in self._tallies:
                tally.count_model_call(effect.recorded.usage, effect.recorded.cost)
        self._course.tally.turns += 1
        return effect

    def _begin_call(self, kind: RowKind) -> None:
        """Check the limits of the agent, and hold a place in every budget that counts the call."""
        if self.outer is not None:
            self.outer.require_inside(kind)
        self.terms.require(kind, self.key, self.who, self._course.tally)
        for budget in self._budgets:
            for message in budget.warnings(kind):
                self.emit(RunWarning(self.now(), message))
            budget.begin_call(kind)

    def require_inside(self, kind: RowKind) -> None:
        """Check that something may begin inside one of this step's calls; what this step may not spend ends it.

        Raises:
            BudgetExceeded: a limit of this step, of its run, or of what stands around them is reached.
        """
        if self.outer is not None:
            self.outer.require_inside(kind)
        try:
            if kind != "step":
                self.terms.require(kind, self.key, self.who, self._course.tally, inside=True)
            self._run.budget.require(kind)
        except BudgetExceeded as error:
            self._course.exceeded = error
            self.stop(error)
            raise

    @property
    def exceeded(self) -> BudgetExceeded | None:
        """The limit of this step, or of what stands around it, that something inside one of its calls reached."""
        return self._course.exceeded or (self.outer.exceeded if self.outer is not None else None)

    @property
    def _budgets(self) -> tuple[Budget, ...]:
        own = (self._run.budget, *([self.terms.budget] if self.terms.budget is not None else []))
        around = self.outer._budgets if self.outer is not None else ()
        return (*own, *(budget for budget in around if not any(budget is one for one in own)))

    @property
    def _tallies(self) -> tuple[StepTally, ...]:
        return (self._course.tally, *(self.outer._tallies if self.outer is not None else ()))

    async def sleep(self, seconds: float) -> None:
        """Wait by the run's clock."""
        await self._run.clock.sleep(seconds)

    def notes_effect(self, name: str, given: Any) -> Effect:
        """Open the reading (`notes`) or the writing (`note`) of the notes file by this step."""
        return self._run.effect(EffectSpec(f"{self.key}/{name}", "notes", given))

    def expect_tools(self, tool_use_ids: Iterable[str]) -> None:
        """Number the tool uses of a finished turn in request order, whatever order they will start in.

        Some local servers give every tool use the same id; equal ids are told apart by the order of their calls.
        """
        for tool_use_id in tool_use_ids:
            self._course.positions.setdefault(tool_use_id, deque()).append(self._course.tool_uses)
            self._course.tool_uses += 1

    def tool_effect(self, tool_use_id: str, name: str, given: Any, *, repeatable: bool) -> Effect:
        """Open one tool call; its index is its place in request order over the step."""
        if not self._course.positions.get(tool_use_id):
            self.expect_tools([tool_use_id])
        key = f"{self.key}/tool.{self._course.positions[tool_use_id].popleft()}.{name}"
        effect = self._run.effect(EffectSpec(key, "tool", given, repeatable, self.retries_call))
        if effect.recorded is None:
            self._begin_call("tool")
        for tally in self._tallies:
            tally.tool_calls += 1
        return effect

    def count_inside(self, key: str) -> None:
        """Add to this step's limits what was spent inside a call that the journal has answered as a whole."""
        for row in self._run.done_below(key):
            for tally in self._tallies:
                if row.kind == "model":
                    tally.count_model_call(row.usage, row.cost)
                tally.tool_calls += row.kind == "tool"

    def drop_model_call(self) -> None:
        """Count a model call no longer that failed or was broken off."""
        for budget in self._budgets:
            budget.drop_call("model")

    def drop_tool_call(self) -> None:
        """Count a tool call no longer that had its place in the budgets and was never begun."""
        for budget in self._budgets:
            budget.drop_call("tool")

    def count_model_call(self, usage: Usage, cost: float | None) -> None:
        """Add a model call that was made, not one that the journal answered."""
        self._course.usage += usage
        for tally in self._tallies:
            tally.count_model_call(usage, cost)
        for budget in self._budgets:
            budget.count_model_call(usage, cost)

    def count_tool_call(self) -> None:
        """Add a tool call that was made, not one that the journal answered."""
        for budget in self._budgets:
            budget.count_tool_call()

    async def ask(self, question: Question, given: Mapping[str, Any]) -> Answer:
        """Put a question to a person as a journaled effect, bound to the digest of `given`.

        Returns:
            The answer; for an approval also outcome `nobody` when there is no one to ask, which is not recorded.

        Raises:
            WaitingForPerson: the question was stored and waits.
            RunFailed: it is a gate, and somebody has rejected it.
            StrandsCliError: an earlier call of the same turn has stopped the run.
        """
        effect = self._run.effect(EffectSpec(question.key, "human", given))
        if effect.recorded is not None:
            return _given(question, Answer("answered", **effect.recorded.output))
        if self.before_asking is not None:
            await self.before_asking()
        answer = _overdue(question, effect.waiting_since, self.now())
        if answer is None:
            self.emit(HumanAsked(self.now(), question.key, question.prompt))
            answer = await self._fitting_answer(question)
        # A question that waits already goes on waiting: whoever resumes the run has not answered it by being nobody.
        must_wait = question.kind != "approval" or effect.waiting_since is not None
        if answer.outcome == "waiting" or (answer.outcome == "nobody" and must_wait):
            await effect.start()
            await effect.wait(_stored(question))
            raise WaitingForPerson(f"the run waits for an answer to {question.key}: {question.prompt}")
        if answer.outcome == "answered":
            await effect.start()
            await effect.finish({"text": answer.text, "by": answer.by})
            self.emit(HumanAnswered(self.now(), question.key, answer.text, answer.by))
        return answer

    async def _fitting_answer(self, question: Question) -> Answer:
        """Ask until the answer matches the question's pattern, whoever is behind the port; a default always fits."""
        answer = await self._run.human.ask(question)
        while answer.outcome == "answered" and answer.text != question.default and question.pattern is not None:
            problem = misfit(answer.text, question.pattern)
            if problem is None:
                break
            answer = await self._run.human.ask(dataclasses.replace(question, problem=problem))
        return answer


def misfit(text: str, pattern: str) -> str | None:
    """Return why an answer does not fit the pattern of its question, or None."""
    try:
        return None if fullmatch(pattern, text) is not None else f"{text!r} does not match {pattern!r}"
    except SlowPattern as error:
        return str(error)


def _given(question: Question, answer: Answer) -> Answer:
    """Return an answer that was recorded; a rejected gate fails its step, whenever the run goes on."""
    if question.kind == "gate" and answer.reason is not None:
        raise RunFailed(f"{question.key} was rejected by {answer.by}" + (f": {answer.reason}" if answer.reason else ""))
    return answer


def _overdue(question: Question, waiting_since: float | None, now: float) -> Answer | None:
    """Return the default of a question that was stored longer ago than it may wait."""
    if waiting_since is None or question.timeout_s is None or question.default is None:
        return None
    late = now - waiting_since >= question.timeout_s
    return Answer("answered", question.default, by="default") if late else None


def _stored(question: Question) -> dict[str, Any]:
    """Return a question as the journal keeps it for whoever answers later."""
    names = ("kind", "prompt", "context", "pattern", "default", "timeout_s")
    return {name: getattr(question, name) for name in names}
