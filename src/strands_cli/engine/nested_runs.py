"""Steps inside a call: an agent, or a whole workflow, that is called as a tool of another step."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.engine.patterns import PATTERNS
from strands_cli.engine.run import Run
from strands_cli.errors import BudgetExceeded, RunFailed
from strands_cli.planning.planned_steps import AGENT_PART
from strands_cli.workflow.steps import agent_step

if TYPE_CHECKING:
    from strands_cli.engine.ports import AgentRunner, ToolCaller
    from strands_cli.engine.scope import StepScope
    from strands_cli.engine.step_results import StepResult
    from strands_cli.planning.plan import Plan


async def run_agent(scope: StepScope, key: str, agent: str, prompt: str) -> StepResult:
    """Let an agent of the same workflow do a task, as a step of its own below the call's key.

    Args:
        scope: The step in which the call happens; its limits hold for what the agent spends, besides the agent's own.
        key: The call's key.
        agent: The agent's id. It starts afresh, whatever its `memory`.
        prompt: What it is told, as it is.

    Raises:
        StrandsCliError: why it stopped.
    """
    step = agent_step(agent)
    # A step without an input that is not the first says what came before, which is no template.
    said = {"last_response": prompt}
    return await _run_of(scope).step(f"{key}/{AGENT_PART}{agent}", step, said, index=1, within=scope)


async def run_workflow(
    scope: StepScope, key: str, plan: Plan, agents: AgentRunner, tools: ToolCaller
) -> Mapping[str, Any]:
    """Run another workflow below the call's key, in the same record.

    What it spends is spent by the run and the step too. Its own limits end this call of it; those around it end the
    run.

    Args:
        scope: The step in which the call happens.
        key: The call's key.
        plan: The workflow with its inputs.
        agents: Runs its agents.
        tools: Calls its tools.

    Returns:
        The names that its pattern leaves.

    Raises:
        StrandsCliError: why it stopped.
    """
    outer, pattern = _run_of(scope), plan.spec.pattern
    ports = dataclasses.replace(outer.ports, agents=agents, tools=tools)
    inner = Run(plan, ports, outer.id, outer.emit, within=scope, prefix=f"{key}/")
    try:
        return await PATTERNS[pattern.type](inner, pattern.config)
    except BudgetExceeded as error:
        if scope.exceeded is not None:
            raise scope.exceeded from error
        raise RunFailed(error.message) from error


def render(scope: StepScope, value: Any, names: Mapping[str, Any], *, where: str) -> Any:
    """Render every template in a JSON value, as steps of the run do; `where` names it in an error.

    Raises:
        RunFailed: one of them cannot be rendered.
    """
    return _run_of(scope).render_value(value, names, where=where)


def _run_of(scope: StepScope) -> Run:
    if not isinstance(scope.host, Run):
        raise RunFailed("an agent or a workflow can be called as a tool only inside a run")
    return scope.host
