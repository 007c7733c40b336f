"""What calls leave in the objects of their tools is there again when a run goes on, or a person is asked."""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import RunFailed, WaitingForPerson
from strands_cli.events import RunWarning
from strands_cli.tools.calls.object_values import as_data, from_data
from tests.agents.kit import RunContext, Script, Site, asking, text
from tests.tools.test_agent_changes import answers, waits

KEEPING = """
import sqlite3
from dataclasses import dataclass
from strands import tool

@dataclass
class Item:
    text: str

class Shelf:
    def __init__(self):
        self.seen, self.items, self.names, self.client, self.lazy = [], [], {"first"}, object(), None
        self.first = True

    @tool
    def count(self, text: str) -> str:
        '''Counts.'''
        self.seen.append(text)
        self.names.add(text)
        if hasattr(self, "first"):
            del self.first
        return str(len(self.seen))

    @tool
    def item(self, text: str) -> str:
        '''Keeps an object.'''
        self.items.append(Item(text))
        return str(len(self.items))

    @tool
    def connect(self) -> str:
        '''Keeps a connection.'''
        self.lazy = self.lazy or sqlite3.connect(":memory:", check_same_thread=False)
        return "connected"

    @tool
    def peek(self) -> str:
        '''Looks.'''
        self.client = object()
        return f"{self.seen} {sorted(self.names)} {len(self.items)} {hasattr(self, 'first')}"

    def close(self):
        if self.lazy:
            self.lazy.close()
"""
NAMES = ("count", "item", "connect", "peek")
# Another tool asks, so that the object is not called before the run goes on.
ASKS = "from strands import tool, ToolContext\n@tool(context=True)\ndef wait(tool_context: ToolContext) -> str:\n"
ASKS += "    '''Asks.'''\n    return tool_context.interrupt('sure')\n"


def install(site: Site, source: str = KEEPING) -> Any:
    site.install(source, name="shelf", entry=":Shelf", manifest=False)
    site.install(ASKS, name="wait", manifest=False)
    return site.plan("native:wait", *(f"native:shelf.{name}" for name in NAMES))


def resumed(planned: Any, before: list[Any], *after: Any, journal: Any = None, person: Any = answers) -> Any:
    """Make calls until a tool asks, and go on in what the journal sees as another process."""
    journal = journal or MemoryJournal()
    with pytest.raises(WaitingForPerson):
        asking(Script(*before, [("wait", {})], "never"), *planned, host=RunContext(waits, journal=journal))
    model, host = Script(*after, "done"), RunContext(person, journal=journal)
    asking(model, *planned, host=host)
    return model, host


def count(text: str) -> list[Any]:
    return [("count", {"text": text})]


ITEM, PEEK, CONNECT = [("item", {"text": "a"})], [("peek", {})], [("connect", {})]


def test_plain_values_are_there_again(site: Site) -> None:
    model, host = resumed(install(site), [count("a"), count("b")], PEEK)
    assert text(model.results[0]) == "['a', 'b'] ['a', 'b', 'first'] 0 False"
    assert not host.of(RunWarning)
    assert len(host.questions) == 1, "only the tool's own"


def test_they_are_there_after_each_further_process(site: Site) -> None:
    journal, planned = MemoryJournal(), install(site)
    turns = [count("a"), [("wait", {})], count("b"), [("wait", {})], PEEK, "done"]

    def answering(key: str) -> Any:
        return lambda question: answers(question) if key in question.key else waits(question)

    for first, answered in ((0, "none"), (2, ".1.wait")):
        with pytest.raises(WaitingForPerson):
            asking(Script(*turns[first:]), *planned, host=RunContext(answering(answered), journal=journal))
    model = Script(*turns[4:])
    asking(model, *planned, host=RunContext(answering(".3.wait"), journal=journal))
    assert text(model.results[0]).startswith("['a', 'b'] ")


def test_calls_side_by_side_leave_the_latest(site: Site) -> None:
    turn = [("count", {"text": str(n)}) for n in range(8)]
    model, _ = resumed(install(site), [turn], PEEK)
    assert text(model.results[0]).count("'") == 2 * (8 + 9)


def test_a_call_that_changes_nothing_stores_nothing_more(site: Site) -> None:
    host = RunContext()
    asking(Script(count("a"), PEEK, "done"), *install(site), host=host)
    assert ["object" in row.output for row in host.rows("tool").values()] == [True, False]
    assert next(iter(host.rows("tool").values())).output["object"]["set"].keys() == {"seen", "names"}


def about_objects(answer: Answer) -> Any:
    """Answer what a tool asks, and the questions about objects in another way."""
    return lambda question: answer if question.key.endswith("/object") else answers(question)


def test_what_cannot_be_restored_is_asked_about_before_the_next_call(site: Site) -> None:
    model, host = resumed(install(site), [ITEM], PEEK, PEEK)
    assert [question.key for question in host.questions][1:] == ["steps.0/tool.2.peek/object"]
    assert "items (" in host.questions[1].prompt
    assert "] 0 " in text(model.results[0])


NUMBERS = """
import itertools
from strands import tool

class Shelf:
    def __init__(self):
        self.numbers = itertools.count(1)

    @tool
    def number(self) -> int:
        '''Gives the next number.'''
        return next(self.numbers)
"""


