"""Runs one fresh Strands agent for one step: journaled model, checked tools, and the reason when it stops."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel
from strands import Agent
from strands.models import Model
from strands.tools.executors import ConcurrentToolExecutor
from strands.types.exceptions import EventLoopException, MaxTokensReachedException, StructuredOutputException

from strands_cli.agents.attachment_blocks import prompt_with_files, with_bytes, without_bytes
from strands_cli.agents.compaction import CompactedHistory, Context, WindowedHistory
from strands_cli.agents.model.fallback import Candidate
from strands_cli.agents.model.journaled_model import JournaledModel
from strands_cli.agents.model.model_errors import explain_error
from strands_cli.agents.model.models import failure_to_close
from strands_cli.agents.model.replay import ReplayModel
from strands_cli.agents.model.structured_output import TOOL, answer_class, require_input, unwrap
from strands_cli.engine.effects.shared_pace import SharedPace
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.ports import AgentAnswer, AgentRequest
from strands_cli.errors import InvalidAnswer, UnusableAnswer
from strands_cli.planning.plan_values import PlannedAgent
from strands_cli.secrets.redactor import Redactor
from strands_cli.tools.calls.agent_tools import AgentTools
from strands_cli.tools.calls.deferred_tools import DeferredTools, is_shown
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.messages.message_json import decode, encode
from strands_cli.tools.tool_loading import Toolbox
from strands_cli.workflow.recording_file import Recording

# The models of one run: those that it shares with others until it changes their settings, and its recordings.


class SharedModel(Model):
    """The model of one agent in one run: an object of many runs, and one of the run's own once a tool changes it.

    Args:
        model: The object that the run shares.
        make: Makes one with the same settings.
        pace: The pace of its requests.

    Attributes:
        others: The models that go on in its place.
    """

    others: Sequence[Candidate] = ()

    def __init__(self, model: Model, make: Callable[[], Model], pace: SharedPace | None = None) -> None:
        self._model = model
        self.pace = pace
        self._make: Callable[[], Model] | None = make

    @property
    def shared(self) -> Model:
        """The object behind it."""
        return self._model

    @property
    def own(self) -> Model | None:
        """The object that only this run has; None while it has none."""
        return self._model if self._make is None else None

    @property
    def stateful(self) -> bool:
        """Whether the model stores the conversation on its server."""
        return self._model.stateful

    @property
    def context_window_limit(self) -> int | None:
        """The model's context window, in tokens."""
        return self._model.context_window_limit

    def get_config(self) -> Any:
        """Return the model's configuration."""
        return self._model.get_config()

    def update_config(self, **model_config: Any) -> None:
        """Change the model's configuration, for this run only."""
        if self._make is not None:
            self._model, self._make = self._make(), None
        self._model.update_config(**model_config)

    async def count_tokens(self, *args: Any, **kwargs: Any) -> int:
        """Return the model's count."""
        return await self._model.count_tokens(*args, **kwargs)

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result of the model."""
        return self._model.structured_output(*args, **kwargs)

    def stream(self, *args: Any, **kwargs: Any) -> Any:
        """Return the model's stream."""
        return self._model.stream(*args, **kwargs)


class RunModels:
    """Gives the model for an agent's step: one for each agent of the run, or the turns of a recording for the step.

    Args:
        live: The models of agents that ask a provider.
        recordings: The recordings of the others, by path.
        below: Whether the workflow is a tool, so that its recordings have its keys without the prefix of the call.
    """

    def __init__(
        self, live: Mapping[str, SharedModel], recordings: Mapping[str, Recording], *, below: bool = False
    ) -> None:
        self._live = live
        self._recordings = recordings
        self._below = below

    def __call__(self, agent: PlannedAgent, key: str) -> Model:
        """Return the model of an agent for the step with this key."""
        if agent.model.provider != "replay":
            return self._live[agent.id]
        steps, step_key = self._recordings[str(agent.recording)].steps, key
        while self._below and step_key not in steps and "/" in step_key:
            step_key = step_key.partition("/")[2]
        return ReplayModel(steps.get(step_key, ()), key)

    async def close(self) -> list[str]:
        """Close the models that only this run has; return the failures, one line each."""
        own = {name: model.own for name, model in self._live.items()}
        closed = [await failure_to_close(name, model) for name, model in own.items() if model is not None]
        return [problem for problem in closed if problem]


