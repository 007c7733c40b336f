"""What policy says of tools that are about to be adopted, and which names are taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from strands_cli.catalog.adopted.adopted_file import AdoptedFile
from strands_cli.catalog.catalog import Catalog
from strands_cli.hooks.hook_values import HookContext
from strands_cli.hooks.manager import Hooks
from strands_cli.planning.planned_tools.policy_requests import request_of
from strands_cli.planning.resolve.single_tool import installed_tool
from strands_cli.plugins.adopt.candidates import Survey
from strands_cli.policy.rules.rule import Rule

SOURCE = "adopted"


def denying_rules(found: Survey, catalog: Catalog, rules: Sequence[Rule], hooks: Hooks) -> dict[str, str]:
    """Return the words of the rule that denies a tool, by the tool's entry."""
    denied: dict[str, str] = {}
    for one in found.adoptable:
        record = one.record(found.found)
        request = request_of(installed_tool(record, catalog, f"native:{one.name}"))
        request = replace(request, sources=frozenset({*request.sources, SOURCE}))
        decision = hooks.allow_tool(record, f"native:{one.name}", HookContext(rules=tuple(rules), request=request))
        if decision.effect == "deny":
            denied[one.entry] = str(decision.rule)
    return denied


def names_of_others(distribution: str, catalog: Catalog, adopted: AdoptedFile) -> set[str]:
    """Return the tool names that other distributions have here."""
    others = {name for key, one in adopted.distributions.items() if key != distribution for name in one.tools}
    return others | {record.name for record in catalog.tools if record.distribution != distribution}
