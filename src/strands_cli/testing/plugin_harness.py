"""One plugin outside any plan: called directly, by an agent through the permission check, and by a plain agent."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from strands import Agent
from strands.tools.executors import SequentialToolExecutor
from strands.types.tools import AgentTool

from strands_cli.agents.agent_runner import SdkAgentRunner
from strands_cli.agents.model.replay import ReplayModel
from strands_cli.canonical_json import json_object
from strands_cli.daemon_threads import DaemonThreads
from strands_cli.engine.ports.engine_ports import AgentRequest
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.errors import Raised
from strands_cli.planning.plan.plan_values import PlannedAgent, PlannedTool
from strands_cli.planning.planned_tools.planned_tool import PythonTool
from strands_cli.planning.resolve.single_tool import python_tool
from strands_cli.policy.decision import Decision
from strands_cli.policy.rules.rule import Rule
from strands_cli.providers import ModelSettings
from strands_cli.toolref import ToolRef
from strands_cli.tools.calls.calling_contract import Contract, timeout_of
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.forms.manifest_check import LoadedTool, check_against_manifest
from strands_cli.tools.forms.tool_forms import Closer, RawTool, close_all, read_reference, read_tools, spec_named
from strands_cli.tools.loading.tool_loading import Toolbox, key_of
from strands_cli.tools.timeouts import GRACE_S, bounded
from strands_cli.workflow.files.recording_file import RecordedCall, RecordedTurn

Call = tuple[str, Mapping[str, Any]]
Value = TypeVar("Value")
_YES = Rule("allow", "*", "command line", "--yes")
_STEP = "call"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one direct call: a value, an exception, or no answer in time (`late`)."""

    value: Any = None
    raised: BaseException | None = None
    late: bool = False
    seconds: float = 0.0

    @property
    def answered(self) -> bool:
        """Whether it returned a value in time."""
        return self.raised is None and not self.late

    @property
    def in_shape(self) -> bool:
        """Whether the value has the form of a result, with any id."""
        value = self.value
        sound = self.answered and isinstance(value, Mapping) and value.get("status") in ("success", "error")
        blocks = value.get("content") if sound else None
        return isinstance(blocks, list) and bool(blocks) and all(map(_is_block, blocks))


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """What a workflow would give a plugin: its configuration, and the values of secrets by name."""

    config: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(slots=True)
class LoadedPlugin:
    """A loaded plugin, the module that it is of, and what to close at the end."""

    tools: dict[str, RawTool] = field(default_factory=dict)
    closers: list[Closer] = field(default_factory=list)
    settings: PluginSettings = field(default_factory=PluginSettings)
    module: ModuleType | None = None

    async def invoke(self, call: Call, tool_use_id: str, workspace: Path) -> Outcome:
        """Call a tool directly, within its own time limit; its answer is not corrected."""
        name, tool_input = call
        limit, over, started = timeout_of(self.tools[name].claims), threading.Event(), time.monotonic()
        declared = _secrets_of(self.tools[name])
        contract = self._contract(workspace).keywords(self.settings.config, started + limit, over, declared)
        tool_use = {"toolUseId": tool_use_id, "name": name, "input": tool_input}
        try:
            answer = await bounded(
                lambda: self.tools[name].invoke(tool_use, {"strands_cli": contract}, lambda _: None), limit
            )
        except TimeoutError:
            return Outcome(late=True, seconds=time.monotonic() - started)
        finally:
            over.set()
        seconds = time.monotonic() - started
        if isinstance(answer, Raised):
            return Outcome(raised=answer.error, seconds=seconds)
        return Outcome(answer, seconds=seconds)

    async def cancel(self, call: Call, tool_use_id: str, workspace: Path) -> bool:
        """Start a direct call, cancel it, and return whether it ended."""
        task = asyncio.create_task(self.invoke(call, tool_use_id, workspace))
        await asyncio.sleep(0.01)
        before = asyncio.all_tasks() - {task, asyncio.current_task()}
        task.cancel()
        await asyncio.wait({task}, timeout=2 * GRACE_S)
        return task.done() and all(other.done() for other in before)

    async def call_by_agent(self, calls: Sequence[Call], workspace: Path) -> list[dict[str, Any]]:
        """Let an agent of ours make the calls in one turn; return the results that its model was sent.

        Raises:
            StrandsCliError: The run would have stopped.
        """
        planned = {name: self._planned(name) for name in self.tools}
        toolbox = Toolbox({key_of(planned[name]): [_loaded(planned[name], raw)] for name, raw in self.tools.items()})
        model = _Played(calls)
        runner = SdkAgentRunner(lambda *_: model, toolbox, PermissionCheck([_YES], self._contract(workspace)))
        agent = PlannedAgent("author", "Call the tools.", ModelSettings("replay"), tuple(planned.values()))
        request = AgentRequest(agent, "Call the tools.", agent.prompt, agent.tools)
        await runner.run_agent(request, StandaloneRun().scope())
        return model.results

    async def call_by_plain_agent(self, calls: Sequence[Call]) -> list[dict[str, Any]]:
        """Let a plain Strands agent make the calls, without any code of strands-cli around the tools."""
        model = _Played(calls)
        agent = Agent(
            model=model,
            tools=self._plain(),
            callback_handler=None,
            retry_strategy=None,
            tool_executor=SequentialToolExecutor(),
        )
        await agent.invoke_async("Call the tools.")
        return model.results

    async def close(self) -> list[str]:
        """Close tools that have state; return the problems, one line each."""
        return await close_all(self.closers)

    def undeclared_secrets(self) -> list[str]:
        """Return a problem for each secret that is given and that no tool declares; no run would hand it out."""
        declared = {name for raw in self.tools.values() for name in _secrets_of(raw)}
        names = [name for name in self.settings.secrets if name not in declared]
        return [f"no tool declares the secret {name!r} in its capabilities: a run gives it to none" for name in names]

    def _planned(self, name: str) -> PlannedTool:
        record = python_tool(ToolRef.parse(f"tested:{name}"), name).record
        allowed = Decision("allow", "the tool's own test")
        return PythonTool(name=name, ref=f"native:{name}", record=record, decision=allowed, config=self.settings.config)

    def _contract(self, root: Path) -> Contract:
        """Return the calling contract with a workspace of one directory."""
        return Contract({"root": str(root), "mounts": {}, "protected": []}, self.settings.secrets)

    def _plain(self) -> list[Any]:
        """Return what an author would give a plain agent: each tool of the SDK, else the module with its functions."""
        made_of = [raw.made_of for raw in self.tools.values()]
        tools: list[Any] = [one for one in made_of if isinstance(one, AgentTool)]
        return tools if len(tools) == len(made_of) else [*tools, self.module]


