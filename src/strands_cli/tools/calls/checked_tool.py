"""A tool as the SDK sees it: a name and a spec; each call passes the permission check."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool

from strands_cli.engine.effects import StepScope
from strands_cli.planning.plan import PlannedTool
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.forms import LoadedTool
from strands_cli.tools.loading import Toolbox
from strands_cli.tools.schema_for_provider import offered_spec

# Makes a call of a tool: with its use, and the SDK's invocation state.
Make = Callable[[LoadedTool, Mapping[str, Any], dict[str, Any]], Awaitable[Any]]


class CheckedTool(AgentTool):
    """A tool as one step's agent has it.

    Args:
        loaded: The tool.
        make: Makes a call that the model has asked for.
    """

    def __init__(self, loaded: LoadedTool, make: Make) -> None:
        super().__init__()
        self.loaded = loaded
        self._make = make
        self._spec: Any = offered_spec(loaded)

    @property
    def tool_name(self) -> str:
        """The model-facing name."""
        return self.loaded.planned.name

    @property
    def tool_spec(self) -> Any:
        """The spec as the SDK hands it to the provider."""
        return self._spec

    @property
    def tool_type(self) -> str:
        """The SDK's word for what kind of tool this is."""
        return "checked"

    async def stream(self, tool_use: Any, invocation_state: dict[str, Any], **kwargs: Any) -> Any:
        """Make the call through the permission check; the only event is its result."""
        yield ToolResultEvent(await self._make(self.loaded, tool_use, {**invocation_state, **kwargs}))


class CheckedToolCaller:
    """Calls tools for steps that have no model, through the same permission check."""

    def __init__(self, toolbox: Toolbox, check: PermissionCheck) -> None:
        self._toolbox = toolbox
        self._check = check

    async def close(self) -> list[str]:
        """Close tools that have state; return what went wrong, one line each."""
        return await self._toolbox.close()

    async def call_tool(self, tool: PlannedTool, arguments: Mapping[str, Any], scope: StepScope) -> Mapping[str, Any]:
        """Make one call; raise the reason where the permission check says that the run must stop."""
        tool_use = {"toolUseId": f"{scope.key}.call", "name": tool.name, "input": dict(arguments)}
        result = await self._check.call(self._toolbox.one(tool), tool_use, scope, {})
        if scope.stopped is not None:
            raise scope.stopped
        return result
