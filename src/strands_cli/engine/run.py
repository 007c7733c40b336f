"""One run, for the functions of patterns; every effect goes through here to the journal."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects.budget import Budget, Spender, StepLimits
from strands_cli.engine.effects.effect import Effect, EffectSpec, Job, Outcome, run_jobs
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Answer, Row, RowKind
from strands_cli.engine.ports import UNTRACED, Ports, traced_step
from strands_cli.engine.step_inputs import StepInputs, Visit, is_part, keys_in
from strands_cli.engine.step_results import StepResult, describe
from strands_cli.engine.waiting.questions import granted_tools
from strands_cli.errors import InvalidAnswer, RunFailed, StrandsCliError, WaitingForPerson
from strands_cli.events import Event, PathEnded, RunWarning, StepFailed, StepFinished, StepStarted, Verdict
from strands_cli.planning.row_planner import agents_by_key
from strands_cli.workflow.agent_sections import AgentLimits
from strands_cli.workflow.gate_answers import read_answer
from strands_cli.workflow.sections import Budgets
from strands_cli.workflow.steps import AgentStep, CallStep, GateStep, is_approval

if TYPE_CHECKING:
    from strands_cli.planning.plan_values import Plan
    from strands_cli.workflow.steps import Step


_UNLIMITED = AgentLimits()


class Run:
    """One execution of a plan. Patterns call `step`, `decide`, `sequence` and `jobs`.

    A workflow called as a tool is a run of its own, `within` the step that calls it: its keys begin with `prefix`, and
    its usage counts in that step too.
    """

    def __init__(
        self,
        plan: Plan,
        ports: Ports,
        run_id: str,
        emit: Callable[[Event], None],
        *,
        within: StepScope | None = None,
        prefix: str = "",
    ) -> None:
        self.plan = plan
        self.id = run_id
        self.clock = ports.clock
        self.human = ports.human
        self._emit = emit
        self.ports = ports
        self.verdict: Verdict | None = None
        self._within = within
        self._prefix = prefix
        spender = Spender(workflow=plan.file if within is not None else None, prefix=prefix)
        self.budget = Budget.resumed(plan.spec.runtime.budgets, ports.clock, ports.journal, spender)
        of_many = ports.budget if within is None else None  # a workflow inside counts by the step that calls it
        self.budgets: Sequence[Budget] = (self.budget,) if of_many is None else (self.budget, of_many)
        self.provider_limits = ports.provider_limits
        self.spending = ports.spending
        self._agent_budgets = _agent_budgets(plan, ports, prefix)
        self._limits: dict[str | None, StepLimits] = {}
        self.step_inputs = StepInputs(plan, ports, self.warn)
        self._slots = asyncio.Semaphore(plan.spec.runtime.max_parallel)

    @functools.cached_property
    def grants(self) -> set[str]:
        """The tools that a person has allowed for all calls of this run; a workflow inside it shares them."""
        return granted_tools(self.ports.journal) if self._within is None else self._within.run.grants

    def emit(self, event: Event) -> None:
        """Send an event to the listeners."""
        self._emit(event)

    def effect(self, spec: EffectSpec) -> Effect:
        """Look an effect up; where the journal has no result, check the budget before it may begin."""
        effect = Effect(self.ports.journal, self.clock, spec)
        if effect.recorded is None:
            self._check_budget(spec.kind)
        return effect

    def _check_budget(self, kind: RowKind) -> None:
        if self._within is not None:
            self._within.require_nested(kind)
        for budget in self.budgets:
            budget.require(kind)
            for message in budget.warnings(kind):
                self.warn(message)

    def _limits_of(self, step: Step) -> StepLimits:
        """Return the limits of a step."""
        agent = step.agent if isinstance(step, AgentStep) else None
        if agent not in self._limits:  # the same for each step of an agent, and a long run has many
            limits = (self.plan.agents[agent].limits if agent else None) or _UNLIMITED
            budget = self._agent_budgets.get(agent) if agent else None
            policy = self.plan.spec.runtime.failure_policy
            self._limits[agent] = StepLimits(limits, policy, self.plan.prices, budget)
        return self._limits[agent]

    def _begin(self, scope: StepScope, step: Step) -> None:
        """Send once the event that a step begins: when it has its slot, or when the journal has its result."""
        if scope.began is None:
            scope.began = self.clock.monotonic()
            self.emit(StepStarted(self.clock.now(), scope.key, *describe(step)))

    async def sequence(
        self,
        prefix: str,
        steps: Sequence[Step],
        names: Mapping[str, Any] | None = None,
        *,
        keep_failure: bool = False,
        apart: bool = False,
        is_path: bool = False,
    ) -> dict[str, Any]:
        """Run steps one after another; each sees the earlier ones as `steps`, `last_response`, `hitl_response`.

        Args:
            keep_failure: See `Visit`.
            apart: Whether their agents remember no other steps.
            is_path: Whether those with `memory: path` remember no other steps.

        Returns:
            The names as the last step left them.
        """
        scope: dict[str, Any] = {**(names or {}), "steps": [], "last_response": ""}
        for index, step in enumerate(steps):
            alone = apart or (is_path and self.step_inputs.conversations.follows_path(step))
            before = keys_in(prefix, steps[:index]) if alone else None
            key = f"{prefix}.{index}"
            result = await self._visit(Visit(key, step, scope, index, None, keep_failure, before))
            scope = {**scope, "steps": [*scope["steps"], result], "last_response": result.response}
            if isinstance(step, GateStep):
                scope |= result.of_person
        return scope

    async def jobs(self, jobs: Mapping[str, Job], tell: Callable[[str, Outcome], None]) -> None:
        """Run jobs side by side, each when its dependencies are done; `max_parallel` bounds the steps in them."""
        await run_jobs(jobs, tell)

    async def decide(
        self,
        key: str,
        step: AgentStep,
        schema: Mapping[str, Any],
        names: Mapping[str, Any],
        *,
        keep_failure: bool = False,
    ) -> StepResult:
        """Ask an agent for structured output; `.output` satisfies the JSON Schema.

        Args:
            keep_failure: See `Visit`.

        Raises:
            InvalidAnswer: The agent gave none, also when it was asked to correct its answer.
        """
        return await self._visit(Visit(key, step, names, schema=schema, keep_failure=keep_failure))

    def judge(self, verdict: Verdict) -> None:
        """Take the verdict on the last draft; a workflow inside another one does not store its own."""
        self.verdict = verdict
        if self._within is None and not self.budget.is_frozen:
            self.ports.journal.put(verdict=verdict.as_dict())

    def warn(self, message: str) -> None:
        """Send a warning to the listeners."""
        self.emit(RunWarning(self.clock.now(), message))

    def path_ended(self, node: str) -> None:
        """Send the event that no choice of a node's edges holds, so that its path ends."""
        self.emit(PathEnded(self.clock.now(), self._prefix + node))

    async def step(
        self,
        key: str,
        step: Step,
        names: Mapping[str, Any],
        *,
        index: int = 0,
        keep_failure: bool = False,
        remembers: Sequence[str] | None = None,
    ) -> StepResult:
        """Execute one step of any kind under its key, or take its result from the journal; see `Visit`."""
        return await self._visit(Visit(key, step, names, index, None, keep_failure, remembers))

    async def inner_step(self, outer: StepScope, key: str, step: Step, names: Mapping[str, Any]) -> StepResult:
        """Execute a step inside a call of another one.

        The outer step has the slot, and an agent begins without a conversation.
        """
        scope = StepScope(self, key, describe(step)[1], self._limits_of(step), outer)
        return await self._run_step(scope, Visit(key, step, names, index=1))

    async def _visit(self, visit: Visit) -> StepResult:
        step = visit.step
        key = self._prefix + visit.key
        return await self._run_step(StepScope(self, key, describe(step)[1], self._limits_of(step), self._within), visit)

    async def _run_step(self, scope: StepScope, visit: Visit) -> StepResult:
        kind, who = describe(visit.step)
        try:
            result, replayed = await self._perform(scope, visit)
        except WaitingForPerson:
            raise
        except StrandsCliError as error:
            self._begin(scope, visit.step)
            self.emit(StepFailed(self.clock.now(), scope.key, kind, who, error.message))
            raise
        self._begin(scope, visit.step)
        seconds = self.clock.monotonic() - (scope.began or 0.0)
        self.emit(StepFinished(self.clock.now(), scope.key, kind, who, result.response, seconds, scope.usage, replayed))
        return result

    async def _perform(self, scope: StepScope, visit: Visit) -> tuple[StepResult, bool]:
        step = visit.step
        if isinstance(step, GateStep):
            return await self._gate(scope, step, visit)
        effect_input, act = self.step_inputs.prepared(scope, step, visit)
        effect = self.effect(EffectSpec(scope.key, "step", effect_input))
        if effect.recorded is not None:
            return self.step_inputs.result(scope, visit, effect.recorded.output), True
        if visit.keep_failure and effect.failure is not None:
            if visit.schema is not None:
                raise InvalidAnswer(effect.failure)
            raise RunFailed(effect.failure)
        # No model has read the error result of a step's own call, so a second attempt of the step repeats the call.
        scope.may_have_rows = effect.is_repeated
        scope.retries_call = isinstance(step, CallStep) and effect.retries
        scope.was_misanswered = (effect.failure or "").startswith(InvalidAnswer.begins_with)
        self._count_step(scope)
        part = is_part(scope)
        try:
            with contextlib.nullcontext() if part else self.step_inputs.conversations.reserved(step, scope.key):
                async with contextlib.nullcontext() if part else self._slots:
                    self._begin(scope, step)
                    effect.keep(agent=scope.who)
                    await effect.start()
                    with traced_step(self.ports.tracing, scope, *describe(step)):
                        work = scope.limits.in_time(act(), scope.key, scope.who)
                        for budget in self.budgets:
                            work = budget.in_time(work)
                        result, conversation = await work
        except RunFailed as error:
            if scope.began is None:
                await effect.start()
            await effect.fail(error.message)
            raise
        output = {"response": result.response, "agent": result.agent, "output": result.output, **conversation}
        await effect.finish(output)
        return self.step_inputs.result(scope, visit, output), False

    def count_step(self) -> None:
        """Count a step that begins, also in the runs that this one is a part of."""
        for budget in self.budgets:
            budget.count_step()
        if self._within is not None:
            self._within.run.count_step()

    def rows_below(self, key: str, kind: RowKind | None = None) -> Iterator[Row]:
        """Return the rows below the key of a step or a call; all of the run without a key."""
        return self.ports.journal.rows(kind, key)

    def offered_answer(self, key: str) -> Answer | None:
        """Return the answer that another process has stored for a question which this one waits for."""
        from strands_cli.engine.waiting.questions import offered_answer

        return offered_answer(self.ports.journal, key)

    def unless_inputs(self, **names: Any) -> dict[str, Any]:
        """Return names of the runtime without those of inputs, which templates mean then."""
        return {name: value for name, value in names.items() if name not in self.plan.inputs}

    def has_begun(self, key: str) -> bool:
        """Return whether the journal has a step of this key."""
        return self.ports.journal.row(self._prefix + key) is not None

    def _count_step(self, scope: StepScope) -> None:
        """Count a step that begins in the run and in its agent's budget, before it waits for a slot."""
        if scope.limits.budget is not None:
            scope.limits.budget.require("step")
            scope.limits.budget.count_step()
        self.count_step()

    async def _gate(self, scope: StepScope, step: GateStep, visit: Visit) -> tuple[StepResult, bool]:
        """Ask a person, or take the answer from the journal; a gate counts as a step."""
        question = self.step_inputs.question(scope.key, step, visit.names)
        row = self.ports.journal.row(scope.key)
        replayed = row is not None and row.status == "done"
        if not replayed:
            self._check_budget("step")
            self._count_step(scope)
        self._begin(scope, step)
        tracing = UNTRACED if replayed else self.ports.tracing
        with traced_step(tracing, scope, *describe(step)):
            answer = await scope.ask(question, {"prompt": question.prompt, "context": question.context})
        value = None if step.answer is None else read_answer(answer.text, step.answer)[1]
        approved = is_approval(answer.text)
        result = StepResult(answer.text, "person", visit.index, value, approved=approved, note=answer.note)
        return self.step_inputs.in_words(result, step, question.prompt), replayed


def _agent_budgets(plan: Plan, ports: Ports, prefix: str) -> dict[str, Budget]:
    """Return the agents' budgets, with the usage of earlier processes."""
    limits = {
        agent.id: Budgets(**agent.budgets.model_dump())
        for agent in plan.agents.values()
        if agent.budgets is not None and any(limit is not None for _, limit in agent.budgets)
    }
    if not limits:
        return {}
    spender = Spender(prefix=prefix, agents_of=agents_by_key(plan.spec))
    return {
        agent: Budget.resumed(own, ports.clock, ports.journal, dataclasses.replace(spender, agent=agent))
        for agent, own in limits.items()
    }
