"""A tool as the SDK sees it: a name and a spec; each call passes the permission check."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool

from strands_cli.tools.forms import LoadedTool
from strands_cli.tools.schema_for_provider import offered_spec

# Makes a call of a tool: with its use, and the SDK's invocation state.
Make = Callable[[LoadedTool, Mapping[str, Any], dict[str, Any]], Awaitable[Any]]


class CheckedTool(AgentTool):
    """A tool as one step's agent has it."""

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
