"""What a person decides about all calls of a tool that were cut off in the rows of a batch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.engine.denials import tool_of
from strands_cli.engine.ports.clock import SystemClock
from strands_cli.engine.waiting.cut_off_calls import give_up, open_decisions, redo_call, skip_call
from strands_cli.errors import UsageError, suggest

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore, StoredJournal

Decision = tuple[Any, ...]
"""`redo`, `skip` or `fail`, and the result of a call that is skipped, if there is one."""

SKIPPED = "this call was cut off or has lost its object, and a person has decided not to make it"


async def decide_rows(store: RunStore, runs: Iterable[str], decisions: Mapping[str, Decision]) -> int:
    """Store what is decided about the cut-off calls of some tools, in the runs of rows; return how many there were.

    Args:
        runs: Those that wait for a decision.
        decisions: What to do, by the name of the tool.

    Raises:
        UsageError: No call of a tool was cut off.
        RunRecordError: Another process works on a row.
    """
    found: dict[str, int] = {}
    for run_id in runs:
        with contextlib.closing(store.open(run_id)) as journal:
            await _decide(journal, decisions, found)
    for tool in decisions:
        if not found.get(tool):
            known = f"these have some: {', '.join(sorted(found))}" if found else "no call of the batch was cut off"
            raise UsageError(f"no call of {tool!r} was cut off", fix=suggest(tool, found, known))
    return sum(found[tool] for tool in decisions)


async def _decide(journal: StoredJournal, decisions: Mapping[str, Decision], found: dict[str, int]) -> None:
    given_up = []
    for call in open_decisions(journal):
        tool = tool_of(call.key)
        found[tool] = found.get(tool, 0) + 1
        what, *given = decisions.get(tool, ("",))
        if what == "redo":
            await redo_call(journal, call)
        elif what == "skip":
            await skip_call(journal, SystemClock(), call, given[0] if given else SKIPPED)
        elif what == "fail":
            given_up.append(call)
    if given_up:
        give_up(journal, SystemClock(), given_up)
