"""The lines of the list of runs: what each run was about and what it cost, read once for each state of a run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from strands_cli.api import OpenedRun, Runs, StoredRun, StrandsCliError, shortened
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.pages.run_parts import main_input

# How long one page reads journals at most, in seconds; what is left is read for the next one.
PATIENCE_S = 0.5
# How old the line of a run may be that a process works on, in seconds.
FRESH_S = 5
# The most lines that are kept.
MOST = 5000
_LONGEST = 160
_ENDED = ("completed", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class RunLine:
    """What a journal adds to a run in the list.

    Attributes:
        about: The beginning of its main input, or of its answer.
        question: The first question that waits for a person.
        cost: In US dollars; None where that of a call is unknown.
    """

    about: str = ""
    question: str = ""
    cost: float | None = 0.0


def lines_of(ui: Ui, opened: Runs, runs: Sequence[StoredRun]) -> Mapping[str, RunLine]:
    """Return the lines of runs, without those for which the time was too short."""
    until = time.perf_counter() + PATIENCE_S
    states = {run.id: (run, None if run.status in _ENDED else int(time.time() / FRESH_S)) for run in runs}
    stale = [run for run in runs if ui.lines.get(run.id, (None,))[0] != states[run.id]]
    if len(ui.lines) > MOST:
        ui.lines.clear()
    for run, journal in zip(stale, opened.open_each(run.id for run in stale), strict=False):
        line = RunLine()
        if isinstance(journal, OpenedRun):
            with journal:
                line = _line(journal, run)
        ui.lines[run.id] = states[run.id], line
        if time.perf_counter() > until:
            break
    return {run.id: ui.lines[run.id][1] for run in runs if run.id in ui.lines}


def _line(opened: OpenedRun, run: StoredRun) -> RunLine:
    try:
        about = main_input(opened.journal.get("inputs")) or str(opened.journal.get("response") or "")
        questions = opened.questions() if run.status == "waiting" else ()
        costs = [effect.row.cost for effect in opened.effects() if effect.row.kind == "model" and effect.row.paid_calls]
        return RunLine(
            about=shortened(opened.redactor.text(" ".join(about[:2000].split())), _LONGEST),
            question=shortened(" ".join(str(questions[0]["prompt"]).split()), _LONGEST) if questions else "",
            cost=None if None in costs else sum(cost for cost in costs if cost),
        )
    except (StrandsCliError, LookupError, TypeError, ValueError, AttributeError):  # its own page says what is damaged
        return RunLine(cost=None)