def _is_block(block: Any) -> bool:
    if not isinstance(block, Mapping) or len(block) != 1:
        return False
    kind, value = next(iter(block.items()))
    return isinstance(value, str) if kind == "text" else kind in ("json", "image", "document", "video")


class _Played(ReplayModel):
    """A model that requests `calls` in one turn and collects their results."""

    def __init__(self, calls: Sequence[Call]) -> None:
        asked = tuple(RecordedCall(name, tool_input) for name, tool_input in calls)
        super().__init__((RecordedTurn(calls=asked), RecordedTurn(text="Done.")), _STEP)
        self.results: list[dict[str, Any]] = []

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        content = messages[-1]["content"]
        self.results += [block["toolResult"] for block in content if "toolResult" in block]
        async for event in super().stream(messages, *args, **kwargs):
            yield event


def use_id(number: int) -> str:
    """Return the tool-use id of the agents' call with this number, from 0."""
    return f"{_STEP}.1.{number}"


async def load_plugin(target: Any, settings: PluginSettings) -> LoadedPlugin:
    """Load a plugin from an entry point's value (`package.module:attribute`), or from the object that it refers to.

    Raises:
        NotAToolError: It has none of the forms of a tool.
    """
    loaded = LoadedPlugin(settings=settings)
    try:
        found = await _read(target, settings.config, loaded.closers)
    except BaseException:
        await loaded.close()
        raise
    loaded.tools = {raw.name: raw for raw in found}
    loaded.module = _module_of(target)
    return loaded


def _secrets_of(raw: RawTool) -> tuple[str, ...]:
    names = json_object(raw.claims.get("capabilities")).get("secrets")
    return tuple(str(name).removesuffix("?") for name in names) if isinstance(names, (list, tuple)) else ()


def _module_of(target: Any) -> ModuleType | None:
    if isinstance(target, ModuleType):
        return target
    name = target.partition(":")[0] if isinstance(target, str) else getattr(target, "__module__", None)
    return sys.modules.get(str(name))


def run_coroutine(work: Coroutine[Any, Any, Value]) -> Value:
    """Run a coroutine as the program does: a thread or a task that hangs does not delay the end."""
    loop = asyncio.new_event_loop()
    try:
        loop.set_default_executor(DaemonThreads())
        return loop.run_until_complete(work)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:  # a task that ignores its cancellation would block `asyncio.run` for ever
            loop.run_until_complete(asyncio.wait(left, timeout=GRACE_S))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _read(target: Any, config: Mapping[str, Any], closers: list[Closer]) -> list[RawTool]:
    if isinstance(target, str):
        name, _, attribute = target.partition(":")
        return await read_reference(importlib.import_module(name), attribute or None, config, closers)
    module = sys.modules.get(target.__module__) if inspect.isfunction(target) else None
    if module is not None and spec_named(module, target.__name__) is not None:
        return await read_reference(module, target.__name__, config, closers)
    return await read_tools(target, config, closers)


def _loaded(planned: PlannedTool, raw: RawTool) -> LoadedTool:
    (loaded,) = check_against_manifest(planned, [raw])
    return loaded