# How often the model may correct a wrong structured answer.
CORRECTION_TURNS = 1


class SdkAgentRunner:
    """Implements the engine's `AgentRunner` with the SDK's own event loop.

    Args:
        model_for: Returns the model for an agent's plan and a step's key; a recording has other turns for each step.
        limit_of: Returns where the length of an agent's answers is limited.
    """

    def __init__(
        self,
        model_for: Callable[[PlannedAgent, str], Model],
        toolbox: Toolbox,
        check: PermissionCheck,
        context: Context | None = None,
        limit_of: Callable[[str], str] = lambda _agent: "max_tokens",
    ) -> None:
        self._model_for = model_for
        self._toolbox = toolbox
        self._check = check
        self._context = context or Context()
        self._limit_of = limit_of

    async def run_agent(self, request: AgentRequest, scope: StepScope) -> AgentAnswer:
        """Run the agent until it answers.

        Raises:
            StrandsCliError: The agent stopped without an answer; a provider's own error becomes `RunFailed`.
        """
        request = _without_secrets(request, self._check.redactor)
        require_input(request)
        model = self._model_for(request.agent, scope.key)
        schema = request.output_schema
        journaled = JournaledModel(model, request.agent.model, scope, self._check.redactor, schema)
        journaled.of_step = lambda key: self._model_for(request.agent, key)
        history = self._context.history(request.agent, model, scope, self._check.redactor, len(request.history))
        tools = self._tools(request, scope, lambda: journaled.broken_inputs)
        journaled.output_schemas = {tool.tool_name: tool.loaded.output_schema for tool in tools.planned}
        agent = Agent(
            model=journaled,
            tools=tools.planned,
            system_prompt=self._check.redactor.text(await self._whole_prompt(request, scope)),
            messages=with_bytes(restored(request.history), request.stored),
            state=dict(request.state),
            name=request.agent.id,
            callback_handler=None,
            conversation_manager=history,
            # The SDK's default sleeps up to two minutes in silence.
            retry_strategy=None,
            # It starts all calls of a turn at once; `Order` decides which call waits for which.
            tool_executor=ConcurrentToolExecutor(),
        )
        tools.join(agent)
        scope.cancel = agent.cancel
        try:
            message = prompt_with_files(request, agent.messages)
            result = await self._invoke(agent, request, scope, message)
        except UnusableAnswer as error:
            await scope.reject_answer(error.message)
            raise
        finally:
            # The agent's model has the scope: a reference back would leave both to the garbage collector.
            scope.cancel = scope.changes = scope.loops = None
        if isinstance(model, ReplayModel):
            model.require_played()
        answer = await self._answer(request, result, scope)
        if not request.agent.keeps_conversation:
            return answer
        restated = isinstance(history, (CompactedHistory, WindowedHistory)) and history.changed
        added = agent.messages if restated else agent.messages[len(request.history) :]
        plain = [without_bytes(message, request.attachments, request.history) for message in added]
        messages = journal_messages(plain, answer.text, structured=schema is not None)
        return replace(answer, messages=messages, restated=restated, state=agent.state.get())

    def _tools(
        self, request: AgentRequest, scope: StepScope, broken_inputs: Callable[[], Mapping[str, str]]
    ) -> AgentTools:
        """Return the tools of the step's agent, which sees the definitions of few where there are many."""
        offered, shown = self._toolbox.offered(request.tools), request.agent.tools_shown
        named = shown if isinstance(shown, tuple) else ()
        is_deferred = request.agent.defers(len(offered)) and not all(is_shown(tool, named) for tool in offered)
        deferred = DeferredTools(offered, named) if is_deferred else None
        return AgentTools(scope, offered, self._check, broken_inputs, request.agent.loops, deferred)

    async def _whole_prompt(self, request: AgentRequest, scope: StepScope) -> str:
        """Return the system prompt with the notes of earlier steps, and with its end."""
        system_prompt = await self._context.noted(_system_prompt(request), scope)
        return f"{system_prompt}\n\n{request.prompt_end}" if request.prompt_end else system_prompt

    async def _answer(self, request: AgentRequest, result: Any, scope: StepScope) -> AgentAnswer:
        """Return the agent's answer, and append it to the notes."""
        schema = request.output_schema
        text, output = response_text(result), None
        if schema is not None:
            output = unwrap(schema, result.structured_output.model_dump(mode="json"))
            text = json.dumps(output, ensure_ascii=False)
        await self._context.leave_note(request.agent, text, scope, self._check.redactor)
        return AgentAnswer(text, result.stop_reason, output=output)

    async def _invoke(self, agent: Agent, request: AgentRequest, scope: StepScope, message: Any) -> Any:
        answer_model = _answer_model(request, scope)
        try:
            result = await agent.invoke_async(message, structured_output_model=answer_model)
        except StructuredOutputException as error:
            raise scope.stopped or _no_answer(request, str(error)) from error
        except Exception as error:
            cause = error.original_exception if isinstance(error, EventLoopException) else error
            limit = self._limit_of(request.agent.id) if isinstance(cause, MaxTokensReachedException) else ""
            types = [attached.type for attached in request.attachments]
            raise scope.stopped or explain_error(cause, request.agent, self._check.redactor, limit, types) from error
        if scope.stopped is not None:
            raise scope.stopped
        if answer_model is not None and result.structured_output is not None:
            return result
        if answer_model is not None:
            raise _no_answer(request, f"it stopped with {result.stop_reason}")
        if result.stop_reason not in ("end_turn", "stop_sequence"):
            raise UnusableAnswer(
                f"the agent '{request.agent.id}' stopped without an answer: {result.stop_reason}",
                fix="see the events of the run with --events; the model may have refused or been cut off",
            )
        if not response_text(result).strip():
            raise UnusableAnswer(
                f"the agent '{request.agent.id}' ended without text: the model's answer is empty",
                fix="describe the answer in its prompt, or choose another model",
            )
        return result


