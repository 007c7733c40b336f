"""The checks of plans that hook plugins make, as findings of the plan."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.catalog.catalog import Catalog
from strands_cli.errors import Code, Denied, Finding, has_errors
from strands_cli.hooks.hook_plugins import HOOK_ABSENT, HOOK_MISSING, open_hooks
from strands_cli.hooks.hook_values import HookContext, PlanFacts, PlannedAgentFacts
from strands_cli.hooks.manager import HOOK_FAILED, Hooks
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.decision import Policy, SwitchedOn
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.hooks.manager import Hooks
    from strands_cli.planning.plan_values import ResolvedWorkflow
    from strands_cli.yaml_files.document import Document


# The hook plugins of one command: those that the policy files switch on and those that a program names.


_CODES = (HOOK_ABSENT, HOOK_MISSING, HOOK_FAILED)


def hooks_in_force(policy: Policy, options: RunRequest, folder: Path | None = None) -> Hooks:
    """Open the hook plugins of a command; faults of one are in `findings`, and nothing may run then.

    Args:
        policy: The hook plugins of the managed and the user's file.
        options: Whether those of the user's file are left out, and who is notified of their actions.
        folder: Where a lock may be; a plugin that differs from it is not imported.

    Raises:
        Denied: A plugin differs from the lock.
    """
    policy_hooks = [hook for hook in policy.hooks if not (options.no_plugins and hook.level == "user")]
    if options.no_plugins:
        for line in _left_out(policy.hooks):
            options.tell(line)
    words = [*(hook.word for hook in policy_hooks), *options.hooks]
    if words and folder is not None and (faults := _lock_faults(words, folder, policy, options)):
        raise Denied("a hook plugin that is switched on is not as it was locked, so nothing runs", findings=faults)
    # The program that shows the run may replace this one.
    hooks: Hooks = open_hooks(
        [*policy_hooks, *options.hooks],
        tell=options.tell,
        trace=(lambda line: hooks.tell(line)) if options.trace_hooks else None,
    )
    return hooks


def _lock_faults(words: Iterable[str], folder: Path, policy: Policy, options: RunRequest) -> list[Finding]:
    from strands_cli.parts.plugin_lock import check_locked  # where hook plugins are switched on

    return check_locked(words, folder, policy.lock_required_by(is_asked=options.locked))


def faults_of(hooks: Hooks, catalog: Catalog) -> list[Finding]:
    """Return the faults of the hook plugins: when they were loaded, and when they registered tools."""
    registering = [finding for finding in catalog.findings if finding.code in _CODES]
    return list(dict.fromkeys([*hooks.findings, *registering]))


def require_hooks(hooks: Hooks, catalog: Catalog | None = None) -> None:
    """Check that every enabled hook plugin can be used: it may be the one that makes the others safe.

    Raises:
        Denied: one cannot.
    """
    findings = faults_of(hooks, catalog) if catalog is not None else hooks.findings
    if has_errors(findings):
        raise Denied("a hook plugin that is switched on cannot be used, so nothing runs", findings=findings)


def _left_out(switched_on: Iterable[SwitchedOn]) -> Iterable[str]:
    for hook in switched_on:
        if hook.level == "user":
            yield f"--no-plugins: the hook plugin {hook.word} is left out ({hook.origin})"
        else:
            yield f"--no-plugins: the hook plugin {hook.word} stays, which the {hook.level} file asks for"


HOOK = "strands_plan_checks"
PLAN_CHECK = Code(
    "plan-check",
    "A check of a hook plugin finds something wrong with the plan.",
    "Do what the finding says.",
)


def check_plan(hooks: Hooks, plan: ResolvedWorkflow, document: Document) -> list[Finding]:
    """Return the findings of the plugins about a plan, each at its place in the workflow."""
    if not hooks.implementers(HOOK):
        return []
    agents = tuple(
        PlannedAgentFacts(agent.id, model.provider, model.model_id or "", tuple(tool.reference for tool in agent.tools))
        for agent in plan.agents.values()
        for model in agent.models
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
