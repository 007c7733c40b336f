"""The checks of plans that hook plugins make, as findings of the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strands_cli.errors import Code, Finding
from strands_cli.hooks.hook_values import HookContext, PlanFacts, PlannedAgentFacts
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.hooks.manager import Hooks
    from strands_cli.planning.plan.plan_values import ResolvedWorkflow
    from strands_cli.yaml_files.document import Document

HOOK = "strands_plan_checks"
PLAN_CHECK = Code(
    "plan-check",
    "A check of a hook plugin finds something wrong with the plan.",
    "Do what the finding says, or ask the author of the plugin.",
)


def check_plan(hooks: Hooks, plan: ResolvedWorkflow, document: Document) -> list[Finding]:
    """Return what the plugins find in a plan, each at its place in the workflow."""
    if not hooks.implementers(HOOK):
        return []
    agents = tuple(
        PlannedAgentFacts(
            one.id, one.model.provider, one.model.model_id or "", tuple(tool.reference for tool in one.tools)
        )
        for one in plan.agents.values()
    )
    tools = tuple(dict.fromkeys(tool.reference for tool in plan.call_tools.values()))
    value = document.value if isinstance(document.value, dict) else {}
    facts = PlanFacts(plan.spec.name, plan.spec.pattern.type, agents, tools, value)
    context = HookContext(plan.file, tuple(plan.rules))
    return [
        Finding(
            PLAN_CHECK,
            printable(f"{plugin}: {problem.message}"),
            document.where(problem.pointer),
            None if problem.fix is None else printable(problem.fix),
            problem.severity if problem.severity == "warning" else "error",
        )
        for plugin, problem in hooks.plan_checks(facts, context)
    ]
