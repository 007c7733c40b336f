"""From a step to its input: rendered templates, an agent's conversation, and the work with them."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.engine.attached_files import AttachedFiles
from strands_cli.engine.journal.journal_rows import Question
from strands_cli.engine.ports import AgentRequest, Ports
from strands_cli.engine.step_results import (
    CompletedStatus,
    StepResult,
    describe,
    failure_of,
    has_denial,
    is_refusal,
    json_of,
    text_of,
)
from strands_cli.errors import CallDenied, CallFailed, FileAtFault, RunFailed, RunRecordError
from strands_cli.planning.plan_values import tools_in_step
from strands_cli.workflow.gate_answers import answer_words, read_answer
from strands_cli.workflow.steps import AgentStep, CallStep, GateStep
from strands_cli.workflow.templates.plugin_filters import TemplateError
from strands_cli.workflow.templates.template import is_prompt_template

if TYPE_CHECKING:
    from strands_cli.engine.effects.step_scope import StepScope
    from strands_cli.engine.ports import AgentAnswer
    from strands_cli.planning.plan_values import Plan, PlannedAgent
    from strands_cli.workflow.steps import Step


# The conversations and states of agents that remember: the additions of each step, joined in one order.


# Names in the output of a step's row.
MESSAGES, RESTATED, STATE = "messages", "restated", "state"


@dataclass(frozen=True, slots=True)
class _Exchange:
    """The addition of one step to the conversation of its agent.

    `messages` is None where its row has none. `replaced` are the steps whose messages it restates. `in_order` says
    whether the steps after it that name none remember it. With `memory: path` an agent has a conversation for each set
    of `tools`.
    """

    messages: Sequence[Any] | None
    state: Mapping[str, Any]
    replaced: frozenset[str]
    in_order: bool
    tools: frozenset[str] | None = None


class Conversations:
    """The additions of steps to the conversation of each agent that remembers, from the rows of the steps.

    A step remembers the steps that its pattern names, in that order. Where the pattern names none, it remembers
    finished ones that remember in the same way.
    """

    def __init__(self, plan: Plan) -> None:
        self._done: dict[str, dict[str, _Exchange]] = {
            agent.id: {} for agent in plan.agents.values() if agent.keeps_conversation
        }
        self._speaking: dict[str, str] = {}
        self._plan = plan

    def has_one(self, step: Step) -> bool:
        """Return whether a step is one of an agent that remembers."""
        return isinstance(step, AgentStep) and step.agent in self._done

    def follows_path(self, step: Step) -> bool:
        """Return whether a step is one of an agent with `memory: path`, whose steps at the same time are apart."""
        return isinstance(step, AgentStep) and self._plan.agents[step.agent].follows_path

    def history(self, step: AgentStep, remembers: Sequence[str] | None) -> tuple[Any, ...]:
        """Return the messages so far; none for an agent with `memory: step`.

        Raises:
            RunRecordError: The row of a step that it continues has none, since the agent had `memory: step` then.
        """
        exchanges = self._remembered(step, remembers)
        replaced = {key for exchange in exchanges.values() for key in exchange.replaced}
        for key, past in exchanges.items():
            if past.messages is None:
                raise RunRecordError(
                    f"{key} was done without a conversation, which the agent '{step.agent}' has to continue",
                    fix=f"do it again: strands runs rerun RUN --from {key}",
                )
        return tuple(
            message for key, exchange in exchanges.items() if key not in replaced for message in exchange.messages or ()
        )

    def state(self, step: AgentStep, remembers: Sequence[str] | None) -> Mapping[str, Any]:
        """Return the agent's state after its tools; nothing for an agent with `memory: step`."""
        return next((exchange.state for exchange in reversed(self._remembered(step, remembers).values())), {})

    def _remembered(self, step: AgentStep, remembers: Sequence[str] | None) -> dict[str, _Exchange]:
        done = self._done.get(step.agent)
        if not done:  # of thousands of steps few have an agent that remembers
            return {}
        if (tools := self._tools_of(step)) is not None:
            done = {key: exchange for key, exchange in done.items() if exchange.tools == tools}
        if remembers is None:
            return {key: exchange for key, exchange in done.items() if exchange.in_order}
        return {key: done[key] for key in remembers if key in done}

    def _tools_of(self, step: AgentStep) -> frozenset[str] | None:
        """Return the names of tools that tell the conversations of an agent with `memory: path` apart."""
        if not self.follows_path(step):
            return None
        tools = tools_in_step(step, self._plan.agents, self._plan.override_tools)
        return frozenset(tool.name for tool in tools)

    @contextlib.contextmanager
    def reserved(self, step: Step, key: str) -> Iterator[None]:
        """Reserve an agent's conversation for one step; with `memory: run` a second step at once is refused.

        Raises:
            RunFailed: Another step of this agent has not ended, so the order of the conversation would not be defined.
        """
        agent_id = step.agent if isinstance(step, AgentStep) and step.agent in self._done else None
        if agent_id is None or self.follows_path(step):
            yield
            return
        if agent_id in self._speaking:
            raise RunFailed(
                f"{key} and {self._speaking[agent_id]} would use the agent '{agent_id}' at the same time, "
                "and it has one conversation (`memory: run`)",
                fix="use an agent for each, or `memory: step`",
            )
        self._speaking[agent_id] = key
        try:
            yield
        finally:
            del self._speaking[agent_id]

    def add(self, step: AgentStep, key: str, output: Mapping[str, Any], remembers: Sequence[str] | None) -> None:
        """Add the agent's conversation from the row of a finished step."""
        if step.agent in self._done:
            replaced = frozenset(self._remembered(step, remembers)) if output.get(RESTATED) else frozenset()
            messages, state, tools = output.get(MESSAGES), output.get(STATE, {}), self._tools_of(step)
            self._done[step.agent][key] = _Exchange(messages, state, replaced, remembers is None, tools)


