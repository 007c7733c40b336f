"""A plan warns of the agent that a stranger's text could make send private data away, and of no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.catalog import Catalog, discover_catalog
from strands_cli.planning.plan_values import Plan
from tests.distributions import sound
from tests.fakes.plans import chain_of
from tests.wordings import Wording

CODE = "risky-combination"
READS = {"annotations": {"readOnlyHint": True, "openWorldHint": False}}


def able(network: list[str], *modes: str) -> dict[str, Any]:
    return {"capabilities": {"network": network, "filesystem": [{"path": ".", "mode": mode} for mode in modes]}}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    hosts = {"type": "object", "properties": {"allow_hosts": {"type": "array"}}}
    sound(tmp_path, "fetch", strands_cli=able(["*"]), annotations={"readOnlyHint": True}, config_schema=hosts)
    sound(tmp_path, "look_up", strands_cli=able(["api.example.com"]), annotations={"readOnlyHint": True})
    sound(tmp_path, "mail", strands_cli=able(["smtp.example.com"]), annotations={"destructiveHint": True})
    sound(tmp_path, "beacon", strands_cli=able(["*"]), annotations={"openWorldHint": False})
    sound(tmp_path, "notes", strands_cli=able([], "read"), **READS)
    sound(tmp_path, "save", strands_cli=able([], "write"))
    sound(tmp_path, "sums", strands_cli=able([]), **READS)
    sound(tmp_path, "dark")
    return discover_catalog([str(tmp_path)])


def warnings(plan: Plan) -> list[str]:
    found = [finding for finding in plan.findings if finding.code == CODE]
    assert all(finding.severity == "warning" for finding in found)
    return [finding.message for finding in found]


def plan_with(catalog: Catalog, tools: str, **more: Any) -> list[str]:
    agents = f"{{writer: {{prompt: w, tools: {tools}}}}}"
    return warnings(chain_of("- {agent: writer, input: go}", agents=agents, catalog=catalog, **more))


@pytest.mark.parametrize(
    "tools",
    [
        "[native:fetch, native:notes]",
        "[native:look_up, native:notes, native:mail]",
        "[native:mail, native:notes]",
        "[native:fetch, native:sums, native:notes, native:save]",
        "[native:fetch, native:dark]",
        "[native:notes, native:look_up, native:dark]",
        "[{tool: native:fetch, config: {allow_hosts: ['*']}}, native:notes]",
    ],
)
def test_one_agent_with_all_three_is_a_warning(catalog: Catalog, tools: str, wording: Wording) -> None:
    (message,) = plan_with(catalog, tools)
    wording(message)


@pytest.mark.parametrize(
    "tools",
    [
        "[]",
        "[native:fetch]",
        "[native:notes]",
        "[native:fetch, native:save, native:sums]",
        "[native:look_up, native:notes]",
        "[native:beacon, native:notes]",
        "[native:dark]",
        "[native:dark, native:notes]",
        "[native:dark, native:look_up]",
        "[{tool: native:fetch, config: {allow_hosts: [example.com]}}, native:notes]",
    ],
)
def test_two_of_the_three_are_none(catalog: Catalog, tools: str) -> None:
    assert plan_with(catalog, tools) == []


def test_the_warning_names_each_tool_for_what_it_brings_and_what_is_unknown(catalog: Catalog, wording: Wording) -> None:
    (message,) = plan_with(catalog, "[native:fetch, native:dark, native:notes]")
    wording(message)
    (message,) = plan_with(catalog, "[native:fetch, native:dark]")
    assert re.search(r"\(.*\bdark\b.*\)", message)
    wording(message)


def test_two_agents_that_share_the_tasks_are_none(catalog: Catalog) -> None:
    agents = "{reader: {prompt: r, tools: [native:fetch]}, writer: {prompt: w, tools: [native:notes]}}"
    steps = "- {agent: reader, input: go}\n- {agent: writer, input: go}"
    assert warnings(chain_of(steps, agents=agents, catalog=catalog)) == []


def test_a_tool_that_a_rule_denies_does_not_count(catalog: Catalog) -> None:
    agents = "{writer: {prompt: w, tools: [native:fetch, native:notes]}}"
    rest = "security: {permissions: {deny: [fetch]}}"
    assert warnings(chain_of("- {agent: writer, input: go}", agents=agents, catalog=catalog, rest=rest)) == []


def test_a_capability_that_is_plainly_true_means_everything(tmp_path: Path) -> None:
    sound(tmp_path, "all", strands_cli={"capabilities": {"network": True, "filesystem": True}})
    sound(tmp_path, "none", strands_cli={"capabilities": {"network": False, "filesystem": True}})
    catalog = discover_catalog([str(tmp_path)])
    assert len(plan_with(catalog, "[native:all]")) == 1
    assert plan_with(catalog, "[native:none]") == []


def test_the_tools_that_a_step_names_itself_are_looked_at_with_it(catalog: Catalog, wording: Wording) -> None:
    agents = "{writer: {prompt: w, tools: []}}"
    step = "- {agent: writer, input: go, tool_overrides: [native:fetch, native:notes]}"
    (message,) = warnings(chain_of(step, agents=agents, catalog=catalog))
    wording(message)


def test_what_a_tool_is_made_of_counts(catalog: Catalog) -> None:
    agents = "{helper: {prompt: h, tools: [native:notes]}, writer: {prompt: w, tools: [native:fetch, 'agent:helper']}}"
    found = warnings(chain_of("- {agent: writer, input: go}", agents=agents, catalog=catalog))
    assert [message.partition(" reads")[0] for message in found] == ["agent 'writer'"]
