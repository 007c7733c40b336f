"""This machine and its installed distributions, read once for a command and handed down."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.config import Settings, read_settings
from strands_cli.errors import Finding
from strands_cli.hooks.hook_values import HookContext
from strands_cli.planning.planned_tool import request_of
from strands_cli.planning.resolve.single_tool import installed_tool
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.decision import Policy, decide
from strands_cli.policy.rule import Rule
from strands_cli.quick_dataclass import dataclass
from strands_cli.user_files.policy_files import read_policies

if TYPE_CHECKING:
    from strands_cli.hooks.manager import Hooks


# Tools that the file of a project adopts: only those count that no managed or user policy denies.


_ABOVE = ("managed", "user")


def without_denied(catalog: Catalog, rules: Sequence[Rule]) -> Catalog:
    """Return the catalog with each tool broken that a project adopts and the operator's or the user's policy denies."""
    if not any(_is_of_project(record) for record in catalog.tools):
        return catalog
    stronger = [rule for rule in rules if rule.level in _ABOVE]
    tools = tuple(_judged(record, catalog, stronger) if _is_of_project(record) else record for record in catalog.tools)
    return replace(catalog, tools=tools)


def _is_of_project(record: ToolRecord) -> bool:
    return record.adopted is not None and record.adopted.level == "project" and record.status != "broken"


def _judged(record: ToolRecord, catalog: Catalog, rules: Sequence[Rule]) -> ToolRecord:
    for member in record.members or (record,):
        decision = decide(rules, request_of(installed_tool(member, catalog, f"native:{member.ref_name}")))
        if decision.effect == "deny":
            reason = f"a project adopts it, and that is denied: {decision.rule}"
            fix = f"have the rule changed, if it should not match: strands explain policy native:{record.name}"
            return replace(record, status="broken", reason=reason, fix=fix)
    return record


@dataclass(frozen=True, slots=True)
class Installation:
    """The parts of a plan's making besides the workflow.

    Attributes:
        catalog: The installed tools, those that hook plugins register among them.
        policy: The policy files together.
        hooks: The hook plugins in force; None where only policy answers.
        imports_providers: Whether a plan imports the model providers of distributions that the workflow names.
    """

    catalog: Catalog
    settings: Settings
    policy: Policy
    hooks: Hooks | None
    environ: Mapping[str, str]
    imports_providers: bool = True

    @classmethod
    def for_listing(cls, project: Path, request: RunRequest, *, policy: Policy | None = None) -> Installation:
        """Read this machine without the policy file of a project, but with the tools that the project adopts.

        Args:
            project: The folder of the project.
            request: As for `read_installation`.
            policy: Used instead of the policy files.

        Raises:
            Denied: A policy file is wrong.
        """
        from strands_cli.planning.machine.plan_hooks import hooks_in_force

        settings = read_settings(runs_dir=request.runs_dir, store=request.store)
        policy = policy if policy is not None else read_policies(settings, None, request.policy)
        hooks = hooks_in_force(policy, request, None)
        return cls(_tools(hooks, HookContext(None, policy.rules), project), settings, policy, hooks, os.environ)

    def hook_faults(self) -> list[Finding]:
        """Return the faults of the hook plugins."""
        if self.hooks is None:
            return []
        # It imports pluggy, which a look at a file does without.
        from strands_cli.planning.machine.plan_hooks import faults_of

        return faults_of(self.hooks, self.catalog)

    def warnings(self) -> list[Finding]:
        """Return the warnings about this machine for a command without a plan: of its policy files and hook plugins."""
        return [*self.policy.findings, *(fault for fault in self.hook_faults() if fault.severity == "warning")]

    def require_hooks(self) -> None:
        """Check that every enabled hook plugin works.

        Raises:
            Denied: one does not.
        """
        if self.hooks is not None:
            from strands_cli.planning.machine.plan_hooks import require_hooks

            require_hooks(self.hooks, self.catalog)


def without_policy(catalog: Catalog, settings: Settings, hooks: Hooks | None = None) -> Installation:
    """Return a machine without policy files, to look at workflows that do not run."""
    return Installation(catalog, settings, Policy(), hooks, os.environ, imports_providers=False)


def read_installation(
    request: RunRequest | None = None,
    folder: Path | None = None,
    *,
    file: str | None = None,
    policy: Policy | None = None,
    catalog: Catalog | None = None,
    settings: Settings | None = None,
) -> Installation:
    """Read this machine's settings and policy files, open the hook plugins, and find the tools.

    Args:
        request: Names a policy file, the directory of journals and hook plugins.
        folder: Where the policy file of a project, and the tools that it adopts, may be; None reads none.
        file: The workflow, for hook plugins.
        policy: Used instead of the policy files.
        catalog: Used instead of the installed tools.
        settings: Used instead of this machine's settings.

    Raises:
        Denied: a policy file is wrong.
    """
    from strands_cli.planning.machine.plan_hooks import hooks_in_force

    request = request or RunRequest()
    settings = settings or read_settings(runs_dir=request.runs_dir, store=request.store)
    policy = policy if policy is not None else read_policies(settings, folder, request.policy)
    hooks = hooks_in_force(policy, request, folder)
    if catalog is None:
        catalog = _tools(hooks, HookContext(file, policy.rules), folder)
    return Installation(catalog, settings, policy, hooks, os.environ)


def _tools(hooks: Hooks, context: HookContext, project: Path | None) -> Catalog:
    return without_denied(hooks.discover(context, project), context.rules)
