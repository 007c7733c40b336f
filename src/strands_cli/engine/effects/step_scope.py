"""One step's view of its run: effects under its key, events, questions to people, limits, and stopping."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects.asked_questions import (
    STAYS_UNTIL,
    answer_or_default,
    as_it_waits,
    default_if_late,
    detail_of,
    recorded_answer,
    require_unexpired,
    with_time_left,
)
from strands_cli.engine.effects.budget import StepLimits, StepTally
from strands_cli.engine.effects.effect import Effect, EffectSpec, is_error_result
from strands_cli.engine.effects.run_context import Changes, Repetitions, RunContext
from strands_cli.engine.journal.answers import checked, lacks_people
from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.errors import BudgetExceeded, StrandsCliError, WaitingForPerson
from strands_cli.events import NO_PERSON, Event, HumanAnswered, HumanAsked, RunWarning, Usage
from strands_cli.texts.canonical_json import digest_of
from strands_cli.workflow.gate_answers import UnfitAnswer

if TYPE_CHECKING:
    from strands_cli.engine.effects.budget import Budget
    from strands_cli.engine.journal.journal_rows import Row, RowKind
    from strands_cli.policy.resources import TouchedResources
    from strands_cli.policy.rule import Request


@dataclass(slots=True)
class StepState:
    """The progress and usage of a step; the scopes of its single calls share it."""

    stopped: StrandsCliError | None = None
    usage: Usage = field(default_factory=Usage)
    tally: StepTally = field(default_factory=StepTally)
    tool_uses: int = 0
    positions: dict[str, deque[int]] = field(default_factory=dict)
    inner: list[StepScope] = field(default_factory=list)
    exceeded: BudgetExceeded | None = None
    changes: Changes | None = None
    loops: Repetitions | None = None
    answer: Effect | None = None


class StepScope:
    """The run as agents and tools see it while one step is executed.

    Attributes:
        key: The step's path in the workflow.
        who: The agent or tool that acts.
        cancel: Cancels the step's agent.
        limits: The limits of the step.
        began: When the step began, in monotonic seconds.
        may_have_rows: Whether the journal may have rows below the step, from an earlier process.
        retries_call: Whether the step's own tool call failed earlier and is made again.
        was_misanswered: Whether the step failed earlier since an answer did not have the required form.
        before_asking: Is awaited before a question goes to a person; raises where it may no longer be asked.
        outer: The step with the call that this scope is a part of; the usage here counts there too.
    """

    def __init__(
        self, run: RunContext, key: str, who: str, limits: StepLimits | None = None, outer: StepScope | None = None
    ) -> None:
        self.key = key
        self.who = who
        self.cancel: Callable[[], None] | None = None
        self.limits = limits or StepLimits()
        self.began: float | None = None
        self.may_have_rows = True
        self.retries_call = False
        self.was_misanswered = False
        self.before_asking: Callable[[], Awaitable[None]] | None = None
        self.outer = outer
        self._run = run
        self._state = StepState()
        if outer is not None:
            self.before_asking = outer.before_asking
            outer._state.inner.append(self)

    def within(self, key: str) -> StepScope:
        """Return the scope of the tool calls that one call of this step consists of, below that call's key."""
        inner = StepScope(self._run, key, self.who, self.limits, self)
        inner.retries_call = self.retries_call
        return inner

    @property
    def run(self) -> RunContext:
        """The run of the step."""
        return self._run

    @property
    def stopped(self) -> StrandsCliError | None:
        """Why the step must end, or None."""
        return self._state.stopped

    @property
    def changes(self) -> Changes | None:
        """The changes of its calls in its agent; None without an agent."""
        return self._state.changes

    @changes.setter
    def changes(self, changes: Changes | None) -> None:
        self._state.changes = changes

    @property
    def loops(self) -> Repetitions | None:
        """The repeated calls of its agent; None where they are not looked for."""
        return self._state.loops

    @loops.setter
    def loops(self, loops: Repetitions | None) -> None:
        self._state.loops = loops

    @property
    def usage(self) -> Usage:
        """The tokens of its model calls, without those that the journal answered."""
        return self._state.usage

    @property
    def cost_usd(self) -> float | None:
        """The cost of its model calls, or None where the price of one is not known."""
        tally = self._state.tally
        return None if tally.unpriced else tally.cost_usd

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit on the calls or the usage of this step."""
        of_time = ("warn_threshold", "max_duration_s", "duration_s")
        limits = (self.limits.limits, *(budget.limits for budget in self._budgets))
        own = any(value is not None for limit in limits for name, value in limit if name not in of_time)
        return own or (self.outer is not None and self.outer.is_limited)

    @property
    def run_id(self) -> str | None:
        """The run's id, or None for a call outside a run."""
        return getattr(self._run, "id", None)

    def now(self) -> float:
        """Return seconds since the epoch by the run's clock."""
        return self._run.clock.now()

    def monotonic(self) -> float:
        """Return seconds for measuring durations by the run's clock."""
        return self._run.clock.monotonic()

    def emit(self, event: Event) -> None:
        """Send an event to the listeners."""
        self._run.emit(event)

    def stop(self, reason: StrandsCliError) -> None:
        """Record why the step must end and cancel its agent; the runner raises the first reason."""
        self._state.stopped = self.stopped or reason
        for inner in self._state.inner:
            inner.stop(reason)
        if self.cancel is not None:
            self.cancel()

    async def turn(self, request: Request) -> None:
        """Wait until a call may begin beside the others of its turn; a call without others begins at once."""

    async def turn_within(self, touched: TouchedResources) -> None:
        """Wait for the calls before this one that conflict with a call inside it."""

    def model_effect(
        self, effect_input: Any, *, label: str = "model", is_void: Callable[[Row], bool] = lambda _row: False
    ) -> Effect:
        """Open the next model call of this step; check the limits where the journal has no result.

        Args:
            is_void: Returns whether a result of the journal is not an answer, so that the model is asked again.
        """
        key = f"{self.key}/{label}.{self.number_of_turn(effect_input)}"
        effect = self._run.effect(EffectSpec(key, "model", effect_input, is_void=is_void))
        if (paid := effect.recorded or effect.paid) is not None:
            for tally in self._tallies:
                tally.count_model_call(paid.usage, paid.cost)
        if effect.recorded is None:
            self._begin_call("model")
        self._state.tally.turns += 1
        self._state.answer = effect if label == "model" else self._state.answer
        return effect

    async def reject_answer(self, reason: str) -> None:
        """Write that the last answer of its model made the step fail, so that a resumed run asks again."""
        if self._state.answer is not None:
            await self._state.answer.reject(reason)

    def last_answer(self, label: str) -> str | None:
        """Return the key of the last finished request in the journal that this step made with its model."""
        prefix = f"{self.key}/{label}."
        rows = self._run.rows_below(self.key, "model")
        keys = [row.key for row in rows if row.status == "done" and row.key.startswith(prefix)]
        return max(
            (key for key in keys if "/" not in key[len(prefix) :]), key=lambda key: (len(key), key), default=None
        )

    @property
    def next_request(self) -> str:
        """The key of the next request to its model."""
        return f"{self.key}/model.{self._state.tally.turns}"

    def number_of_turn(self, effect_input: Any) -> int:
        """Return the number of the step's next request to its model."""
        return self._state.tally.turns

    def _begin_call(self, kind: RowKind) -> None:
        """Check the limits of the agent, and reserve the call in every budget that counts it."""
        if self.outer is not None:
            self.outer.require_nested(kind)
        self.limits.require(kind, self.key, self.who, self._state.tally)
        for budget in self._budgets:
            for message in budget.warnings(kind):
                self.emit(RunWarning(self.now(), message))
            budget.begin_call(kind)

    @property
    def limits_money(self) -> bool:
        """Whether there is a limit on the money of this step, of its run, or of an outer step."""
        limits = (self.limits.limits.cost_usd, *(budget.limits.max_cost_usd for budget in self._budgets))
        is_limited = any(limit is not None for limit in limits) or self._run.spending.limits_money
        return is_limited or (self.outer is not None and self.outer.limits_money)

    @contextlib.asynccontextmanager
    async def reserved_call(self, model: str, most: float) -> AsyncGenerator[None, None]:
        """Reserve one call of a model (`provider/model_id`) while the context is open, and the most that it may cost.

        Raises:
            BudgetExceeded: It could pass a limit of this step, of its run, of an outer step, or of policy.
        """
        level = self
        async with contextlib.AsyncExitStack() as stack:
            try:
                budgets: list[Budget] = []
                for level in self._levels:
                    level.limits.require_cost(most, level.key, level.who, level._state.tally)
                    for budget in level._own_budgets:
                        if most and not any(budget is other for other in budgets):
                            budgets.append(budget)
                            await budget.reserve_cost(most)
                            stack.callback(budget.release_cost, most)
                await stack.enter_async_context(self._run.spending.reserved(model, most))
            except BudgetExceeded as error:
                if level is not self:  # what has called this ends too
                    level._state.exceeded = error
                    level.stop(error)
                raise
            yield

    @property
    def _levels(self) -> list[StepScope]:
        """This scope and those around it."""
        return [self, *(self.outer._levels if self.outer is not None else [])]

    def require_still(self) -> None:
        """Check the budgets again for a model call after its turn came: others may have spent meanwhile.

        Raises:
            BudgetExceeded: A limit is reached.
        """
        self.limits.require("model", self.key, self.who, self._state.tally, nested=True)
        self.release_call("model")
        try:
            for budget in self._budgets:
                budget.require("model")
        finally:
            for budget in self._budgets:
                budget.begin_call("model")

    def require_nested(self, kind: RowKind) -> None:
        """Check that an effect may begin inside one of this step's calls; stop this step where it may not.

        Raises:
            BudgetExceeded: A limit of this step, of its run, or of an outer step is reached.
        """
        if self.outer is not None:
            self.outer.require_nested(kind)
        try:
            if kind != "step":
                self.limits.require(kind, self.key, self.who, self._state.tally, nested=True)
            for budget in self._run.budgets:
                budget.require(kind)
        except BudgetExceeded as error:
            self._state.exceeded = error
            self.stop(error)
            raise

    @property
    def exceeded(self) -> BudgetExceeded | None:
        """The limit of this step or of an outer one that was reached inside one of its calls."""
        return self._state.exceeded or (self.outer.exceeded if self.outer is not None else None)

    @property
    def _own_budgets(self) -> tuple[Budget, ...]:
        return (*self._run.budgets, *([self.limits.budget] if self.limits.budget is not None else []))

    @property
    def _budgets(self) -> tuple[Budget, ...]:
        own = self._own_budgets
        around = self.outer._budgets if self.outer is not None else ()
        return (*own, *(budget for budget in around if not any(budget is own_budget for own_budget in own)))

    @property
    def _tallies(self) -> tuple[StepTally, ...]:
        return (self._state.tally, *(self.outer._tallies if self.outer is not None else ()))

    async def sleep(self, seconds: float) -> None:
        """Wait, as the run's clock counts."""
        await self._run.clock.sleep(seconds)

    def notes_effect(self, name: str, effect_input: Any) -> Effect:
        """Open the reading (`notes`) or the writing (`note`) of the notes file by this step."""
        return self._run.effect(EffectSpec(f"{self.key}/{name}", "notes", effect_input))

    def expect_tools(self, tool_use_ids: Iterable[str]) -> None:
        """Number the tool uses of a finished turn in the order of the request; they may start in another.

        Some local servers give every tool use the same id; the order of the calls distinguishes equal ids.
        """
        for tool_use_id in tool_use_ids:
            self._state.positions.setdefault(tool_use_id, deque()).append(self._state.tool_uses)
            self._state.tool_uses += 1

    def tool_effect(self, tool_use_id: str, name: str, effect_input: Any, *, repeatable: bool) -> Effect:
        """Open one tool call; its number is its position among the requests of the step."""
        if not self._state.positions.get(tool_use_id):
            self.expect_tools([tool_use_id])
        position = self._state.positions[tool_use_id].popleft()
        return self.numbered_effect(position, name, effect_input, repeatable=repeatable)

    def numbered_effect(self, number: int, name: str, effect_input: Any, *, repeatable: bool) -> Effect:
        """Open the tool call with this number, and reserve its place in the budgets."""
        key = f"{self.key}/tool.{number}.{name}"
        is_void = is_error_result if self.retries_call else lambda _row: False
        spec = EffectSpec(key, "tool", effect_input, repeatable, is_void)
        effect = self._run.effect(spec)
        if effect.recorded is not None and effect.recorded.detail.get(NO_PERSON) and not self._has_followed(key):
            effect = self._run.effect(dataclasses.replace(spec, is_void=is_error_result))
        if effect.recorded is None:
            self._begin_call("tool")
        for tally in self._tallies:
            tally.tool_calls += 1
        return effect

    async def take_answer(self, question: str, call: str) -> bool:
        """Return whether an earlier process has stored the answer to a question about a call of this step.

        A question that still waits is closed: the permission of the call is decided without an answer.
        """
        rows = self._run.rows_below(call, "human") if self.may_have_rows else ()
        row = next((row for row in rows if row.key == question), None)
        if row is not None and row.status == "waiting":
            effect = self._run.effect(EffectSpec(question, "human", None))
            effect.keep(**row.detail)
            await effect.fail("decided without a person")
        return row is not None and row.status == "done"

    def _asked_otherwise(self, effect_input: Mapping[str, Any]) -> Callable[[Row], bool]:
        """Return the test for an answer that a person gave to other arguments of a call that failed."""
        return lambda row: self.retries_call and row.digest != digest_of(effect_input)

    def _has_followed(self, key: str) -> bool:
        """Return whether a model has been asked after a call of this step, so that it knows the result."""
        rows = [row.key for row in self._run.rows_below(self.key)]
        return any(row.startswith(f"{self.key}/model.") for row in rows[rows.index(key) + 1 :])

    def count_nested(self, key: str) -> None:
        """Count the usage inside a call whose result the journal has."""
        for row in self._run.rows_below(key):
            for tally in self._tallies:
                if row.kind == "model" and row.paid_calls:
                    tally.count_model_call(row.usage, row.cost)
                tally.tool_calls += row.kind == "tool" and row.status == "done"

    def release_call(self, kind: RowKind) -> None:
        """Release the reservation of a call that failed, was cancelled or never began."""
        for budget in self._budgets:
            budget.release_call(kind)

    def count_model_call(self, usage: Usage, cost: float | None, model: str = "", *, asks_again: bool = False) -> None:
        """Count a call of a model that was made, not one that the journal answered; `asks_again` keeps its place."""
        self._state.usage += usage
        self._run.spending.count(model, usage, cost)
        for tally in self._tallies:
            tally.count_model_call(usage, cost)
        for budget in self._budgets:
            budget.count_model_call(usage, cost)
            if asks_again:
                budget.begin_call("model")

    def count_tool_call(self) -> None:
        """Count a tool call that was made, not one that the journal answered."""
        for budget in self._budgets:
            budget.count_tool_call()

    async def ask(self, question: Question, effect_input: Mapping[str, Any]) -> Answer:
        """Ask a person as a journaled effect with the input `effect_input`.

        Returns:
            The answer. For an approval also the outcome `nobody`, which is never recorded.

        Raises:
            WaitingForPerson: The question is stored and waits.
            RunFailed: A person has rejected the gate.
            StrandsCliError: An earlier call of the same turn has stopped the run.
        """
        is_void = self._asked_otherwise(effect_input)
        effect = self._run.effect(EffectSpec(question.key, "human", effect_input, is_void=is_void))
        if effect.recorded is not None:
            return recorded_answer(question, Answer("answered", **effect.recorded.output))
        question = as_it_waits(question, effect.waits_for)
        grant = question.call.grant if question.call is not None else ""
        if grant and effect.waiting_since is None and grant in self._run.grants:
            return Answer("answered", "yes", grants=grant)
        effect.keep(kind=question.kind, prompt=question.prompt)
        if self.before_asking is not None:
            await self.before_asking()
        answer = self._run.offered_answer(question.key) if effect.waiting_since is not None else None
        answer = answer or default_if_late(question, effect.waiting_since, self.now())
        asked_at = self.now()
        if answer is None:
            self.emit(HumanAsked(self.now(), question.key, question.prompt))
            timed_question = with_time_left(question, effect.waiting_since, self.now())
            answer = await self._fitting_answer(timed_question)
            if answer.outcome == "stays":
                await effect.start()
                await effect.wait(detail_of(question) | {STAYS_UNTIL: self.now() + (timed_question.timeout_s or 0.0)})
                answer = await answer_or_default(timed_question, self._run)
        if answer.outcome == "waiting" and not question.may_wait:
            return Answer("nobody", by="")
        if answer.outcome == "nobody" and effect.waiting_since is not None and question.kind == "approval":
            await effect.fail("denied without a person")  # it waits no longer
        if answer.outcome == "waiting" or (answer.outcome == "nobody" and question.kind != "approval"):
            await effect.start()
            await effect.wait(detail_of(question))
            raise WaitingForPerson.for_answer(question.key, question.prompt)
        if answer.outcome == "answered" and lacks_people(answer, question):
            await effect.start()
            await effect.wait(detail_of(dataclasses.replace(question, answers=(*question.answers, answer.stored()))))
            raise WaitingForPerson.for_answer(question.key, question.prompt)
        if answer.outcome == "answered":
            await require_unexpired(effect, question, answer)
            await effect.start(since=asked_at)
            # Who has changed this call has not seen the next ones.
            grants = grant if answer.grants == grant and answer.arguments is None else ""
            answer = dataclasses.replace(answer, grants=grants)
            await effect.finish(answer.stored())
            self._run.grants.update({answer.grants} - {""})
            self.emit(HumanAnswered(self.now(), question.key, answer.text, answer.by))
        return recorded_answer(question, answer)

    async def refuse_answer(self, question: Question, effect_input: Mapping[str, Any]) -> None:
        """Write that a recorded answer cannot be used for its `problem`, so that the question is asked again."""
        await self._run.effect(EffectSpec(question.key, "human", effect_input)).reject(question.problem or "")

    async def _fitting_answer(self, question: Question) -> Answer:
        """Ask until the answer is one that the question accepts."""
        answer = await self._run.human.ask(question)
        while answer.outcome == "answered":
            try:
                return checked(answer, question)
            except UnfitAnswer as error:
                answer = await self._run.human.ask(dataclasses.replace(question, problem=str(error)))
        return answer
