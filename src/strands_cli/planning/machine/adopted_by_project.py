"""Tools that the file of a project adopts: only those count that no managed or user policy denies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.planning.planned_tools.policy_requests import request_of
from strands_cli.planning.resolve.single_tool import installed_tool
from strands_cli.policy.decision import decide
from strands_cli.policy.rules.rule import Rule

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
    for one in record.members or (record,):
        decision = decide(rules, request_of(installed_tool(one, catalog, f"native:{one.ref_name}")))
        if decision.effect == "deny":
            reason = f"a project adopts it, and that is denied: {decision.rule}"
            fix = f"have the rule changed, if it should not match: strands explain policy native:{record.name}"
            return replace(record, status="broken", reason=reason, fix=fix)
    return record
