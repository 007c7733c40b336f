"""A tool as the SDK sees it: a name and a spec; each call passes the permission check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool

from strands_cli.engine.effects import StepScope
from strands_cli.planning.plan import PlannedTool
from strands_cli.tools.calls.ordering import Order
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.forms import LoadedTool
from strands_cli.tools.loading import Toolbox
from strands_cli.tools.schema_for_provider import offered_spec


class CheckedTool(AgentTool):
    """A tool as one step's agent has it.

    Args:
        loaded: The tool.
        check: The permission check.
        order: The step's calls, among which this tool's have their places.
        broken_inputs: Returns the arguments of the model's last turn that were not JSON, by tool-use id.
    """

    def __init__(
        self,
        loaded: LoadedTool,
        check: PermissionCheck,
        order: Order,
        broken_inputs: Callable[[], Mapping[str, str]],
    ) -> None:
        super().__init__()
        self._loaded = loaded
        self._check = check
        self._order = order
        self._broken_inputs = broken_inputs
        self._spec: Any = offered_spec(loaded)

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
        return "checked"

    async def stream(self, tool_use: Any, invocation_state: dict[str, Any], **kwargs: Any) -> Any:
        """Make the call through the permission check; the only event is its result."""
        # The SDK makes an empty object of arguments that are not JSON; the tool must not be called with that.
        written = self._broken_inputs().get(tool_use["toolUseId"])
        tool_use = tool_use if written is None else {**tool_use, "input": written}
        state = {**invocation_state, **kwargs}
        async with self._order.call(tool_use["toolUseId"], state["agent"].messages) as scope:
            result: Any = await self._check.call(self._loaded, tool_use, scope, state)
        yield ToolResultEvent(result)


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
