"""What calls leave behind in their agent is there again when a run goes on."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import WaitingForPerson
from tests.agents.kit import RunContext, Script, Site, asking, error, text

SOURCE = """
import asyncio, json
from strands import tool, ToolContext

@tool(context=True)
def put(name: str, value: str, tool_context: ToolContext) -> str:
    '''Puts.'''
    tool_context.agent.state.set(name, json.loads(value))
    return 'put'

@tool(context=True)
def drop(name: str, tool_context: ToolContext) -> str:
    '''Drops.'''
    tool_context.agent.state.delete(name)
    return 'dropped'

@tool(context=True)
def show(tool_context: ToolContext) -> str:
    '''Shows.'''
    return json.dumps(tool_context.agent.state.get(), sort_keys=True)

@tool(context=True)
def ask(tool_context: ToolContext) -> str:
    '''Asks.'''
    return tool_context.interrupt('sure')

@tool(context=True)
def outer(tool_context: ToolContext) -> str:
    '''Calls.'''
    tool_context.agent.state.set('before', 1)
    tool_context.agent.tool.put(name='inside', value='2')
    tool_context.agent.state.set('after', 3)
    return 'called'

@tool
def extra(text: str = 'x') -> str:
    '''Is late.'''
    return 'extra ' + text

@tool(name='another')
def another_one() -> str:
    '''Is late.'''
    return 'another'

@tool(context=True)
def adder(name: str, tool_context: ToolContext) -> str:
    '''Registers.'''
    registry = tool_context.agent.tool_registry
    if name == 'nothing':
        registry.registry.pop('extra')
    else:
        registry.register_tool({'extra': extra, 'another': another_one}[name])
    return 'added'
"""
NAMES = ("put", "drop", "show", "ask", "outer", "adder")


def install(site: Site) -> Any:
    site.install(SOURCE, name="all", manifest=False)
    return site.plan(*(f"native:all.{name}" for name in NAMES))


def waits(question: Question) -> Answer:
    return Answer("waiting")


def answers(question: Question) -> Answer:
    return Answer("answered", "yes")


def resumed(planned: Any, before: list[Any], after: list[Any], journal: Any = None) -> tuple[Script, RunContext]:
    """Make calls until a tool asks, and go on in what the journal sees as another process."""
    journal = journal or MemoryJournal()
    with pytest.raises(WaitingForPerson):
        asking(Script(*before, [("ask", {})], "never"), *planned, host=RunContext(waits, journal=journal))
    model, host = Script(*after), RunContext(answers, journal=journal)
    asking(model, *planned, host=host)
    return model, host


def put(name: str, value: str) -> tuple[str, dict[str, str]]:
    return "put", {"name": name, "value": value}


@pytest.mark.parametrize(
    ("calls", "state"),
    [
        ([[put("a", "1")]], '{"a": 1}'),
        ([[put("a", "1"), put("a", "true")]], '{"a": true}'),
        ([[put("a", '{"b": [1, 2.5, null]}')], [put("c", '"d"')]], '{"a": {"b": [1, 2.5, null]}, "c": "d"}'),
        ([[put("a", "1"), put("b", "2")], [("drop", {"name": "a"})]], '{"b": 2}'),
        ([[put("a", "1")], [("drop", {"name": "a"})], [put("a", "3")]], '{"a": 3}'),
        ([[("outer", {})]], '{"after": 3, "before": 1, "inside": 2}'),
    ],
)
def test_the_state_of_an_agent_is_there_again(site: Site, calls: list[Any], state: str) -> None:
    planned = install(site)
    model, _ = resumed(planned, calls, [[("show", {})], "done"])
    assert text(model.results[0]) == state


def test_the_state_survives_in_a_journal_on_disk_also_if_it_is_large(site: Site, tmp_path: Any) -> None:
    planned, large = install(site), '"' + "x" * 200_000 + '"'
    journal = SqliteJournal.create(tmp_path / "run")
    try:
        model, _ = resumed(planned, [[put("a", large)]], [[("show", {})], "done"], journal)
    finally:
        journal.close()
    with closing(SqliteJournal.open(tmp_path / "run", hold=False)) as journal:
        row = next(iter(journal.rows("tool")))
        assert row.output["agent"]["state"]["set"] == {"a": "x" * 200_000}
    assert "x" * 1000 in text(model.results[0])


def test_a_call_that_changes_nothing_stores_nothing_more(site: Site) -> None:
    host = RunContext()
    asking(Script([put("a", "1")], [put("a", "1")], [("show", {})], "done"), *install(site), host=host)
    assert ["agent" in row.output for row in host.rows("tool").values()] == [True, False, False]


def test_a_tool_that_came_late_is_offered_again_and_says_what_has_become_of_it(site: Site) -> None:
    """The requests are the same, so that the run goes on; the code is in the process that has ended."""
    journal, planned = MemoryJournal(), install(site)
    before = [[("adder", {"name": "extra"})], [("extra", {})], [("adder", {"name": "another"})]]
    model, _ = resumed(planned, before, [[("extra", {})], "done"], journal)
    assert [spec["name"] for spec in model.requests[0]["tools"]][-2:] == ["another", "extra"]
    assert error(model.results[0])["code"] == "unavailable"
    assert "adder" in text(model.results[0])
    again = Script([("adder", {"name": "extra"})], [("extra", {"text": "b"})], "done")
    journal = MemoryJournal()
    model, _ = resumed(planned, before, again.turns, journal)
    assert text(model.results[0]) == "extra b", "registered again, it is called"


def test_a_tool_that_was_taken_out_is_not_offered_again(site: Site) -> None:
    before = [[("adder", {"name": "extra"})], [("adder", {"name": "nothing"})]]
    model, _ = resumed(install(site), before, ["done"])
    assert "extra" not in [spec["name"] for spec in model.requests[0]["tools"]]
