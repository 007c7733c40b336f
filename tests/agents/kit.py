"""What the tests of this room share: a site directory for plugins, a host in place of a run, a scripted model."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from strands.models import Model

from strands_cli import app
from strands_cli.agents.agent_runner import SdkAgentRunner
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import Settings
from strands_cli.engine.effects.budget import Budget
from strands_cli.engine.effects.effect import Effect, EffectSpec
from strands_cli.engine.effects.provider_limits import UNLIMITED
from strands_cli.engine.effects.spending import Spending
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Answer, Journal, Question, Row, RowKind
from strands_cli.engine.ports import AgentAnswer, AgentRequest, SystemClock
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.engine.waiting.questions import offered_answer
from strands_cli.events import Event
from strands_cli.planning.plan_values import PlannedAgent, PlannedTool
from strands_cli.planning.resolve.resolve_context import ResolveContext
from strands_cli.planning.resolve.tool_resolver import ToolResolver
from strands_cli.policy.rule import Rule
from strands_cli.providers import ModelSettings
from strands_cli.secrets.redactor import Redactor
from strands_cli.system.daemon_threads import DaemonThreads
from strands_cli.tools.calls.agent_tools import CheckedToolCaller
from strands_cli.tools.calls.calling_contract import Contract
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.tool_loading import Toolbox, load_tools
from strands_cli.workflow.sections import Budgets
from strands_cli.workflow.steps import ToolEntry
from strands_cli.yaml_files.document_reader import read_document
from tests.distributions import make_distribution, manifest_of, tool

YES = Rule("allow", "*", "command line", "--yes")
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
READS: dict[str, Any] = {"annotations": {"readOnlyHint": True}}
Result = TypeVar("Result")


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine as the program does: a thread that hangs holds nothing up."""
    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(DaemonThreads())
        return runner.run(work)


class Site:
    """A directory of installed distributions at the front of `sys.path`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.allowed: tuple[str, ...] = ()
        self.python_path: tuple[str, ...] = ()

    def install(
        self,
        source: str,
        *tools: dict[str, Any],
        name: str = "echo",
        entry: str | None = None,
        distribution: str | None = None,
        manifest: bool = True,
    ) -> None:
        """Install one distribution with one entry point.

        Args:
            source: The source of its only module.
            tools: What its manifest says of each tool, over a sound one; by default of the tool `name`.
            name: The entry point's name.
            entry: `:attribute` in the module; the module itself by default.
            distribution: Its name.
            manifest: Whether it has one.
        """
        package = f"strands_tool_{name}"
        value = package + (entry or "")
        written = distribution or f"strands-tool-{name}"
        described = [tool(**{"name": name, "entry": value, **one}) for one in tools or ({},)]
        document = manifest_of(written, *described) if manifest else None
        make_distribution(self.directory, written, "1.0", {name: value}, {f"{package}/__init__.py": source}, document)

    def plan(self, *refs: Any) -> tuple[PlannedTool, ...]:
        """Resolve references as a workflow's list of tools would be."""
        text = "version: 2\nname: t\nruntime: {provider: replay, recording: r.yaml}\nagents: {a: {prompt: p}}\n"
        text += "pattern: {type: chain, config: {steps: [{agent: a}]}}\n"
        text += f"tools: {{python_path: {list(self.python_path)}}}\n"
        loaded = app.load("workflow.yaml", text)
        assert loaded.spec is not None, loaded.findings
        settings = Settings(self.directory, self.allowed)
        document = read_document("workflow.yaml", text)
        context = ResolveContext(loaded.spec, document, discover_catalog([str(self.directory)]), (), settings)
        resolver = ToolResolver(context)
        planned = resolver.agent_tools([ToolEntry.model_validate(ref) for ref in refs], "/agents/a/tools")
        assert not [finding for finding in context.findings if finding.severity == "error"], context.findings
        return planned

    def load(self, *refs: Any, **options: Any) -> Toolbox:
        return run(load_tools(self.plan(*refs), **options))

    def call(
        self, ref: Any, arguments: Any = None, *, host: RunContext | None = None, **options: Any
    ) -> dict[str, Any]:
        """Call one tool as a step without a model does; no tool asks."""
        return calling(self.plan(ref)[0], {"text": "hi"} if arguments is None else arguments, host=host, **options)


def calling(
    planned: PlannedTool,
    arguments: Any,
    *,
    host: RunContext | None = None,
    rules: Sequence[Rule] = (YES,),
    secrets: Iterable[str] = (),
    key: str = "steps.0",
) -> dict[str, Any]:
    """Load a planned tool and call it through the permission check."""
    host = host or RunContext()

    async def work() -> dict[str, Any]:
        toolbox = await load_tools([planned])
        try:
            caller = CheckedToolCaller(toolbox, gate_of(rules, secrets))
            return dict(await caller.call_tool(planned, arguments, host.scope(key)))
        finally:
            host.problems += await toolbox.close()

    return run(work())


def gate_of(rules: Sequence[Rule] = (YES,), secrets: Iterable[str] = ()) -> PermissionCheck:
    return PermissionCheck(rules, Contract(workspace={"root": "/nowhere"}, secrets={"token": "t"}), Redactor(secrets))