def _without_secrets(request: AgentRequest, redactor: Redactor) -> AgentRequest:
    """Return the request with secrets redacted from its prompts, also those from files and persons."""
    prompt, system_prompt = redactor.text(request.prompt), redactor.text(request.system_prompt)
    return replace(request, prompt=prompt, system_prompt=system_prompt, prompt_end=redactor.text(request.prompt_end))


def _system_prompt(request: AgentRequest) -> str:
    """Return the system prompt, with the list of the skills that this step can load where the agent gets one."""
    skills = [tool.record.description for tool in request.tools if tool.record.kind == "skill"]
    return "\n\n".join((request.system_prompt, *(skills if request.agent.lists_skills else ())))


def _answer_model(request: AgentRequest, scope: StepScope) -> type[BaseModel] | None:
    """Return the class for the SDK's structured output; after `CORRECTION_TURNS` a wrong answer ends the step."""
    if request.output_schema is None:
        return None
    refused: list[str] = []

    def refuse(problem: str) -> None:
        refused.append(problem)
        if len(refused) > CORRECTION_TURNS:
            scope.stop(_no_answer(request, problem))

    return answer_class(request.output_schema, refuse)


def _no_answer(request: AgentRequest, problem: str) -> InvalidAnswer:
    return InvalidAnswer(
        f"{InvalidAnswer.begins_with}the agent '{request.agent.id}' did not answer in the required form: {problem}",
        fix="describe the form in its prompt, or choose a model that can call tools",
    )


def response_text(result: Any) -> str:
    """Return the text of an agent's last message, without the trailing newline that `str()` adds."""
    return str(result).rstrip("\n")


def restored(history: Sequence[Any]) -> list[Any]:
    """Return the SDK's messages for a conversation from the journal."""
    return [decode(message) for message in history]


def journal_messages(messages: Sequence[Any], answer: str, *, structured: bool) -> tuple[Any, ...]:
    """Return messages as JSON: role and content only, without the SDK's random ids and latencies.

    A structured answer ends with a call of the answer tool and its result. They are replaced by the answer as text: the
    next step may not have that tool, and some providers refuse two user messages in a row.
    """
    plain = [{"role": message["role"], "content": encode(message["content"])} for message in messages]
    if structured:
        while plain and any(block.get("toolUse", {}).get("name") == TOOL for block in _last_call(plain)):
            del plain[-2:]
        plain.append({"role": "assistant", "content": [{"text": answer}]})
    return tuple(plain)


def _last_call(messages: Sequence[Any]) -> list[Any]:
    """Return the blocks of the assistant's message before the last user message."""
    return list(messages[-2]["content"]) if len(messages) > 1 and messages[-1]["role"] == "user" else []
