"""Says once in a run that a provider ended an answer with a reason that is not known here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from strands_cli.agents.model.answer_faults import unknown_end
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.errors import Code
from strands_cli.events import UNKNOWN_END_OF_ROW, RunWarning
from strands_cli.secrets.redactor import Redactor
from strands_cli.texts.phrases import shortened

UNKNOWN_END = Code(
    "unknown-end",
    "A provider ended an answer with a reason that is not known here; the answer is used as it is.",
    "Read the answer: it may be cut off or refused. What the reason means is in the documentation of the provider.",
)
_MOST_REASON = 100
# What each run has been warned of.
_WARNED: WeakKeyDictionary[Any, set[tuple[str, str]]] = WeakKeyDictionary()


def reported_end(
    events: Sequence[Mapping[str, Any]], scope: StepScope, label: str, redactor: Redactor
) -> dict[str, str]:
    """Return, for the detail of a turn's row, the reason of its end if that is not known; warn of it once in a run."""
    found = unknown_end(events)
    if found is None:
        return {}
    reason = shortened(redactor.text(found), _MOST_REASON)
    warned = _WARNED.setdefault(scope.run, set())
    if (label, reason) not in warned:
        warned.add((label, reason))
        message = f"{label} ended an answer with {reason!r}, which is not known here; the answer is used as it is"
        scope.emit(RunWarning(scope.now(), message, UNKNOWN_END, UNKNOWN_END.remedy))
    return {UNKNOWN_END_OF_ROW: reason}
