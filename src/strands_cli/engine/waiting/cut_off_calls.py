"""What a person decides about calls that did not end, or whose object is gone: redo, skip, give up."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from strands_cli.engine.denials import tool_of
from strands_cli.engine.effects.budget import REUSED, worked_before
from strands_cli.engine.effects.effect import LOST, UNDECIDED, WITHOUT
from strands_cli.engine.journal.journal_rows import Clock, Journal, Row, in_order_of_request
from strands_cli.errors import UsageError, suggest


def open_decisions(journal: Journal) -> list[Row]:
    """Return the calls that only a person can decide on."""
    return [row for row in journal.rows("tool") if row.status == "started" and row.detail.get(UNDECIDED)]


def cut_off_call(journal: Journal, key: str) -> Row:
    """Return a call that began and did not end.

    Raises:
        UsageError: The key does not name such a call.
    """
    row = journal.row(key)
    if row is not None and row.kind == "tool" and row.status == "started":
        return row
    cut_off = [row.key for row in journal.rows("tool") if row.status == "started"]
    if row is not None:
        raise UsageError(f"{key} is {row.status}; there is nothing to decide", fix=_among(key, cut_off))
    raise UsageError(f"the run has no {key}", fix=_among(key, cut_off))


def _among(key: str, cut_off: list[str]) -> str | None:
    known = f"these wait for a decision: {', '.join(cut_off)}" if cut_off else "no call of the run waits for a decision"
    return suggest(key, cut_off, known)


async def redo_call(journal: Journal, call: Row) -> None:
    """Record that a call is made again when the run is resumed."""
    store_worked(journal)
    detail = {**_facts(call), "error": "cut off; a person decided to do it again"}
    if LOST in call.detail:
        detail |= {
            WITHOUT: call.detail[LOST],
            "error": "its object is lost; a person decided to make it with a new one",
        }
    await journal.write(dataclasses.replace(call, status="failed", detail=detail))


async def skip_call(journal: Journal, clock: Clock, call: Row, result: Any) -> None:
    """Record the result of a call: a whole tool result, a text, or JSON."""
    store_worked(journal)
    whole = isinstance(result, dict) and result.get("status") in ("success", "error") and _is_content(result)
    block = {"text": result} if isinstance(result, str) else {"json": result}
    output = (
        {name: result[name] for name in ("status", "content")} if whole else {"status": "success", "content": [block]}
    )
    detail = {**_facts(call), "decision": "skip", "rule": "given by a person"}
    await journal.write(dataclasses.replace(call, status="done", output=output, detail=detail, ended_at=clock.now()))


def _facts(call: Row) -> dict[str, Any]:
    """Return what the row keeps of the call for those who look at the run."""
    return {name: value for name, value in call.detail.items() if name not in (UNDECIDED, LOST)}


def _is_content(result: dict[str, Any]) -> bool:
    content = result.get("content")
    return isinstance(content, list) and all(isinstance(block, dict) for block in content)


def give_up(journal: Journal, clock: Clock, calls: Iterable[Row]) -> str:
    """Record that the run has failed with these interrupted calls; return the reason."""
    reason = f"a person gave up on {', '.join(call.key for call in calls)}"
    store_worked(journal)
    journal.put(status="failed", reason=reason, ended_at=clock.now())
    return reason


async def decide_calls(journal: Journal, clock: Clock, decisions: Mapping[str, tuple[Any, ...]]) -> list[str]:
    """Store what is decided about the cut-off calls of some tools; return the tool of each cut-off call of the run.

    Args:
        decisions: `redo`, `skip` with the result, or `fail`, by the name of the tool.
    """
    calls, given_up = open_decisions(journal), []
    for call in calls:
        what, *given = decisions.get(tool_of(call.key), ("",))
        if what == "redo":
            await redo_call(journal, call)
        elif what == "skip":
            await skip_call(journal, clock, call, *given)
        elif what == "fail":
            given_up.append(call)
    if given_up:
        give_up(journal, clock, given_up)
    return [tool_of(call.key) for call in calls]


def store_worked(journal: Journal) -> None:
    """Store how long a killed process worked, before a new row makes the time until now look like work."""
    journal.put(worked_s=worked_before(journal), session_started_at=None)


def rows_before(journal: Journal, key: str, steps: Collection[str] = ()) -> list[Row]:
    """Return the rows that a new run from `key` on takes over: those finished earlier, without the steps around it.

    The rows are marked as reused, since the other run has paid for them. A step that failed before its first effect
    has no row; everything that is finished is before it.

    Args:
        steps: The keys of the workflow's steps.

    Raises:
        UsageError: The run does not have the key.
    """
    rows = in_order_of_request(journal.rows())
    places = [place for place, row in enumerate(rows) if row.key == key]
    if not places and key.partition("#")[0] in steps:
        places = [len(rows)]
    if not places:
        keys = [row.key for row in rows]
        steps = ", ".join(one for one in keys if "/" not in one)
        raise UsageError(f"the run has no {key}", fix=suggest(key, keys, f"its steps are: {steps}"))
    before = [row for row in rows[: places[0]] if row.status == "done" and not key.startswith(f"{row.key}/")]
    return [dataclasses.replace(row, detail={**row.detail, REUSED: True}) for row in before]
