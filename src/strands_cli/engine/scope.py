"""One step's view of its run: effects under its key, events, questions, and the way to stop from inside a call."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from strands_cli.engine.budget import StepTally, Terms
from strands_cli.engine.effects import Effect
from strands_cli.engine.rows import Answer, Question
from strands_cli.errors import RunFailed, StrandsCliError, WaitingForPerson
from strands_cli.events import Event, HumanAnswered, HumanAsked, RunWarning, Usage
from strands_cli.spec.regex import SlowPattern, fullmatch

if TYPE_CHECKING:
    from strands_cli.engine.budget import Budget
    from strands_cli.engine.rows import Clock, Human, RowKind


class Host(Protocol):
    """What a scope needs of the run it belongs to."""

    clock: Clock
    human: Human
    budget: Budget

    def emit(self, event: Event) -> None:
        """Tell the listeners."""

    def effect(self, *, key: str, kind: RowKind, given: Any, repeatable: bool, retried: bool = False) -> Effect:
        """Look an effect up, or let it begin."""


class StepScope:
    """What agents and tools see of a run while one step is executed; `key` is the step's path.

    `retries_call` is set where a step's own tool call failed before and is to be made again.
    """

    def __init__(self, run: Host, key: str, who: str, terms: Terms | None = None) -> None:
        self.key = key
        self.who = who
        self.stopped: StrandsCliError | None = None
        self.cancel: Callable[[], None] | None = None
        self.usage = Usage()
        self.terms = terms or Terms()
        self._run = run
        self.began: float | None = None
        self.retries_call = False
        self._tally = StepTally()
        self._tool_uses = 0
        self._positions: dict[str, deque[int]] = {}

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
        self.stopped = self.stopped or reason
        if self.cancel is not None:
            self.cancel()

    def model_effect(self, given: Any, *, label: str = "model") -> Effect:
        """Open the next model call of this step; checks run's and agent's limits where the journal has no answer."""
        key = f"{self.key}/{label}.{self._tally.turns}"
        effect = self._run.effect(key=key, kind="model", given=given, repeatable=True)
        if effect.recorded is None:
            self._begin_call("model")
        else:
            self._tally.count_model_call(effect.recorded.usage, effect.recorded.cost)
        self._tally.turns += 1
        return effect

    def _begin_call(self, kind: RowKind) -> None:
        """Check the limits of the agent, and hold a place in every budget that counts the call."""
        self.terms.require(kind, self.key, self.who, self._tally)
        for budget in self._budgets:
            for message in budget.warnings(kind):
                self.emit(RunWarning(self.now(), message))
            budget.begin_call(kind)

    @property
    def _budgets(self) -> tuple[Budget, ...]:
        return (self._run.budget, *([self.terms.budget] if self.terms.budget is not None else []))

    async def sleep(self, seconds: float) -> None:
        """Wait by the run's clock."""
        await self._run.clock.sleep(seconds)

    def notes_effect(self, name: str, given: Any) -> Effect:
        """Open the reading (`notes`) or the writing (`note`) of the notes file by this step."""
        return self._run.effect(key=f"{self.key}/{name}", kind="notes", given=given, repeatable=True)

    def expect_tools(self, tool_use_ids: Iterable[str]) -> None:
        """Number the tool uses of a finished turn in request order, whatever order they will start in.

        Some local servers give every tool use the same id; equal ids are told apart by the order of their calls.
        """
        for tool_use_id in tool_use_ids:
            self._positions.setdefault(tool_use_id, deque()).append(self._tool_uses)
            self._tool_uses += 1

    def tool_effect(self, tool_use_id: str, name: str, given: Any, *, repeatable: bool) -> Effect:
        """Open one tool call; its index is its place in request order over the step."""
        if not self._positions.get(tool_use_id):
            self.expect_tools([tool_use_id])
        key = f"{self.key}/tool.{self._positions[tool_use_id].popleft()}.{name}"
        effect = self._run.effect(key=key, kind="tool", given=given, repeatable=repeatable, retried=self.retries_call)
        if effect.recorded is None:
            self._begin_call("tool")
        self._tally.tool_calls += 1
        return effect

    def drop_model_call(self) -> None:
        """Count a model call no longer that failed or was broken off."""
        for budget in self._budgets:
            budget.drop_call("model")

    def count_model_call(self, usage: Usage, cost: float | None) -> None:
        """Add a model call that was made, not one that the journal answered."""
        self.usage += usage
        self._tally.count_model_call(usage, cost)
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
        """
        effect = self._run.effect(key=question.key, kind="human", given=given, repeatable=True)
        if effect.recorded is not None:
            return _given(question, Answer("answered", **effect.recorded.output))
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