class RunContext:
    """Replaces a run: real effects in a journal that tests can read, events in a list."""

    def __init__(
        self,
        answers: Sequence[Answer] | Callable[[Question], Answer] = (),
        budgets: Budgets | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.clock = SystemClock()
        self.human = self
        self.journal: Journal = journal or MemoryJournal()
        self.budget = Budget(budgets or Budgets(), self.clock)
        self.budgets = [self.budget]
        self.provider_limits = UNLIMITED
        self.spending = Spending(self.clock)
        self.events: list[Event] = []
        self.questions: list[Question] = []
        self.problems: list[str] = []
        self.grants: set[str] = set()
        self._answers = answers

    def scope(self, key: str = "steps.0") -> StepScope:
        return StepScope(self, key, "tester")

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def effect(self, spec: EffectSpec) -> Effect:
        effect = Effect(self.journal, self.clock, spec)
        if effect.recorded is None:
            self.budget.require(spec.kind)
        return effect

    def offered_answer(self, key: str) -> Answer | None:
        return offered_answer(self.journal, key)

    def rows_below(self, key: str, kind: RowKind | None = None) -> list[Row]:
        return list(self.journal.rows(kind, key))

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        if callable(self._answers):
            return self._answers(question)
        return self._answers[len(self.questions) - 1] if self._answers else Answer("nobody")

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if type(event) is kind]

    def rows(self, kind: Any = None) -> dict[str, Row]:
        return {row.key: row for row in self.journal.rows(kind)}


Turn = str | Sequence[tuple[str, Any]] | Callable[[Any], Any]


class Script(Model):
    """Plays turns: a text, a list of (tool, input), or a function of the request that returns stream events."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = list(turns)
        self.requests: list[dict[str, Any]] = []

    def update_config(self, **model_config: Any) -> None:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        self.requests.append(
            {"messages": json.loads(json.dumps(messages, default=repr)), "tools": tool_specs, **kwargs}
        )
        turn = self.turns.pop(0)
        events = turn(self.requests[-1]) if callable(turn) else turn_events(turn, len(self.requests))
        for event in events:
            yield event

    @property
    def results(self) -> list[dict[str, Any]]:
        """The tool results that the last request carried."""
        content = self.requests[-1]["messages"][-1]["content"]
        return [block["toolResult"] for block in content if "toolResult" in block]


def turn_events(turn: Any, number: int, *, stop: str | None = None) -> list[dict[str, Any]]:
    """Return the stream events of a text, or of calls whose input may be text (JSON or not)."""
    events: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    if isinstance(turn, str):
        events += [{"contentBlockDelta": {"delta": {"text": turn}}}, {"contentBlockStop": {}}]
    else:
        for index, (name, given) in enumerate(turn):
            text = given if isinstance(given, str) else json.dumps(given)
            start = {"toolUse": {"name": name, "toolUseId": f"t{number}-{index}"}}
            events += [
                {"contentBlockStart": {"start": start}},
                {"contentBlockDelta": {"delta": {"toolUse": {"input": text}}}},
                {"contentBlockStop": {}},
            ]
    reason = stop or ("end_turn" if isinstance(turn, str) else "tool_use")
    usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
    return [
        *events,
        {"messageStop": {"stopReason": reason}},
        {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}},
    ]


def agent_of(*tools: PlannedTool, settings: ModelSettings | None = None) -> PlannedAgent:
    return PlannedAgent("a", "be brief", settings or ModelSettings("replay"), tools)


def asking(
    model: Model,
    *planned: PlannedTool,
    host: RunContext | None = None,
    rules: Sequence[Rule] = (YES,),
    secrets: Iterable[str] = (),
    prompt: str = "go",
    settings: ModelSettings | None = None,
) -> AgentAnswer:
    """Run one agent with these tools to its end, as an agent step does."""
    host = host or RunContext()

    async def work() -> AgentAnswer:
        toolbox = await load_tools(planned)
        try:
            runner = SdkAgentRunner(lambda _agent, _key: model, toolbox, gate_of(rules, secrets))
            request = AgentRequest(agent_of(*planned, settings=settings), prompt, "be brief", planned)
            return await runner.run_agent(request, host.scope())
        finally:
            host.problems += await toolbox.close()

    return run(work())


def text(result: Mapping[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"] if "text" in block)


def error(result: Mapping[str, Any]) -> dict[str, Any]:
    """The structured error of a failed result; a model reads `code: message`, and as JSON only what is more."""
    assert result["status"] == "error", result
    blocks = [b["json"] for b in result["content"] if isinstance(b.get("json"), dict)]
    found = dict(next((block["error"] for block in blocks if "error" in block), {}))
    if "code" not in found:
        code, _, message = text(result).partition(": ")
        return {"code": code, "message": message, "retryable": False, "details": {}, **found}
    assert set(found) == {"code", "message", "retryable", "details"}
    return found


def forget_modules(before: set[str]) -> None:
    for name in set(sys.modules) - before:
        if name.startswith(("strands_tool", "custom_")):
            del sys.modules[name]