def fields_of(answer: AgentAnswer, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields in the row of a step of an agent with `memory: run` besides its result.

    Args:
        before: The agent's state when the step began.
    """
    state = {STATE: dict(answer.state)} if answer.state or before else {}
    return {MESSAGES: list(answer.messages), **({RESTATED: True} if answer.restated else {}), **state}


def without_fields(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result in the output of a step's row."""
    return {name: value for name, value in output.items() if name not in (MESSAGES, RESTATED, STATE)}


Work = Callable[[], Awaitable[tuple[StepResult, dict[str, Any]]]]


@dataclass(frozen=True, slots=True)
class Visit:
    """One execution of a step.

    Attributes:
        key: Its key in its pattern.
        names: The names for its templates besides the inputs.
        index: Its place among the steps before it; a later agent step without an input gets the response before it.
        schema: The schema of an agent's answer; the default is its own `output_schema`.
        keep_failure: Whether a failure in the journal is final, because other steps have already used it.
        remembers: Keys of the steps whose conversation its agent continues, in order; see `Conversations`.
    """

    key: str
    step: Step
    names: Mapping[str, Any]
    index: int = 0
    schema: Mapping[str, Any] | None = None
    keep_failure: bool = False
    remembers: Sequence[str] | None = None


def keys_in(prefix: str, steps: Sequence[Step]) -> list[str]:
    """Return the keys of steps that run one after another."""
    return [f"{prefix}.{index}" for index in range(len(steps))]


def is_part(scope: StepScope) -> bool:
    """Return whether a step is a part of a call of another step of its run."""
    return scope.outer is not None and scope.outer.run is scope.run


def _not_computed(subject: str, error: TemplateError) -> FileAtFault:
    fix = error.fix or "correct the expression"
    if error.is_unknown:
        fix = "correct the name; where it may have no value, ask first: `{% if NAME is defined %}`"
    if name := error.of_text:
        fix = f"an answer's fields are those of `.output`: `.output.{name}`, where its agent has an `output_schema`"
        fix += f"; JSON in a text: `(NAME | fromjson).{name}`"
    return FileAtFault(f"{subject}: {error}", fix=fix)


class StepInputs:
    """Makes the inputs of the steps of one run.

    Attributes:
        conversations: The memory of its agents.
        templates: The sandbox that renders its templates.
    """

    def __init__(self, plan: Plan, ports: Ports, warn: Callable[[str], None]) -> None:
        self.conversations = Conversations(plan)
        self._plan = plan
        self._ports = ports
        self._warn = warn
        self.templates = plan.spec.templates()
        self._inputs = plan.spec.inputs.names_of(plan.inputs)
        self._files = AttachedFiles(plan, ports, warn)

    def render(self, text: str, names: Mapping[str, Any] | None = None, *, where: str = "") -> str:
        """Render a template of the workflow over the inputs and `names`; `where` names it in an error."""
        try:
            return self.templates.render(text, {**self._inputs, **(names or {})})
        except TemplateError as error:
            raise _not_computed(f"the template of {where or 'the workflow'} cannot be rendered", error) from error

    def render_value(self, value: Any, names: Mapping[str, Any], *, where: str) -> Any:
        """Render every template inside a JSON value; a value of one whole expression keeps its type."""
        try:
            return self.templates.render_value(value, {**self._inputs, **names})
        except TemplateError as error:
            raise _not_computed(f"the template of {where} cannot be rendered", error) from error

    def holds(self, condition: str, names: Mapping[str, Any], *, where: str) -> bool:
        """Evaluate a condition of the workflow; `where` names it in an error."""
        try:
            return self.templates.evaluate(condition, {**self._inputs, **names})
        except TemplateError as error:
            raise _not_computed(f"the condition of {where} cannot be evaluated", error) from error

    def question(self, key: str, step: GateStep, names: Mapping[str, Any]) -> Question:
        """Return the question of a gate."""
        words, only_words = self._plan.spec.words_of_gate(key)
        if typed_words := answer_words(step.answer):
            words, only_words = typed_words, True
        return Question(
            key=key,
            kind="gate",
            prompt=self.render(step.prompt, names, where=f"{key}.prompt"),
            context=self.render(step.context_display or "", names, where=f"{key}.context_display"),
            pattern=step.validation.pattern if step.validation else None,
            default=_default_of(step),
            timeout_s=step.wait_s,
            words=words,
            only_words=only_words,
            schema=step.answer,
            approvers=step.approvers,
            on_expiry="" if step.expires is None else step.on_expiry,
            delegated=() if step.delegate is None else ({"to": step.delegate},),
        )

    def prepared(self, scope: StepScope, step: AgentStep | CallStep, visit: Visit) -> tuple[Any, Work]:
        """Return the input of a step, for its digest, and the function that runs it."""
        try:
            if isinstance(step, CallStep):
                return self._call(scope, step, visit.names)
            return self._agent(scope, step, visit)
        except FileAtFault as error:
            error.step = scope.key
            raise

    def result(self, scope: StepScope, visit: Visit, output: Mapping[str, Any]) -> StepResult:
        """Return the result in the output of a finished step's row; its agent's conversation goes on from there."""
        if isinstance(visit.step, AgentStep) and not is_part(scope):
            self.conversations.add(visit.step, visit.key, output, visit.remembers)
        return self.in_words(StepResult(**without_fields(output), index=visit.index), visit.step)

    def in_words(self, result: StepResult, step: Step, prompt: str = "") -> StepResult:
        """Return a result of a step with the facts about the step, and with the workflow's word for its status."""
        kind = "hitl" if isinstance(step, GateStep) else describe(step)[0]
        word = self._plan.spec.rendering.completed
        is_renamed = result.status == "completed" and word != "completed"
        status = CompletedStatus(word) if is_renamed else result.status
        return dataclasses.replace(result, status=status, type=kind, prompt=prompt)

    def _agent(self, scope: StepScope, step: AgentStep, visit: Visit) -> tuple[Any, Work]:
        agent, names = self._plan.agents[step.agent], visit.names
        values = {name: self.render_value(value, names, where=f"{scope.key}.vars") for name, value in step.vars.items()}
        all_names = {**names, **values} if values else names
        system_prompt = self._system_prompt(agent, {} if is_part(scope) else all_names, scope.key)
        prompt_end = self.render(agent.prompt_end or "", {"agent": agent.id}, where="context_policy.prompt_end")
        if step.input is not None:
            prompt = self.render(step.input, all_names, where=f"{scope.key}.input")
        else:
            prompt = all_names["last_response"] if visit.index else system_prompt
        if not prompt.strip():
            message = f"{scope.key} has an empty input for the agent '{agent.id}'"
            raise FileAtFault(message, fix="give the step an `input`; a step before it may have answered with nothing")
        tools = tools_in_step(step, self._plan.agents, self._plan.override_tools)
        schema = visit.schema if visit.schema is not None else agent.output_schema
        history: tuple[Any, ...] = ()
        state: Mapping[str, Any] = {}
        if is_part(scope):
            agent = dataclasses.replace(agent, keeps_conversation=False)
        else:
            history = self.conversations.history(step, visit.remembers)
            state = self.conversations.state(step, visit.remembers)

        def render(text: str) -> Any:
            return self.render_value(text, all_names, where=f"{scope.key}.attachments")

        files = self._files.of_step(scope, step, render) if step.attachments else []

        async def act() -> tuple[StepResult, dict[str, Any]]:
            await self._files.store(scope, files)
            given = (agent, prompt, system_prompt, tools, schema, history, state, prompt_end)
            request = AgentRequest(*given, tuple(file.attachment for file in files), self._files.stored)
            answer = await self._ports.agents.run_agent(request, scope)
            conversation = fields_of(answer, state) if agent.keeps_conversation else {}
            return StepResult(answer.text, agent.id, output=answer.output), conversation

        effect_input = {
            "agent": agent.id,
            "prompt": prompt,
            "system": system_prompt,
            "tools": [tool.name for tool in tools],
        }
        more = {"schema": schema, "end": prompt_end or None, "attachments": [file.facts for file in files] or None}
        return {**effect_input, **{name: value for name, value in more.items() if value is not None}}, act

    def _system_prompt(self, agent: PlannedAgent, names: Mapping[str, Any], key: str) -> str:
        """Return an agent's prompt with the names of its step; an input wins over a name of the runtime, as ever."""
        if not is_prompt_template(agent.prompt):
            return agent.prompt
        return self.render(agent.prompt, {**names, **self._inputs}, where=f"agents.{agent.id} in {key}")

    def _call(self, scope: StepScope, step: CallStep, names: Mapping[str, Any]) -> tuple[Any, Work]:
        tool = self._plan.call_tools[step.tool]
        arguments = self.render_value(step.input, names, where=f"{scope.key}.input")

        async def act() -> tuple[StepResult, dict[str, Any]]:
            result = await self._ports.tools.call_tool(tool, arguments, scope)
            text, output = text_of(result), json_of(result)
            if (failure := failure_of(result)) is None:
                return StepResult(text, tool.name, output=output), {}
            problem = f"{scope.key}: the tool {tool.name} failed: {text}"
            if not step.continues_after_error:
                is_refused = self._ports.fail_on_denied and is_refusal(failure)
                if is_refused or has_denial(self._ports.journal.rows(None, scope.key)):
                    raise CallDenied(problem)
                otherwise = "to continue after an error of the tool: `on_error: continue` in the step"
                if failure.fix:
                    raise FileAtFault(problem, fix=f"{failure.fix}; or, {otherwise}")
                raise CallFailed(problem, fix=otherwise)
            self._warn(f"{problem}; the run continues")
            return StepResult(text, tool.name, output=output, status="failed"), {"status": "failed"}

        return {"tool": tool.name, "input": arguments}, act


def _default_of(step: GateStep) -> str | None:
    """Return the default of a gate as an answer is stored."""
    if step.default is None or step.answer is None:
        return step.default
    return read_answer(step.default, step.answer)[0]
