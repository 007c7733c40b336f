"""Calls of steps without a model: with an agent that has no model, so that tools find what they find elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from strands import Agent
from strands.models import Model

from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.planning.plan.plan_values import PlannedTool
from strands_cli.tools.calls.agent_tools import AgentTools
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.forms.manifest_check import LoadedTool
from strands_cli.tools.loading.tool_loading import Toolbox

NO_MODEL = "a `tool:` step has no model: call the tool in a step with an agent, or give it a model of its own"


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
        loaded = self._toolbox.one(tool)
        agent = self._agent(loaded, scope)
        try:
            result = await self._check.call(loaded, tool_use, scope, {"agent": agent})
        finally:
            scope.changes = None
        if scope.stopped is not None:
            raise scope.stopped
        return result

    def _agent(self, loaded: LoadedTool, scope: StepScope) -> Agent:
        """Return an agent with the tools of the workflow; of a name that several have, the step's own."""
        by_name: dict[str, list[LoadedTool]] = {}
        for one in (one for group in self._toolbox.tools.values() for one in group):
            by_name.setdefault(one.planned.name.replace("-", "_"), []).append(one)
        by_name[loaded.planned.name.replace("-", "_")] = [loaded]
        offered = [found[0] for found in by_name.values() if len(found) == 1]
        tools = AgentTools(scope, offered, self._check, dict)
        agent = AgentOfStep(model=NoModel(), tools=tools.planned, name=scope.who, callback_handler=None)
        tools.join(agent)
        return agent


class AgentOfStep(Agent):
    """An agent that only calls tools; each call of a step has a signal of its own."""

    has_model = False


class NoModel(Model):
    """What takes the place of a model where there is none."""

    def update_config(self, **model_config: Any) -> None:
        """Configure nothing."""

    def get_config(self) -> Any:
        """Return no configuration."""
        return {}

    def structured_output(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: there is no model."""
        raise RuntimeError(NO_MODEL)

    def stream(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: there is no model."""
        raise RuntimeError(NO_MODEL)
