"""One run: the few primitives that patterns are written in; every effect goes through here to the journal."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.engine.budget import Budget, StepLimits
from strands_cli.engine.concurrency import Job, Outcome, run_jobs
from strands_cli.engine.conversations import Conversations
from strands_cli.engine.effects import Effect, EffectSpec
from strands_cli.engine.ports import AgentRequest, Ports, Question, Row, RowKind
from strands_cli.engine.scope import StepScope
from strands_cli.engine.step_results import StepResult, describe, json_of, text_of
from strands_cli.engine.tracing_port import UNTRACED, traced_step
from strands_cli.errors import RunFailed, StrandsCliError, WaitingForPerson
from strands_cli.events import Event, PathEnded, RunWarning, StepFailed, StepFinished, StepStarted
from strands_cli.planning.plan import tools_in_step
from strands_cli.planning.planned_steps import agents_by_key
from strands_cli.workflow.model import AgentLimits, AgentStep, Budgets, CallStep, GateStep
from strands_cli.workflow.templates import TemplateError, Templates

if TYPE_CHECKING:
    from strands_cli.planning.plan import Plan
    from strands_cli.workflow.model import Step


class Run:
    """One execution of a plan. Patterns call `step`, `sequence` and `render`; nothing else touches the world.

    A workflow that is called as a tool is a run of its own `within` the step that calls it: its keys begin with
    `prefix`, and what it spends is spent there too.
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
        self._within = within
        self._prefix = prefix
        workflow = plan.file if within is not None else None
        self.budget = Budget.resumed(
            plan.spec.runtime.budgets, ports.clock, ports.journal, workflow=workflow, below=prefix
        )
        self._agent_budgets = _agent_budgets(plan, ports, prefix)
        self.templates = Templates()
        self._conversations = Conversations(plan.agents)
        self._slots = asyncio.Semaphore(plan.spec.runtime.max_parallel)

    def emit(self, event: Event) -> None:
        """Tell the listeners what happened."""
        self._emit(event)

    def effect(self, spec: EffectSpec) -> Effect:
        """Look an effect up; where the journal has no result, check the budget before it may begin."""
        effect = Effect(self.ports.journal, self.clock, spec)
        if effect.recorded is None:
            self._check_budget(spec.kind)
        return effect

    def _check_budget(self, kind: RowKind) -> None:
        if self._within is not None:
            self._within.require_inside(kind)
        self.budget.require(kind)
        for message in self.budget.warnings(kind):
            self.warn(message)

    def _terms(self, step: Step) -> StepLimits:
        """Return on what terms a step may call models."""
        agent = self.plan.agents[step.agent] if isinstance(step, AgentStep) else None
        limits = (agent.limits if agent else None) or AgentLimits()
        budget = self._agent_budgets.get(agent.id) if agent else None
        return StepLimits(limits, self.plan.spec.runtime.failure_policy, self.plan.prices, budget)

    def _begin(self, scope: StepScope, step: Step) -> None:
        """Tell once that a step begins: when it has its slot, or when its answer is already there."""
        if scope.began is None:
            scope.began = self.clock.monotonic()
            self.emit(StepStarted(self.clock.now(), scope.key, *describe(step)))

    def render(self, text: str, names: Mapping[str, Any] | None = None, *, where: str = "") -> str:
        """Render a template of the workflow over the inputs and `names`; `where` names it in an error."""
        try:
            return self.templates.render(text, {**self.plan.inputs, **(names or {})})
        except TemplateError as error:
            raise RunFailed(f"the template of {where or 'the workflow'} cannot be rendered: {error}") from error

    async def sequence(
        self,
        prefix: str,
        steps: Sequence[Step],
        names: Mapping[str, Any] | None = None,
        *,
        keep_failure: bool = False,
    ) -> dict[str, Any]:
        """Run steps one after another; each sees those before it as `steps`, `last_response`, `hitl_response`.

        Returns:
            The names as the last step left them.
        """
        seen: dict[str, Any] = {**(names or {}), "steps": [], "last_response": ""}
        for index, step in enumerate(steps):
            result = await self.step(f"{prefix}.{index}", step, seen, index=index, keep_failure=keep_failure)
            seen = {**seen, "steps": [*seen["steps"], result], "last_response": result.response}
            if isinstance(step, GateStep):
                seen["hitl_response"] = result.response
        return seen

    async def jobs(self, jobs: Mapping[str, Job], tell: Callable[[str, Outcome], None]) -> None:
        """Run jobs side by side, each when its dependencies are done; `max_parallel` bounds the steps in them."""
        await run_jobs(jobs, tell)

    async def decide(
        self, key: str, step: AgentStep, schema: Mapping[str, Any], names: Mapping[str, Any]
    ) -> StepResult:
        """Let an agent give a structured answer; `.output` satisfies the JSON Schema.

        Raises:
            InvalidAnswer: the agent gave none, also when it was asked to mend its answer.
        """
        return await self.step(key, step, names, schema=schema)

    def holds(self, condition: str, names: Mapping[str, Any], *, where: str) -> bool:
        """Evaluate a condition of the workflow; `where` names it in an error."""
        try:
            return self.templates.evaluate(condition, {**self.plan.inputs, **names})
        except TemplateError as error:
            raise RunFailed(f"the condition of {where} cannot be evaluated: {error}") from error

    def warn(self, message: str) -> None:
        """Tell the listeners of something that does not stop the run."""
        self.emit(RunWarning(self.clock.now(), message))

    def path_ended(self, node: str) -> None:
        """Tell the listeners that no choice of a node's edges holds, so that its path ends there."""
        self.emit(PathEnded(self.clock.now(), self._prefix + node))

    async def step(
        self,
        key: str,
        step: Step,
        names: Mapping[str, Any],
        *,
        index: int = 0,
        schema: Mapping[str, Any] | None = None,
        keep_failure: bool = False,
        within: StepScope | None = None,
    ) -> StepResult:
        """Execute one step of any kind under its key, or take its result from the journal.

        Args:
            key: The step's path in the workflow; with `within` the whole key.
            step: What to do.
            names: What its templates see besides the inputs.
            index: Its position among its siblings.
            schema: What an agent's answer must satisfy; its own `output_schema` if not given.
            keep_failure: Whether a failure in the journal is the step's end too, since others went on with it.
            within: The step of whose call this one is a part; it has the slot, and an agent starts afresh.
        """
        kind, who = describe(step)
        key = key if within is not None else self._prefix + key
        scope = StepScope(self, key, who, self._terms(step), within or self._within)
        try:
            result, replayed = await self._perform(scope, step, names, index, schema, keep_failure)
        except WaitingForPerson:
            raise
        except StrandsCliError as error:
            self._begin(scope, step)
            self.emit(StepFailed(self.clock.now(), key, kind, who, error.message))
            raise
        self._begin(scope, step)
        seconds = self.clock.monotonic() - (scope.began or 0.0)
        self.emit(StepFinished(self.clock.now(), key, kind, who, result.response, seconds, scope.usage, replayed))
        return result

    async def _perform(
        self,
        scope: StepScope,
        step: Step,
        names: Mapping[str, Any],
        index: int,
        schema: Mapping[str, Any] | None,
        keep_failure: bool,
    ) -> tuple[StepResult, bool]:
        if isinstance(step, GateStep):
            return await self._gate(scope, step, names, index)
        if isinstance(step, CallStep):
            given, act = self._prepare_call(scope, step, names)
        else:
            given, act = self._prepare_agent(scope, step, names, index, schema)
        effect = self.effect(EffectSpec(scope.key, "step", given))
        if effect.recorded is not None:
            return StepResult(**self._conversations.go_on(effect.recorded.output), index=index), True
        if keep_failure and effect.failure is not None:
            raise RunFailed(effect.failure)
        # No model has read the error result of a step's own call: the step that is tried again makes the call again.
        scope.retries_call = isinstance(step, CallStep) and effect.failure is not None
        self._count_step(scope)
        try:
            is_part = self._is_part(scope)
            with contextlib.nullcontext() if is_part else self._conversations.held(step, scope.key):
                async with contextlib.nullcontext() if is_part else self._slots:
                    self._begin(scope, step)
                    await effect.start()
                    with traced_step(self.ports.tracing, scope, *describe(step)):
                        result, kept = await self.budget.in_time(scope.terms.in_time(act(), scope.key, scope.who))
        except RunFailed as error:
            if scope.began is None:
                await effect.start()
            await effect.fail(error.message)
            raise
        output = {"response": result.response, "agent": result.agent, "output": result.output, **kept}
        await effect.finish(output)
        return StepResult(**self._conversations.go_on(output), index=index), False

    def _is_part(self, scope: StepScope) -> bool:
        """Return whether a step is part of a call of another step of this run."""
        return scope.outer is not None and scope.outer.host is self

    def count_step(self) -> None:
        """Count a step that begins, also to the runs of which this one is a part."""
        self.budget.count_step()
        if self._within is not None:
            self._within.host.count_step()

    def done_below(self, key: str) -> list[Row]:
        """Return what the journal holds of what was done inside a call."""
        rows = self.ports.journal.rows()
        return [row for row in rows if row.status == "done" and row.key.startswith(f"{key}/")]

    def _count_step(self, scope: StepScope) -> None:
        """Count a step that begins to the run and to its agent, before it waits for a slot.

        Raises:
            BudgetExceeded: its agent may take no further step.
        """
        if scope.terms.budget is not None:
            scope.terms.budget.require("step")
            scope.terms.budget.count_step()
        self.count_step()

    def _prepare_agent(
        self, scope: StepScope, step: AgentStep, names: Mapping[str, Any], index: int, schema: Mapping[str, Any] | None
    ) -> tuple[Any, Any]:
        """Return what an agent step is given, for its digest, and the coroutine function that runs it.

        A step without an input gets its agent's prompt where it is the first, else the response of the step before.
        """
        agent = self.plan.agents[step.agent]
        own = {name: self.render_value(value, names, where=f"{scope.key}.vars") for name, value in step.vars.items()}
        names = {**names, **own}
        system_prompt = self.render(agent.prompt, where=f"agents.{agent.id}") if "{{" in agent.prompt else agent.prompt
        if step.input is not None:
            prompt = self.render(step.input, names, where=f"{scope.key}.input")
        else:
            prompt = names["last_response"] if index else system_prompt
        if not prompt.strip():
            raise RunFailed(f"{scope.key} has nothing to say to the agent '{agent.id}': its input is empty")
        tools = tools_in_step(step, self.plan.agents, self.plan.override_tools)
        schema = schema if schema is not None else agent.output_schema
        history = self._conversations.history(agent.id)
        if self._is_part(scope):
            agent, history = dataclasses.replace(agent, keeps_conversation=False), ()
        request = AgentRequest(agent, prompt, system_prompt, tools, schema, history)

        async def act() -> tuple[StepResult, dict[str, Any]]:
            answer = await self.ports.agents.run_agent(request, scope)
            kept = self._conversations.row_of(answer, agent.id)
            return StepResult(answer.text, agent.id, output=answer.output), kept

        given = {"agent": agent.id, "prompt": prompt, "system": system_prompt, "tools": [tool.name for tool in tools]}
        return ({**given, "schema": schema} if schema is not None else given), act

    def _prepare_call(self, scope: StepScope, step: CallStep, names: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return what a tool-call step is given, for its digest, and the coroutine function that runs it."""
        tool = self.plan.call_tools[step.tool]
        arguments = self.render_value(step.input, names, where=f"{scope.key}.input")

        async def act() -> tuple[StepResult, dict[str, Any]]:
            result = await self.ports.tools.call_tool(tool, arguments, scope)
            text, output = text_of(result), json_of(result)
            if result["status"] != "success":
                raise RunFailed(f"{scope.key}: the tool {tool.name} failed: {text}")
            return StepResult(text, tool.name, output=output), {}

        return {"tool": tool.name, "input": arguments}, act

    def render_value(self, value: Any, names: Mapping[str, Any], *, where: str) -> Any:
        """Render every template inside a JSON value; a value that is one whole expression keeps its type."""
        try:
            return self.templates.render_value(value, {**self.plan.inputs, **names})
        except TemplateError as error:
            raise RunFailed(f"the template of {where} cannot be rendered: {error}") from error

    async def _gate(
        self, scope: StepScope, step: GateStep, names: Mapping[str, Any], index: int
    ) -> tuple[StepResult, bool]:
        """Ask a person, or take the answer from the journal; a gate is a step like any other to the budget."""
        shown = step.context_display or ""
        question = Question(
            key=scope.key,
            kind="gate",
            prompt=self.render(step.prompt, names, where=f"{scope.key}.prompt"),
            context=self.render(shown, names, where=f"{scope.key}.context_display"),
            pattern=step.validation.pattern if step.validation else None,
            default=step.default,
            timeout_s=step.timeout_seconds,
        )
        known = self.ports.journal.row(scope.key)
        replayed = known is not None and known.status == "done"
        if not replayed:
            self._check_budget("step")
            self._count_step(scope)
        self._begin(scope, step)
        tracing = UNTRACED if replayed else self.ports.tracing
        with traced_step(tracing, scope, *describe(step)):
            answer = await scope.ask(question, {"prompt": question.prompt, "context": question.context})
        return StepResult(answer.text, "person", index=index), replayed


def _agent_budgets(plan: Plan, ports: Ports, prefix: str) -> dict[str, Budget]:
    """Return the budgets of the agents that have one, with what earlier processes spent."""
    agents_of = agents_by_key(plan.spec)
    return {
        agent.id: Budget.resumed(
            Budgets(**agent.budgets.model_dump()),
            ports.clock,
            ports.journal,
            agent=agent.id,
            agents_of=agents_of,
            below=prefix,
        )
        for agent in plan.agents.values()
        if agent.budgets is not None and any(limit is not None for _, limit in agent.budgets)
    }
