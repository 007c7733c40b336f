"""The arguments of a call in a journal of an older version, or of one that works: from the model turns of its step."""

from __future__ import annotations

import re
from typing import Any

from strands_cli.engine.ports import StoredJournal
from strands_cli.engine.stored_runs import EffectSummary

# The end of the key of a call: its number among the requests of its step, and the tool.
_CALL = re.compile(r"(?P<step>.*)/tool\.(?P<number>\d+)\.(?P<tool>[^/]*)", re.DOTALL)


def arguments_in_turns(journal: StoredJournal, key: str) -> Any:
    """Return what a model wrote as arguments of a call, or None where no turn of its step requested it."""
    call = _CALL.fullmatch(key)
    if call is None:
        return None
    number = int(call["number"])
    for row in journal.rows("model", below=call["step"]):
        if "/" in row.key.removeprefix(f"{call['step']}/"):
            continue
        requested = EffectSummary(row).calls
        if number < len(requested):
            tool, arguments = requested[number]
            return arguments if tool == call["tool"] else None
        number -= len(requested)
    return None
