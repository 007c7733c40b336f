"""The progress of a run for `runs show --follow`: a line for each effect that begins or ends."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from strands_cli.cli.commands.run_lines.summary_lines import (
    effect_document,
    end_lines,
    fact_lines,
    moment,
    summary_document,
)
from strands_cli.cli.commands.run_lines.tree_lines import money, result_columns, text_of
from strands_cli.cli.output.results import json_text, print_result
from strands_cli.cli.terminal_text import fitted, one_line
from strands_cli.errors import RunRecordError
from strands_cli.run_views.open_questions import questions_of
from strands_cli.run_views.opened_runs import tree_of
from strands_cli.texts.phrases import duration
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.engine.store_port import RunStore, StoredJournal
    from strands_cli.engine.stored_runs.summary import RunSummary
    from strands_cli.run_views.opened_runs import Branch

# How often is looked, and how much longer than a look took is waited, so that the run itself has the machine.
LOOK_S, SHARE = 0.2, 10
# How long one call waits for a change.
WAIT_S = 60.0


class Follower:
    """Prints the news of a run; it keeps the printed part of each effect, by its key."""

    def __init__(self, store: RunStore, run: str, *, full: bool, as_json: bool) -> None:
        self._store, self._run = store, run
        self._full, self._as_json = full, as_json
        self._printed: dict[str, tuple[Any, ...]] = {}

    @property
    def has_looked(self) -> bool:
        """Whether anything was found."""
        return bool(self._printed)

    def look(self) -> bool:
        """Print the news, and return whether the run goes on."""
        from strands_cli.engine.stored_runs.summary import summary_of

        with contextlib.closing(self._store.open(self._run, hold=False)) as journal:
            summary = summary_of(journal)
            lines = list(self._documents(summary) if self._as_json else self._lines(summary))
            goes_on = summary.run.status == "running"
            if not goes_on:
                lines += self._end(summary, journal)
        if lines:
            print_result("\n".join(lines))
        return goes_on

    def _new(self, summary: RunSummary) -> Iterator[Branch]:
        for top in tree_of(summary):
            for branch in top.walk():
                if branch.effect is None:
                    continue
                state = (branch.effect.row.status, branch.status, branch.effect.row.attempt)
                if self._printed.get(branch.key) != state:
                    self._printed[branch.key] = state
                    yield branch

    def _lines(self, summary: RunSummary) -> Iterator[str]:
        columns = result_columns()
        if not self._printed:
            yield one_line(f"run {summary.run.id}: {summary.run.workflow} ({summary.run.pattern})")
        for branch in sorted(self._new(summary), key=_when):
            line = printable(one_line(_line(branch)))
            yield line if columns is None else fitted(line, columns - 1)[0]

    def _documents(self, summary: RunSummary) -> Iterator[str]:
        for branch in sorted(self._new(summary), key=_when):
            yield json_text({"effect": effect_document(branch, summary, full=self._full)})

    def _end(self, summary: RunSummary, journal: StoredJournal) -> list[str]:
        if not self._as_json:
            return ["", *fact_lines(summary), *end_lines(summary, journal, full=self._full)]
        document = {**summary_document(summary, full=False), "questions": questions_of(journal)}
        return [json_text({"run": {name: value for name, value in document.items() if name != "effects"}})]


def follow_run(store: RunStore, run: str, *, full: bool, as_json: bool) -> None:
    """Print the effects of a run as they happen, until it ends or waits.

    Raises:
        RunRecordError: The run has been deleted, or its journal cannot be read.
    """
    follower, state = Follower(store, run, full=full, as_json=as_json), store.state(run)
    while True:
        began = time.monotonic()
        try:
            if not follower.look():
                return
        except RunRecordError:
            store.state(run)  # raises where the run has been deleted meanwhile
            # A process that has just begun has not written the facts of the run yet.
            if follower.has_looked or not _is_held(store, run):
                raise
        time.sleep(max(LOOK_S, SHARE * (time.monotonic() - began)))
        while (now := store.wait(state, run, wait_s=WAIT_S)) == state:
            pass
        state = now


def _is_held(store: RunStore, run: str) -> bool:
    with contextlib.closing(store.open(run, hold=False)) as journal:
        return journal.is_held()


def _when(branch: Branch) -> float:
    """Return the time of the event in a line."""
    row = branch.effect.row if branch.effect else None
    return 0.0 if row is None else row.ended_at or row.started_at


def _line(branch: Branch) -> str:
    is_over = branch.seconds is not None and branch.status != "waiting"
    usage = branch.usage.total_tokens
    spent = [duration(branch.seconds or 0.0) if is_over else "", f"{usage} tokens" if usage else "", money(branch.cost)]
    facts = ", ".join(filter(None, spent if is_over else []))
    clock = moment(_when(branch)).partition("T")[2]
    parts = [clock, f"{branch.status:8}", branch.key, f"({facts})" if facts else "", text_of(branch)]
    return "  ".join(filter(None, parts))
