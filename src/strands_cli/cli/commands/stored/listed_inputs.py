"""The inputs of listed runs, short, by which a person tells runs of one workflow apart."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.cli.text_layout import one_line
from strands_cli.errors import RunRecordError
from strands_cli.texts.phrases import short_json, shortened

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore, StoredJournal, StoredRun

# The journals of so many runs are opened for a list; a list of more has no inputs of the older ones.
MOST_RUNS = 40
_VALUE, _ALL = 40, 120
# The journal of a run that hides values names what it hides.
_HIDING = ("secret_variables", "secret_files", "hides_personal_data")


def inputs_of(store: RunStore, runs: Sequence[StoredRun]) -> dict[str, str]:
    """Return the inputs of the first runs by the id of the run, of each workflow that hides nothing."""
    from strands_cli.engine.stored_runs.many_journals import journals_of

    first = [run.id for run in runs[:MOST_RUNS]]
    found: dict[str, str] = {}
    for run, journal in zip(first, journals_of(store, first), strict=True):
        if isinstance(journal, RunRecordError):
            continue
        with contextlib.closing(journal), contextlib.suppress(RunRecordError):
            found[run] = _inputs_in(journal)
    return found


def _inputs_in(journal: StoredJournal) -> str:
    inputs = journal.get("inputs")
    if any(journal.get(name) for name in _HIDING) or not isinstance(inputs, Mapping):
        return ""
    return shortened(", ".join(f"{name}={_shown(value)}" for name, value in inputs.items()), _ALL)


def _shown(value: Any) -> str:
    return shortened(one_line(value), _VALUE) if isinstance(value, str) else short_json(value, _VALUE)
