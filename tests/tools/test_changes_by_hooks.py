"""What the SDK's hooks change in an agent is stored with the next request, so that a resumed run asks the same."""

from __future__ import annotations

import pytest

from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import WaitingForPerson
from tests.agents.kit import RunContext, Script, Site, asking
from tests.tools.test_agent_changes import answers, waits

SOURCE = """
from strands import tool, ToolContext
from strands.hooks import BeforeModelCallEvent

@tool
def b_extra() -> str:
    '''Come late.'''
    return 'extra'

@tool
def a_extra() -> str:
    '''Come later.'''
    return 'extra'

@tool(context=True)
def hook(tool_context: ToolContext) -> str:
    '''Add a hook that adds tools and counts requests.'''
    def add(event):
        count = (event.agent.state.get('count') or 0) + 1
        event.agent.state.set('count', count)
        event.agent.tool_registry.register_tool(b_extra if count == 1 else a_extra)
    tool_context.agent.hooks.add_callback(BeforeModelCallEvent, add)
    return 'hooked'

@tool(context=True)
def ask(tool_context: ToolContext) -> str:
    '''Ask.'''
    return tool_context.interrupt('sure')

@tool(context=True)
def count(tool_context: ToolContext) -> int:
    '''Count.'''
    return tool_context.agent.state.get('count')
"""


def test_a_run_goes_on_after_hooks_have_added_tools_and_state(site: Site) -> None:
    site.install(SOURCE, name="all", manifest=False)
    planned = site.plan("native:all.hook", "native:all.ask", "native:all.count")
    journal = MemoryJournal()
    first = Script([("hook", {})], [("b_extra", {})], [("count", {})], [("ask", {})], "never")
    with pytest.raises(WaitingForPerson):
        asking(first, *planned, host=RunContext(waits, journal=journal))
    offered = [[spec["name"] for spec in request["tools"]] for request in first.requests]
    assert [names[3:] for names in offered] == [[], ["b_extra"], ["a_extra", "b_extra"], ["a_extra", "b_extra"]]

    second = Script([("a_extra", {}), ("count", {})], "done")
    asking(second, *planned, host=RunContext(answers, journal=journal))
    assert [spec["name"] for spec in second.requests[0]["tools"]] == offered[-1]
    lost, counted = second.results[-2:]
    assert "registered again" in str(lost)
    assert "3" in str(counted["content"])
