"""Calls that a person makes by hand: the rules that still apply, and the call of a tool that a file declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from strands_cli.agents.assembly import assemble
from strands_cli.agents.shared_runs import opened_runs
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.events import Event
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.workspace import workspace_of
from strands_cli.policy.rules.rule import Rule
from strands_cli.workflow.steps.step_models import CallStep

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Human
    from strands_cli.planning.plan.plan_values import Plan


def typed_rules(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules for a call by hand: what is denied stays denied, what a managed file asks is asked."""
    strict = [rule for rule in rules if rule.effect == "deny" or (rule.effect == "ask" and rule.level == "managed")]
    return [*strict, Rule("allow", "*", "command line", "typed by hand")]


async def call_declared(
    plan: Plan, arguments: Mapping[str, Any], person: Human, emit: Callable[[Event], None]
) -> Mapping[str, Any]:
    """Call the tool of a plan's only step, with the servers, settings and secrets that the plan has.

    Raises:
        StrandsCliError: It cannot be loaded, its server does not start, or policy denies it.
    """
    run = StandaloneRun(person, emit)
    require_runnable(plan)
    plan = replace(plan, rules=tuple(typed_rules(plan.policy.rules)))
    async with opened_runs(warn=run.warn) as shared:
        workers = await assemble(plan, workspace_of(plan), shared, tell=run.warn, is_typed=True)
        try:
            (step,) = (placed.step for placed in plan.spec.pattern.placed if isinstance(placed.step, CallStep))
            return await workers.tools.call_tool(plan.call_tools[step.tool], arguments, run.scope())
        finally:
            await workers.close_with(run.warn)