def test_a_value_of_the_standard_library_that_is_not_stored_is_asked_about(site: Site) -> None:
    site.install(NUMBERS, name="shelf", entry=":Shelf", manifest=False)
    site.install(ASKS, name="wait", manifest=False)
    number: list[Any] = [("number", {})]
    _, host = resumed(site.plan("native:wait", "native:shelf.number"), [number], number)
    assert [question.key for question in host.questions][1:] == ["steps.0/tool.2.number/object"]
    assert "numbers (itertools.count)" in host.questions[1].prompt
    assert not host.of(RunWarning)


def test_a_person_may_end_the_run_there(site: Site) -> None:
    with pytest.raises(RunFailed):
        resumed(install(site), [ITEM], PEEK, person=about_objects(Answer("answered", "no", reason="no")))


def test_without_a_person_the_run_waits_there(site: Site) -> None:
    journal, planned = MemoryJournal(), install(site)
    with pytest.raises(WaitingForPerson):
        resumed(planned, [ITEM], PEEK, journal=journal, person=about_objects(Answer("nobody")))
    row = journal.row("steps.0/tool.2.peek/object")
    assert row is not None
    assert row.status == "waiting"
    model = Script("done")
    asking(model, *planned, host=RunContext(answers, journal=journal))
    assert "] 0 " in text(model.results[0])


def test_a_person_is_asked_once(site: Site) -> None:
    journal, planned = MemoryJournal(), install(site)

    def later(question: Question) -> Answer:
        return waits(question) if ".3." in question.key else answers(question)

    with pytest.raises(WaitingForPerson):
        resumed(planned, [ITEM], PEEK, [("wait", {})], journal=journal, person=later)
    host = RunContext(answers, journal=journal)
    asking(Script(PEEK, "done"), *planned, host=host)
    assert [question.key for question in host.questions] == ["steps.0/tool.3.wait/interrupt.0"]


def test_an_object_that_is_not_called_again_is_not_asked_about(site: Site) -> None:
    _, host = resumed(install(site), [ITEM])
    assert len(host.questions) == 1


def test_a_connection_that_a_call_has_made_is_a_warning(site: Site) -> None:
    _, host = resumed(install(site), [CONNECT], PEEK)
    [warning] = host.of(RunWarning)
    assert "lazy (sqlite3.Connection)" in warning.message
    assert len(host.questions) == 1


def test_an_object_that_still_holds_its_values_is_not_asked_about(site: Site) -> None:
    """A program may continue a run with the object that it began with."""
    body = KEEPING.replace("[], [], {", "[], ITEMS, {").replace("class Shelf", "ITEMS = []\nclass Shelf")
    model, host = resumed(install(site, body), [ITEM], PEEK)
    assert "] 1 " in text(model.results[0])
    assert len(host.questions) == 1


OWN_STATE = """
    def __getstate__(self):
        return {"texts": [item.text for item in self.items]}

    def __setstate__(self, state):
        self.items = [Item(text) for text in state["texts"]]

    @tool
    def item("""


def test_a_class_says_itself_what_is_stored(site: Site) -> None:
    body = KEEPING.replace("\n    @tool\n    def item(", OWN_STATE, 1)
    model, host = resumed(install(site, body), [ITEM], PEEK)
    assert "] 1 " in text(model.results[0])
    assert len(host.questions) == 1


def test_a_secret_is_not_put_back_as_something_else(site: Site) -> None:
    journal, secret = MemoryJournal(), "hidden-word"
    planned = install(site, KEEPING.replace("append(text)", "append(text + '-word')"))
    turns, host = Script(count("hidden"), [("wait", {})], "never"), RunContext(waits, journal=journal)
    with pytest.raises(WaitingForPerson):
        asking(turns, *planned, host=host, secrets=[secret])
    host = RunContext(answers, journal=journal)
    asking(Script(PEEK, "done"), *planned, host=host, secrets=[secret])
    assert "secret" in host.questions[1].prompt
    assert secret not in json.dumps([row.output for row in journal.rows("tool")])


def test_a_journal_of_an_earlier_version_has_only_a_mark(site: Site) -> None:
    journal, planned = MemoryJournal(), install(site)
    with pytest.raises(WaitingForPerson):
        asking(Script(count("a"), [("wait", {})], "never"), *planned, host=RunContext(waits, journal=journal))
    row = journal.row("steps.0/tool.0.count")
    assert row is not None
    output = {name: value for name, value in row.output.items() if name != "object"}
    journal.note(replace(row, output=output, detail={**row.detail, "kept_in_object": "0" * 64}))
    host = RunContext(answers, journal=journal)
    asking(Script(count("b"), "done"), *planned, host=host)
    assert [question.key for question in host.questions][1:] == ["steps.0/tool.2.count/object"]


NOW = datetime(2026, 11, 22, 20, 5, tzinfo=UTC)
VALUES = [
    None,
    [1, 2.5, True, "a", None],
    {"a": {"b": [1]}, "": 1},
    {1: "a", (1, 2): [3]},
    {"$set": 1},
    (1, (2,)),
    {1, 2},
    frozenset({"a"}),
    deque([1, 2], 3),
    b"\x00\xff",
    math.inf,
    Decimal("1.10"),
    NOW,
    NOW.date(),
    NOW.timetz(),
    timedelta(days=1, microseconds=5),
    UUID(int=5),
    Path("a/b"),
    Counter("aab"),
    OrderedDict(b=1, a=2),
    defaultdict(list, {"a": [1]}),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_the_same_after_the_journal(value: Any) -> None:
    again = from_data(json.loads(json.dumps(as_data(value))))
    assert again == value
    assert type(again) is type(value)
    assert getattr(again, "maxlen", None) == getattr(value, "maxlen", None)
