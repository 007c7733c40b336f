from __future__ import annotations

from strands_cli.engine.journal.journal_rows import Row, in_order_of_request
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.engine.waiting.questions import rows_before

# A turn of three calls of which the second waited for the first, a call inside a call, and a second turn.
BEGAN = [
    "steps.0",
    "steps.0/model.0",
    "steps.0/tool.2.look",
    "steps.0/tool.0.note/approval",
    "steps.0/tool.0.note",
    "steps.0/tool.1.sum",
    "steps.0/tool.1.sum/tool.1.look",
    "steps.0/tool.1.sum/tool.0.look",
    "steps.0/tool.1.sum/agent.a/model.0",
    "steps.0/model.1",
    "steps.0/tool.10.look",
    "steps.0/tool.3.note",
    "steps.1",
    "steps.1/tool.0.look",
]
REQUESTED = [
    "steps.0",
    "steps.0/model.0",
    "steps.0/tool.0.note/approval",
    "steps.0/tool.0.note",
    "steps.0/tool.1.sum",
    "steps.0/tool.1.sum/tool.0.look",
    "steps.0/tool.1.sum/tool.1.look",
    "steps.0/tool.1.sum/agent.a/model.0",
    "steps.0/tool.2.look",
    "steps.0/model.1",
    "steps.0/tool.3.note",
    "steps.0/tool.10.look",
    "steps.1",
    "steps.1/tool.0.look",
]


def rows(keys: list[str]) -> list[Row]:
    return [Row(key=key, kind="tool" if "tool" in key else "step", status="done", digest="") for key in keys]


def test_tool_calls_are_in_request_order_whichever_began_first() -> None:
    assert [row.key for row in in_order_of_request(rows(BEGAN))] == REQUESTED
    assert in_order_of_request(rows(REQUESTED)) == rows(REQUESTED)
    assert in_order_of_request([]) == []


def test_a_new_run_from_a_call_takes_over_the_calls_requested_before_it() -> None:
    journal = MemoryJournal()
    for row in rows(BEGAN):
        journal.note(row)
    taken = [row.key for row in rows_before(journal, "steps.0/tool.2.look")]
    assert taken == REQUESTED[1:8]
