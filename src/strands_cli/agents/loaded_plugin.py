"""Load one plugin without a workflow and call its tools; the SDK is imported when a plugin is loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar

from strands_cli.agents.plugin_values import Call, CallOutcome, PluginTool
from strands_cli.system.daemon_threads import DaemonThreads
from strands_cli.tools.timeouts import GRACE_S

Value = TypeVar("Value")


class LoadedPlugin(Protocol):
    """A plugin loaded in this process, until it is closed; `load_plugin` makes it.

    A call is a pair: the name of a tool, and its input.
    """

    @property
    def tools(self) -> Mapping[str, PluginTool]:
        """Its tools by name."""

    async def call(self, call: Call, tool_use_id: str, workspace: Path) -> CallOutcome:
        """Call a tool directly, within its own time limit, with the calling contract of a run.

        Neither the input nor the answer is checked or corrected.

        Args:
            call: The name of a tool, and its input.
            tool_use_id: The id that the result must have.
            workspace: The one directory that the contract names as the workspace.
        """

    async def cancel(self, call: Call, tool_use_id: str, workspace: Path) -> bool:
        """Start a direct call, cancel it, and return whether it ended."""

    async def call_by_agent(self, calls: Sequence[Call], workspace: Path) -> list[dict[str, Any]]:
        """Let an agent make the calls in one turn as in a run; return the results that its model was sent.

        They go through the permission check, which allows them: schema, time limit and size of the answer count.
        The call with number N has the tool-use id `call.1.N`.

        Raises:
            StrandsCliError: The run would have stopped.
        """

    async def call_by_plain_agent(self, calls: Sequence[Call]) -> list[dict[str, Any]]:
        """Let a plain Strands agent make the calls, without any code of strands-cli around the tools; ids as above."""

    async def close(self) -> list[str]:
        """Close tools with state; return the problems, one line each."""


async def load_plugin(
    target: Any, *, config: Mapping[str, Any] | None = None, secrets: Mapping[str, str] | None = None
) -> LoadedPlugin:
    """Load a plugin in this process, without policy, lock or workflow: its author calls it.

    Args:
        target: The value of an entry point (`package.module:attribute`), or the object that it refers to.
        config: The configuration, as in a workflow.
        secrets: The values of secrets by name; each tool gets those that it declares, as in a run.

    Raises:
        NotAToolError: It has none of the forms of a tool.
    """
    from strands_cli.agents.plugin_calls import CalledPlugin

    return await CalledPlugin.load(target, dict(config or {}), dict(secrets or {}))


async def describe_plugin(module: ModuleType, attribute: str | None) -> tuple[str, list[Mapping[str, Any]]]:
    """Return the kind of an entry point's object, one of `Manifest.KINDS`, and the specs of its tools.

    A class whose methods are the tools is described without an instance, which may need a configuration.

    Raises:
        AttributeError: The module has no such attribute.
        NotAToolError: It is none of the forms of a tool.
    """
    from strands_cli.tools.tool_forms import describe_reference

    return await describe_reference(module, attribute)


def run_to_answer(work: Coroutine[Any, Any, Value]) -> Value:
    """Run a coroutine in a loop of its own, as the program does: a thread or task that hangs does not delay the end."""
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
