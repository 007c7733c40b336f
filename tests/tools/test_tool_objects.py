"""Where earlier calls have used an object that is gone, a person decides whether the next call gets a new one."""

from __future__ import annotations

from typing import Any

import pytest

from strands_cli.engine.effects.effect import NeedsDecision
from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.engine.ports import SystemClock
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.engine.waiting.questions import cut_off_call, open_decisions, redo_call, skip_call
from strands_cli.errors import WaitingForPerson
from tests.agents.kit import RunContext, Script, Site, asking, run, text
from tests.tools.test_agent_changes import answers, waits

# A class with what it keeps; `peek` only reads.
SHELF = """
from strands import tool
from strands_tool_kit import tool_metadata

class Shelf:
    def __init__(self):
        self.seen = []

    @tool
    def count(self, text: str) -> str:
        '''Count.'''
        self.seen.append(text)
        return str(len(self.seen))

    @tool
    @tool_metadata(idempotent=True)
    def put(self, text: str) -> str:
        '''Put.'''
        self.seen = [text]
        return "put"

    @tool
    @tool_metadata(read_only=True)
    def peek(self) -> str:
        '''Look.'''
        return str(self.seen)
"""
# A tool of the SDK's own form, which counts its calls.
OWN = """
from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool

class Counter(AgentTool):
    calls = 0
    tool_name, tool_type = "shelf", "python"
    tool_spec = {"name": "shelf", "description": "Count.", "inputSchema": {"json": {"type": "object"}}}

    async def stream(self, tool_use, invocation_state, **kwargs):
        self.calls += 1
        content = [{"text": str(self.calls)}]
        yield ToolResultEvent({"toolUseId": tool_use["toolUseId"], "status": "success", "content": content})
"""
# A function that counts in a variable of its module, which is not an object.
MODULE = """
from strands import tool

CALLS = []

@tool
def shelf() -> str:
    '''Count.'''
    CALLS.append(1)
    return str(len(CALLS))
"""
# Another tool asks, so that the object is not called before the run goes on.
ASKS = "from strands import tool, ToolContext\n@tool(context=True)\ndef wait(tool_context: ToolContext) -> str:\n"
ASKS += "    '''Asks.'''\n    return tool_context.interrupt('sure')\n"
NAMES = ("count", "put", "peek")
Calls = list[Any]
COUNT: Calls = [("count", {"text": "a"})]
PUT: Calls = [("put", {"text": "a"})]
PEEK: Calls = [("peek", {})]
WAIT: Calls = [("wait", {})]


def install(site: Site, source: str = SHELF, *refs: str, entry: str | None = ":Shelf") -> Any:
    site.install(source, name="shelf", entry=entry, manifest=False)
    site.install(ASKS, name="wait", manifest=False)
    return site.plan("native:wait", *(refs or [f"native:shelf.{name}" for name in NAMES]))


def stopped(planned: Any, *before: Calls) -> MemoryJournal:
    """Make calls until a tool asks, and return the journal."""
    journal = MemoryJournal()
    with pytest.raises(WaitingForPerson):
        asking(Script(*before, WAIT, "never"), *planned, host=RunContext(waits, journal=journal))
    return journal


def resumed(planned: Any, journal: MemoryJournal, *after: Calls) -> Script:
    """Go on with new objects, as another process has them."""
    model = Script(*after, "done")
    asking(model, *planned, host=RunContext(answers, journal=journal))
    return model


def second_waits(question: Question) -> Answer:
    """Answer the first question of the tool that asks, and not the second."""
    return waits(question) if ".3." in question.key else answers(question)


def undecided(planned: Any, journal: MemoryJournal, *after: Calls) -> str:
    """Go on until the run needs a decision about a call, and return its key."""
    with pytest.raises(NeedsDecision) as raised:
        resumed(planned, journal, *after)
    (row,) = open_decisions(journal)
    assert f"--redo {row.key}" in str(raised.value.fix)
    return row.key


def test_the_next_call_of_a_used_object_needs_a_decision_before_it_is_made(site: Site) -> None:
    planned = install(site)
    journal = stopped(planned, COUNT, COUNT)
    key = undecided(planned, journal, COUNT)
    assert key == "steps.0/tool.3.count"
    assert undecided(planned, journal) == key, "as long as nobody decides"
    run(redo_call(journal, cut_off_call(journal, key)))
    assert text(resumed(planned, journal).results[0]) == "1", "a new object"


@pytest.mark.parametrize("after", [COUNT, PUT, PEEK], ids=["acts", "idempotent", "reads"])
@pytest.mark.parametrize("before", [COUNT, PUT], ids=["acted", "was-idempotent"])
def test_whatever_the_next_call_does_it_needs_what_was_left(site: Site, before: Calls, after: Calls) -> None:
    planned = install(site)
    undecided(planned, stopped(planned, before), after)


def test_a_person_decides_once_about_what_is_lost(site: Site) -> None:
    planned = install(site)
    journal = stopped(planned, COUNT)
    run(redo_call(journal, cut_off_call(journal, undecided(planned, journal, PEEK))))
    with pytest.raises(WaitingForPerson) as raised:
        asking(Script(WAIT, "never"), *planned, host=RunContext(second_waits, journal=journal))
    assert not isinstance(raised.value, NeedsDecision)
    assert text(resumed(planned, journal, PEEK).results[-1]) == "[]"


def test_what_is_left_after_the_decision_is_asked_about_again(site: Site) -> None:
    planned = install(site)
    journal = stopped(planned, COUNT)
    run(redo_call(journal, cut_off_call(journal, undecided(planned, journal, COUNT))))
    with pytest.raises(WaitingForPerson):
        asking(Script(WAIT, "never"), *planned, host=RunContext(second_waits, journal=journal))
    assert undecided(planned, journal, PEEK) == "steps.0/tool.4.peek"


def test_a_call_that_is_skipped_does_not_decide_about_the_next_one(site: Site) -> None:
    planned = install(site)
    journal = stopped(planned, COUNT)
    run(skip_call(journal, SystemClock(), cut_off_call(journal, undecided(planned, journal, COUNT)), "7"))
    assert undecided(planned, journal, PEEK) == "steps.0/tool.3.peek"


def test_calls_of_one_turn_are_decided_together(site: Site) -> None:
    planned = install(site)
    journal = stopped(planned, COUNT)
    with pytest.raises(NeedsDecision):
        resumed(planned, journal, [*COUNT, *PEEK])
    for call in open_decisions(journal):
        run(redo_call(journal, call))
    assert {text(result) for result in resumed(planned, journal).results} >= {"1"}


@pytest.mark.parametrize(
    ("before", "after"),
    [([], [COUNT, PEEK]), ([PEEK], [COUNT, PEEK]), ([COUNT], [])],
    ids=["only-called-after-the-stop", "only-read-before", "not-called-any-more"],
)
def test_an_object_of_which_nothing_is_lost_needs_no_decision(
    site: Site, before: list[Calls], after: list[Calls]
) -> None:
    planned = install(site)
    model = resumed(planned, stopped(planned, *before), *after)
    assert not after or text(model.results[-1]) == "['a']"


def test_a_tool_of_an_own_class_of_the_sdk_is_an_object(site: Site) -> None:
    call: Calls = [("shelf", {})]
    planned = install(site, OWN, "native:shelf", entry=":Counter")
    undecided(planned, stopped(planned, call), call)


def test_a_function_of_a_module_is_not_an_object(site: Site) -> None:
    call: Calls = [("shelf", {})]
    planned = install(site, MODULE, "native:shelf", entry=":shelf")
    resumed(planned, stopped(planned, call), call)
