"""Claims at the permission check: what only running code or a server says may restrict and never loosen."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from mcp.types import Tool
from strands.tools.mcp import MCPClient
from strands.tools.mcp.mcp_agent_tool import MCPAgentTool

from strands_cli.planning.planned_tool import McpTool, ObjectTool, request_of
from strands_cli.planning.resolve.single_tool import python_tool
from strands_cli.policy.decision import Decision, decide
from strands_cli.policy.rule import Rule
from strands_cli.toolref import ToolRef
from strands_cli.tools.calls.call_arguments import as_called
from strands_cli.tools.calls.permission_check import request_for
from strands_cli.tools.calls.trust import counted_claims
from strands_cli.tools.manifest_check import LoadedTool
from strands_cli.tools.tool_forms import read_object_tools
from strands_cli.workflow.steps import McpServer
from tests.agents.kit import Site, calling, error
from tests.wordings import Wording

OK = "{'status': 'success', 'content': [{'text': 'ok'}]}"
SCHEMA = "'inputSchema': {'json': {'type': 'object'}}"
# The hints are not literal in the source: only running it shows them.
COMPUTED = f"""
HINTS = dict([(word + 'Hint', True) for word in WORDS])
TOOL_SPEC = {{'name': 'echo', 'description': 'd', {SCHEMA}, 'annotations': HINTS, 'strands_cli': {{
    'capabilities': dict([('network', [])])}}}}
def echo(tool, **kwargs):
    return {OK}
"""
LITERAL = f"""
TOOL_SPEC = {{'name': 'echo', 'description': 'd', {SCHEMA}, 'annotations': {{'readOnlyHint': True}}}}
def echo(tool, **kwargs):
    return {OK}
"""
PROVIDER = """
from strands import tool
from strands_cli.metadata import tool_metadata
def provide():
    @tool
    @tool_metadata(read_only=True)
    def found() -> str:
        'Find.'
        return 'found'
    return [found]
"""


def computed(*words: str) -> str:
    return COMPUTED.replace("WORDS", repr(words))


def test_what_the_source_says_literally_counts(site: Site) -> None:
    site.install(LITERAL, manifest=False)
    assert calling(site.plan("native:echo")[0], {}, rules=())["status"] == "success"


@pytest.mark.parametrize("words", [("readOnly",), ("readOnly", "idempotent")])
def test_computed_hints_of_a_distribution_without_a_manifest_do_not_loosen(
    words: tuple[str, ...], site: Site, wording: Wording
) -> None:
    site.install(computed(*words), manifest=False)
    planned = site.plan("native:echo")[0]
    assert planned.decision.effect == "ask"  # what is planned is what happens
    wording(error(calling(planned, {}, rules=()))["message"])
    closed = Rule("deny", "*", "workflow", "f.yaml:1", capabilities=("network",))
    allowed = Rule("allow", "*", "command line", "--yes")
    assert "f.yaml:1" in error(calling(planned, {}, rules=(closed, allowed)))["message"]


def test_computed_hints_may_tighten(site: Site) -> None:
    site.install(computed("readOnly", "destructive"), manifest=False)
    assert "destructive" in error(calling(site.plan("native:echo")[0], {}, rules=()))["message"]


def test_a_lock_vouches_for_the_code_that_computes_them(site: Site) -> None:
    site.install(computed("readOnly"), manifest=False)
    (planned,) = site.plan("native:echo")
    loaded = site.load("native:echo").single_tool(planned)
    assert decide([], request_for(loaded, {})).effect == "ask"
    locked = frozenset({"strands-tool-echo"})
    assert decide([], request_for(loaded, {}, locked)).effect == "allow"
    assert decide([], request_for(loaded, {}, frozenset({"another"}))).effect == "ask"


def test_a_tool_that_a_provider_makes_while_loading_is_unknown(site: Site, wording: Wording) -> None:
    site.install(PROVIDER, name="provided", entry=":provide", manifest=False)
    (loaded,) = site.load("native:provided").offered(site.plan("native:provided"))
    assert loaded.spec["annotations"] == {"readOnlyHint": True}
    wording(decide([], request_for(loaded, {})).rule)


def test_what_a_holder_declares_is_not_declared_by_the_tools_it_makes(site: Site) -> None:
    site.install(PROVIDER, name="provided", entry=":provide", manifest=False)
    (loaded,) = site.load("native:provided").offered(site.plan("native:provided"))
    record = loaded.planned.record
    assert record is not None
    declares = replace(record, annotations={"readOnlyHint": True}, manifest="strands_tools.json")
    held = replace(loaded, planned=replace(loaded.planned, record=declares))
    assert decide([], request_for(held, {})).effect == "ask"


def test_arguments_are_explained_as_the_gate_would_have_them(site: Site) -> None:
    schema = {"type": "object", "properties": {"mode": {"type": "string", "default": "list"}}}
    when = {"properties": {"mode": {"const": "list"}}, "required": ["mode"]}
    site.install(LITERAL, {"input_schema": schema, "strands_cli": {"read_only_when": when}})
    (planned,) = site.plan("native:echo")
    assert as_called(planned, {}) == ({"mode": "list"}, True)
    assert as_called(planned, {"mode": "wipe"}) == ({"mode": "wipe"}, False)
    assert as_called(python_tool(ToolRef.parse("own:echo"), "own:echo"), {"mode": "list"}) == ({"mode": "list"}, False)


def remote() -> MCPAgentTool:
    hints = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": True}
    listed = Tool.model_validate({"name": "look", "inputSchema": {"type": "object"}, "annotations": hints})
    return MCPAgentTool(listed, MCPClient(lambda: None))  # type: ignore[arg-type,return-value]


def test_what_a_server_says_of_a_given_tool_counts_neither_when_planning_nor_at_the_call(wording: Wording) -> None:
    async def work() -> Any:
        given = await read_object_tools([remote()])
        (record,) = given.records
        return record, given.raw[record.name]

    record, raw = asyncio.run(work())
    planned = ObjectTool(name="look", ref="look", record=record, decision=Decision("ask", "x"))
    wording(decide([], request_of(planned)).rule)
    loaded = LoadedTool(planned, raw.spec, raw)
    assert counted_claims(loaded, frozenset({record.distribution})).annotations == {"openWorldHint": True}
    assert decide([], request_for(loaded, {})).effect == "ask"
    # A lock that has the server's definitions vouches for what they say; one of files, or of another server, does not.
    server = McpServer(id="notes", command="x")
    served = replace(loaded, planned=McpTool(name="look", ref="look", record=record, server=server))
    assert decide([], request_for(served, {}, frozenset({"mcp:notes"}))).effect == "allow"
    assert decide([], request_for(served, {}, frozenset({"mcp:other", "notes"}))).effect == "ask"
    assert decide([], request_for(loaded, {}, frozenset({"mcp:notes"}))).effect == "ask"
