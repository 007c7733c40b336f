"""One plugin and the calls of its tools: directly, by an agent through the permission check, and by a plain agent."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from strands import Agent
from strands.tools.executors import SequentialToolExecutor
from strands.types.tools import AgentTool

from strands_cli.agents.agent_runner import SdkAgentRunner
from strands_cli.agents.model.replay import ReplayModel
from strands_cli.agents.plugin_values import Call, CallOutcome, PluginTool
from strands_cli.engine.ports import AgentRequest
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.errors import RaisedException
from strands_cli.planning.plan_values import PlannedAgent, PlannedTool
from strands_cli.planning.planned_tool import PythonTool
from strands_cli.planning.resolve.single_tool import python_tool
from strands_cli.policy.decision import Decision
from strands_cli.policy.rule import Rule
from strands_cli.providers import ModelSettings
from strands_cli.toolref import ToolRef
from strands_cli.tools.calls.calling_contract import Contract
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.manifest_check import check_against_manifest
from strands_cli.tools.timeouts import GRACE_S, bounded
from strands_cli.tools.tool_forms import Closer, RawTool, close_all, read_reference, read_tools, spec_named
from strands_cli.tools.tool_loading import Toolbox, key_of
from strands_cli.workflow.recording_file import RecordedCall, RecordedTurn

_YES = Rule("allow", "*", "command line", "--yes")
_STEP = "call"


class CalledPlugin:
    """A `LoadedPlugin` on the SDK: the tools as their author made them, and the functions to call at the end."""

    def __init__(self, config: Mapping[str, Any], secrets: Mapping[str, str]) -> None:
        self._config = config
        self._secrets = secrets
        self._closers: list[Closer] = []
        self._raw: dict[str, RawTool] = {}
        self._module: ModuleType | None = None
        self._tools: dict[str, PluginTool] = {}

    @classmethod
    async def load(cls, target: Any, config: Mapping[str, Any], secrets: Mapping[str, str]) -> CalledPlugin:
        """Load a plugin; see `load_plugin`."""
        plugin = cls(config, secrets)
        try:
            read = await _read(target, config, plugin._closers)
        except BaseException:
            await plugin.close()
            raise
        plugin._raw = {raw.name: raw for raw in read}
        plugin._tools = {raw.name: PluginTool(raw.name, raw.spec, raw.schema, raw.output_schema) for raw in read}
        plugin._module = _module_of(target)
        return plugin

    @property
    def tools(self) -> Mapping[str, PluginTool]:
        """Its tools by name."""
        return self._tools

    async def call(self, call: Call, tool_use_id: str, workspace: Path) -> CallOutcome:
        """Call a tool directly, within its own time limit; its answer is not corrected."""
        name, tool_input = call
        tool, over, started = self._tools[name], threading.Event(), time.monotonic()
        limit = tool.timeout_s
        contract = self._contract(workspace).keywords(self._config, started + limit, over, tool.secrets)
        tool_use = {"toolUseId": tool_use_id, "name": name, "input": tool_input}
        try:
            answer = await bounded(
                lambda: self._raw[name].invoke(tool_use, {"strands_cli": contract}, lambda _: None), limit
            )
        except TimeoutError:
            return CallOutcome(late=True, seconds=time.monotonic() - started)
        finally:
            over.set()
        seconds = time.monotonic() - started
        if isinstance(answer, RaisedException):
            return CallOutcome(raised=answer.error, seconds=seconds)
        return CallOutcome(answer, seconds=seconds)

    async def cancel(self, call: Call, tool_use_id: str, workspace: Path) -> bool:
        """Start a direct call, cancel it, and return whether it ended."""
        task = asyncio.create_task(self.call(call, tool_use_id, workspace))
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
        planned = {name: self._planned(name) for name in self._raw}
        toolbox = Toolbox(
            {key_of(planned[name]): check_against_manifest(planned[name], [raw]) for name, raw in self._raw.items()}
        )
        model = _ScriptedModel(calls)
        runner = SdkAgentRunner(lambda *_: model, toolbox, PermissionCheck([_YES], self._contract(workspace)))
        agent = PlannedAgent("author", "Call the tools.", ModelSettings("replay"), tuple(planned.values()))
        request = AgentRequest(agent, "Call the tools.", agent.prompt, agent.tools)
        await runner.run_agent(request, StandaloneRun().scope())
        return model.results

    async def call_by_plain_agent(self, calls: Sequence[Call]) -> list[dict[str, Any]]:
        """Let a plain Strands agent make the calls, without any code of strands-cli around the tools."""
        model = _ScriptedModel(calls)
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
        """Close tools with state; return the problems, one line each."""
        return await close_all(self._closers)

    def _planned(self, name: str) -> PlannedTool:
        record = python_tool(ToolRef.parse(f"tested:{name}"), name).record
        allowed = Decision("allow", "the tool's own test")
        return PythonTool(name=name, ref=f"native:{name}", record=record, decision=allowed, config=self._config)

    def _contract(self, root: Path) -> Contract:
        """Return the calling contract with a workspace of one directory."""
        return Contract({"root": str(root), "mounts": {}, "protected": []}, self._secrets)

    def _plain(self) -> list[Any]:
        """Return an author's tools for a plain agent: each tool of the SDK, else the module with its functions."""
        made_of = [raw.made_of for raw in self._raw.values()]
        tools: list[Any] = [raw_tool for raw_tool in made_of if isinstance(raw_tool, AgentTool)]
        return tools if len(tools) == len(made_of) else [*tools, self._module]


class _ScriptedModel(ReplayModel):
    """A model that requests `calls` in one turn and collects their results."""

    def __init__(self, calls: Sequence[Call]) -> None:
        recorded_calls = tuple(RecordedCall(name, tool_input) for name, tool_input in calls)
        super().__init__((RecordedTurn(calls=recorded_calls), RecordedTurn(text="Done.")), _STEP)
        self.results: list[dict[str, Any]] = []

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        content = messages[-1]["content"]
        self.results += [block["toolResult"] for block in content if "toolResult" in block]
        async for event in super().stream(messages, *args, **kwargs):
            yield event


def _module_of(target: Any) -> ModuleType | None:
    if isinstance(target, ModuleType):
        return target
    name = target.partition(":")[0] if isinstance(target, str) else getattr(target, "__module__", None)
    return sys.modules.get(str(name))


async def _read(target: Any, config: Mapping[str, Any], closers: list[Closer]) -> list[RawTool]:
    if isinstance(target, str):
        name, _, attribute = target.partition(":")
        return await read_reference(importlib.import_module(name), attribute or None, config, closers)
    module = sys.modules.get(target.__module__) if inspect.isfunction(target) else None
    if module is not None and spec_named(module, target.__name__) is not None:
        return await read_reference(module, target.__name__, config, closers)
    return await read_tools(target, config, closers)
