"""Fakes at the engine's own ports: scripted agents, tools and people, and a clock that moves only on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.engine.ports import AgentAnswer, AgentRequest
from strands_cli.errors import StrandsCliError
from strands_cli.events import Usage
from strands_cli.planning.plan_values import PlannedTool

TURN = Usage(10, 5)

Moment = Callable[[str, str], None]


def nothing(moment: str, key: str) -> None:
    """Let every moment pass."""


@dataclass
class FakeClock:
    """Time that does not move until `advance`."""

    epoch: float = 1_700_000_000.0
    elapsed: float = 0.0

    def now(self) -> float:
        return self.epoch + self.elapsed

    def monotonic(self) -> float:
        return self.elapsed

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self.elapsed += seconds


@dataclass(frozen=True)
class Say:
    """A turn of a model that ends its step."""

    text: str
    usage: Usage = TURN


@dataclass(frozen=True)
class Use:
    """A turn of a model that asks for tools: (name, input) pairs."""

    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    usage: Usage = TURN


Turn = Say | Use


@dataclass
class ScriptedTools:
    """A `ToolCaller` whose tools are functions from their input to a text; an exception becomes an error result.

    `moment` is called with "before tool", "inside tool" (it has acted, and the journal does not know) and "after tool";
    `called` are the calls that were really made.
    """

    tools: Mapping[str, Callable[[Mapping[str, Any]], str]] = field(default_factory=dict)
    repeatable: bool = True
    moment: Moment = nothing
    called: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    approve: bool = False

    async def call_tool(self, tool: PlannedTool, arguments: Mapping[str, Any], scope: StepScope) -> Mapping[str, Any]:
        return await self.call(f"{scope.key}.call", tool.name, arguments, scope)

    async def call(
        self, tool_use_id: str, name: str, arguments: Mapping[str, Any], scope: StepScope
    ) -> Mapping[str, Any]:
        effect = scope.tool_effect(tool_use_id, name, {"tool": name, "input": arguments}, repeatable=self.repeatable)
        if effect.recorded is not None:
            recorded: Mapping[str, Any] = effect.recorded.output
            return recorded
        if self.approve:
            question = Question(f"{effect.key}/approval", "approval", f"Allow {name}?", pattern="yes|no")
            await scope.ask(question, {"tool": name, "input": arguments})
        self.moment("before tool", effect.key)
        await effect.start()
        self.called.append((effect.key, arguments))
        result = self._answer(name, arguments)
        self.moment("inside tool", effect.key)
        await effect.finish(result)
        scope.count_tool_call()
        self.moment("after tool", effect.key)
        return result

    def _answer(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            text = self.tools[name](arguments)
            return {"status": "success", "content": [{"text": text}, {"json": len(text)}]}
        except Exception as error:
            return {"status": "error", "content": [{"text": f"{type(error).__name__}: {error}"}]}


@dataclass
class ScriptedAgents:
    """An `AgentRunner` that plays turns by step key, each as a journaled model call, as the real one does.

    `requests` are the steps it was asked to run, `asked` the keys of the model calls that were really made.
    """

    turns: Mapping[str, Sequence[Turn | StrandsCliError]]
    tools: ScriptedTools = field(default_factory=ScriptedTools)
    moment: Moment = nothing
    requests: list[AgentRequest] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def run_agent(self, request: AgentRequest, scope: StepScope) -> AgentAnswer:
        self.requests.append(request)
        transcript: list[Any] = [request.prompt]
        for turn in self.turns[scope.key]:
            if isinstance(turn, StrandsCliError):
                raise turn
            await self._ask(turn, transcript, scope)
            if isinstance(turn, Say):
                return AgentAnswer(turn.text, "end_turn", turn.usage)
            ids = [f"use-{len(transcript)}-{index}" for index in range(len(turn.calls))]
            scope.expect_tools(ids)
            for tool_use_id, (name, arguments) in zip(ids, turn.calls, strict=True):
                transcript.append(await self.tools.call(tool_use_id, name, arguments, scope))
        raise AssertionError(f"the script of {scope.key} does not end with words")

    async def _ask(self, turn: Turn, transcript: list[Any], scope: StepScope) -> None:
        effect = scope.model_effect({"messages": list(transcript)})
        if effect.recorded is not None:
            return
        await effect.start()
        self.asked.append(effect.key)
        self.moment("inside model", effect.key)
        await effect.finish({"said": repr(turn)}, usage=turn.usage)
        scope.count_model_call(turn.usage, None)
        self.moment("after model", effect.key)


@dataclass
class ScriptedHuman:
    """A person who gives the answers in order; a bare text is an answer."""

    answers: Iterable[Answer | str] = ()
    asked: list[Question] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._left = list(self.answers)

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        assert self._left, f"nobody expected the question {question.key}: {question.prompt}"
        answer = self._left.pop(0)
        return Answer("answered", answer) if isinstance(answer, str) else answer
