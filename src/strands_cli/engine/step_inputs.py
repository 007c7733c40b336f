"""From a step to its input: rendered templates, an agent's conversation, and the work that is done with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.engine.conversations import Conversations, fields_of, without_fields
from strands_cli.engine.denials import has_denial, is_refusal
from strands_cli.engine.journal.journal_rows import Question
from strands_cli.engine.ports.engine_ports import AgentRequest, Ports
from strands_cli.engine.step_results import CompletedAs, StepResult, describe, failure_of, json_of, text_of
from strands_cli.errors import CallDenied, CallFailed, FileAtFault
from strands_cli.planning.plan.plan_values import tools_in_step
from strands_cli.workflow.steps.step_models import AgentStep, CallStep, GateStep
from strands_cli.workflow.templates.template import is_prompt_template
from strands_cli.workflow.templates.template_errors import TemplateError

if TYPE_CHECKING:
    from strands_cli.engine.effects.step_scope import StepScope
    from strands_cli.planning.plan.plan_values import Plan, PlannedAgent
    from strands_cli.workflow.steps.step_models import Step

Work = Callable[[], Awaitable[tuple[StepResult, dict[str, Any]]]]


@dataclass(frozen=True, slots=True)
class Visit:
    """One execution of a step.

    Attributes:
        key: Its key in its pattern.
        names: What its templates may use besides the inputs.
        index: Its place among the steps before it; a later agent step without an input gets the response before it.
        schema: What an agent's answer must satisfy; the default is its own `output_schema`.
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


def _not_computed(what: str, error: TemplateError) -> FileAtFault:
    fix = "correct the expression"
    if error.is_unknown:
        fix = "correct the name; where it may have no value, ask first: `{% if NAME is defined %}`"
    if name := error.of_text:
        fix = f"an answer's fields are those of `.output`: `.output.{name}`, where its agent has an `output_schema`"
        fix += f"; JSON in a text: `(NAME | fromjson).{name}`"
    return FileAtFault(f"{what}: {error}", fix=fix)


class StepInputs:
    """Makes the inputs of the steps of one run.

    Attributes:
        conversations: What its agents remember.
        templates: The sandbox in which its templates are rendered.
    """

    def __init__(self, plan: Plan, ports: Ports, warn: Callable[[str], None]) -> None:
        self.conversations = Conversations(plan)
        self._plan = plan
        self._ports = ports
        self._warn = warn
        self.templates = plan.spec.templates()
        self._inputs = plan.spec.inputs.names_of(plan.inputs)

    def render(self, text: str, names: Mapping[str, Any] | None = None, *, where: str = "") -> str:
        """Render a template of the workflow over the inputs and `names`; `where` names it in an error."""
        try:
            return self.templates.render(text, {**self._inputs, **(names or {})})
        except TemplateError as error:
            raise _not_computed(f"the template of {where or 'the workflow'} cannot be rendered", error) from error

    def render_value(self, value: Any, names: Mapping[str, Any], *, where: str) -> Any:
        """Render every template inside a JSON value; a value that is one whole expression keeps its type."""
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
        return Question(
            key=key,
            kind="gate",
            prompt=self.render(step.prompt, names, where=f"{key}.prompt"),
            context=self.render(step.context_display or "", names, where=f"{key}.context_display"),
            pattern=step.validation.pattern if step.validation else None,
            default=step.default,
            timeout_s=step.timeout_seconds,
            words=words,
            only_words=only_words,
        )

    def prepared(self, scope: StepScope, step: AgentStep | CallStep, visit: Visit) -> tuple[Any, Work]:
        """Return the input of a step, for its digest, and what runs it."""
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
        """Return a result of a step with what is known of the step, and with the workflow's word for its status."""
        kind = "hitl" if isinstance(step, GateStep) else describe(step)[0]
        word = self._plan.spec.rendering.completed
        is_renamed = result.status == "completed" and word != "completed"
        status = CompletedAs(word) if is_renamed else result.status
        return dataclasses.replace(result, status=status, type=kind, prompt=prompt)

    def _agent(self, scope: StepScope, step: AgentStep, visit: Visit) -> tuple[Any, Work]:
        agent, names = self._plan.agents[step.agent], visit.names
        values = {name: self.render_value(value, names, where=f"{scope.key}.vars") for name, value in step.vars.items()}
        known = {**names, **values} if values else names
        system_prompt = self._system_prompt(agent, {} if is_part(scope) else known, scope.key)
        prompt_end = self.render(agent.prompt_end or "", {"agent": agent.id}, where="context_policy.prompt_end")
        if step.input is not None:
            prompt = self.render(step.input, known, where=f"{scope.key}.input")
        else:
            prompt = known["last_response"] if visit.index else system_prompt
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

        async def act() -> tuple[StepResult, dict[str, Any]]:
            request = AgentRequest(agent, prompt, system_prompt, tools, schema, history, state, prompt_end)
            answer = await self._ports.agents.run_agent(request, scope)
            conversation = fields_of(answer, state) if agent.keeps_conversation else {}
            return StepResult(answer.text, agent.id, output=answer.output), conversation

        effect_input = {
            "agent": agent.id,
            "prompt": prompt,
            "system": system_prompt,
            "tools": [tool.name for tool in tools],
        }
        more = {**({"schema": schema} if schema is not None else {}), **({"end": prompt_end} if prompt_end else {})}
        return {**effect_input, **more}, act

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
