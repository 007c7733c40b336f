"""Agents and whole workflows called as a tool of a step."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.engine.patterns.pattern_functions import function_of
from strands_cli.engine.run import Run
from strands_cli.errors import BudgetExceeded, RunFailed
from strands_cli.planning.row_planner import AGENT_PART
from strands_cli.workflow.steps import agent_step

if TYPE_CHECKING:
    from strands_cli.engine.effects.step_scope import StepScope
    from strands_cli.engine.ports import AgentRunner, ToolCaller
    from strands_cli.engine.step_results import StepResult
    from strands_cli.planning.plan_values import Plan


async def run_agent(scope: StepScope, key: str, agent: str, prompt: str) -> StepResult:
    """Run an agent of the same workflow as a step of its own, below the call's key.

    Args:
        scope: The step of the call; the usage of the agent counts in its limits, and in the agent's own.
        agent: The agent's id. It begins without a conversation, also with `memory: run`.
        prompt: The message to the agent; it is not a template.

    Raises:
        StrandsCliError: Why it stopped.
    """
    # The message is the response of a step before, and not the step's input, because it is not a template.
    names = {"last_response": prompt}
    return await _run_of(scope).inner_step(scope, f"{key}/{AGENT_PART}{agent}", agent_step(agent), names)


async def run_workflow(
    scope: StepScope, key: str, plan: Plan, agents: AgentRunner, tools: ToolCaller
) -> Mapping[str, Any]:
    """Run another workflow below the call's key, in the same journal.

    Its usage counts in the run and the step too. Where it reaches its own limits, the call ends; where it reaches
    theirs, the run ends.

    Args:
        agents: Runs its agents.
        tools: Calls its tools.

    Returns:
        The names that its pattern leaves.

    Raises:
        StrandsCliError: Why it stopped.
    """
    outer, pattern = _run_of(scope), plan.spec.pattern
    ports = dataclasses.replace(outer.ports, agents=agents, tools=tools)
    inner = Run(plan, ports, outer.id, outer.emit, within=scope, prefix=f"{key}/")
    try:
        return await function_of(pattern)(inner, pattern.config)
    except BudgetExceeded as error:
        if scope.exceeded is not None:
            raise scope.exceeded from error
        raise RunFailed(error.message) from error


def render(scope: StepScope, value: Any, names: Mapping[str, Any], *, where: str) -> Any:
    """Render every template in a JSON value, as steps of the run do; `where` names it in an error.

    Raises:
        RunFailed: One of them cannot be rendered.
    """
    return _run_of(scope).step_inputs.render_value(value, names, where=where)


def _run_of(scope: StepScope) -> Run:
    if not isinstance(scope.run, Run):
        raise RunFailed("an agent or a workflow can be called as a tool only inside a run")
    return scope.run
