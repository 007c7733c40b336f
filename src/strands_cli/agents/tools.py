"""One wrapper for every form of tool: what the SDK sees is a name and a spec, and each call goes to the gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool

from strands_cli.agents.gate import Gate
from strands_cli.agents.load import LoadedTool, Toolbox
from strands_cli.engine.scope import StepScope
from strands_cli.errors import RunFailed
from strands_cli.planning.plan import PlannedTool

_SPEC_KEYS = ("name", "description", "inputSchema", "outputSchema", "annotations")


class GatedTool(AgentTool):
    """A tool as one step's agent has it."""

    def __init__(self, loaded: LoadedTool, gate: Gate, scope: StepScope) -> None:
        super().__init__()
        self._loaded = loaded
        self._gate = gate
        self._scope = scope
        self._spec: Any = {key: loaded.spec[key] for key in _SPEC_KEYS if loaded.spec.get(key) is not None}

    @property
    def tool_name(self) -> str:
        """The model-facing name."""
        return self._loaded.planned.name

    @property
    def tool_spec(self) -> Any:
        """The spec as the SDK hands it to the provider."""
        return self._spec

    @property
    def tool_type(self) -> str:
        """The SDK's word for what kind of tool this is."""
        return "gated"

    async def stream(self, tool_use: Any, invocation_state: dict[str, Any], **kwargs: Any) -> Any:
        """Make the call through the gate; the only event is its result."""
        result: Any = await self._gate.call(self._loaded, tool_use, self._scope, {**invocation_state, **kwargs})
        yield ToolResultEvent(result)


class GatedToolCaller:
    """Calls tools for steps that have no model, through the same gate."""

    def __init__(self, toolbox: Toolbox, gate: Gate) -> None:
        self._toolbox = toolbox
        self._gate = gate

    async def close(self) -> list[str]:
        """Close tools that have state; return what went wrong, one line each."""
        return await self._toolbox.close()

    async def call_tool(self, tool: PlannedTool, arguments: Mapping[str, Any], scope: StepScope) -> Mapping[str, Any]:
        """Make one call; raise the reason where the gate says that the run must stop."""
        tool_use = {"toolUseId": f"{scope.key}.call", "name": tool.name, "input": dict(arguments)}
        loaded = self._toolbox.get(tool)
        if len(loaded) != 1:
            names = ", ".join(one.planned.name for one in loaded)
            raise RunFailed(f"'{tool.ref}' holds several tools ({names}); a step calls one", fix="name one of them")
        result = await self._gate.call(loaded[0], tool_use, scope, {})
        if scope.stopped is not None:
            raise scope.stopped
        return result
