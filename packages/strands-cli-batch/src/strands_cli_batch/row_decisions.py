"""A person's decisions on all cut-off calls of a tool in the rows of a batch."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.api import UsageError, suggest
from strands_cli_batch.command_parts import PARTS

if TYPE_CHECKING:
    from strands_cli.api import RunStore

Decision = tuple[Any, ...]
"""`redo`, `skip` or `fail`, and the result of a call that is skipped, if there is one."""

SKIPPED = "this call was cut off or has lost its object, and a person has decided not to make it"


async def decide_rows(store: RunStore, runs: Iterable[str], decisions: Mapping[str, Decision]) -> int:
    """Store the decisions on the cut-off calls of some tools, in the runs of rows; return how many there were.

    Args:
        runs: Those that wait for a decision.
        decisions: The decision, by the name of the tool.

    Raises:
        UsageError: No call of a tool was cut off.
        RunRecordError: Another process works on a row.
    """
    decided: Counter[str] = Counter()
    for run_id in runs:
        with contextlib.closing(store.open(run_id)) as journal:
            decided.update(await PARTS.decide(journal, _explained(decisions)))
    for tool in decisions:
        if not decided[tool]:
            hint = f"these have some: {', '.join(sorted(decided))}" if decided else "no call of the batch was cut off"
            raise UsageError(f"no call of {tool!r} was cut off", fix=suggest(tool, decided, hint))
    return sum(decided[tool] for tool in decisions)


def _explained(decisions: Mapping[str, Decision]) -> dict[str, Decision]:
    """Return decisions in which each skipped call has a result: the model reads why there is no other one."""
    return {tool: (*decision, SKIPPED) if decision == ("skip",) else decision for tool, decision in decisions.items()}
