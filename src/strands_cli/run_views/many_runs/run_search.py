"""Finds a text in stored runs: what they were given, asked, called and answered, why they failed, and names."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from strands_cli.engine.ports import RunStore, StoredJournal
from strands_cli.engine.stored_runs import EffectSummary, StoredRun, journals_of, stored_redactor
from strands_cli.errors import RunRecordError
from strands_cli.phrases import counted
from strands_cli.run_views.row_facts import who_of

# How much of a line is shown around what was found.
BEFORE, AFTER = 40, 100


@dataclass(frozen=True, slots=True)
class Hit:
    """A place in a run where a text was found.

    Attributes:
        run: The id of the run.
        key: The key of the effect; empty for the run itself.
        where: What part of it: `input NAME`, `request`, `answer`, `arguments`, `result`, `error`, ...
        line: The first line that has the text, cut around it; as it was stored, so it may have control characters.
    """

    run: str
    key: str
    where: str
    line: str


@dataclass(frozen=True, slots=True)
class UnreadRun:
    """A run that could not be read, or not the whole of it."""

    run: str
    problem: str


def search(store: RunStore, runs: Iterable[StoredRun], text: str) -> Iterator[Hit | UnreadRun]:
    """Yield each part of a run that has a text, upper and lower case being the same.

    One effect is in memory at a time, with the rows that the store has read ahead.
    """
    wanted = re.compile(re.escape(text), re.IGNORECASE)
    runs = list(runs)
    for run, journal in zip(runs, journals_of(store, (run.id for run in runs)), strict=True):
        try:
            if isinstance(journal, RunRecordError):
                raise journal
            with contextlib.closing(journal):
                yield from _in_run(run, journal.tolerant(), wanted)
        except RunRecordError as error:
            yield UnreadRun(run.id, error.message)


def _in_run(run: StoredRun, journal: StoredJournal, wanted: re.Pattern[str]) -> Iterator[Hit | UnreadRun]:
    facts: dict[str, Any] = {"workflow": run.workflow, "file": run.file, "reason": run.reason}
    inputs = journal.get("inputs")
    if _first_line(inputs, wanted) is not None:
        # Only now: to know the secrets, the workflow is read.
        inputs = stored_redactor(journal).json(inputs)
        facts |= {f"input {name}": value for name, value in inputs.items()} if isinstance(inputs, dict) else {}
    facts["response"] = journal.get("response")
    yield from _hits(run.id, "", facts.items(), wanted)
    damaged = 0
    for effect in map(EffectSummary, journal.rows()):
        yield from _hits(run.id, effect.row.key, _parts(effect), wanted)
        damaged += effect.damage is not None
    if damaged:
        yield UnreadRun(run.id, damaged_rows(run, damaged))


def damaged_rows(run: StoredRun, number: int) -> str:
    """Return what is wrong with a run that has so many damaged rows."""
    return f"the journal in {run.record} has {counted(number, 'damaged row')}; what can be read of them is used"


def _parts(effect: EffectSummary) -> Iterator[tuple[str, Any]]:
    """Yield the parts of an effect that a person may look for."""
    row = effect.row
    detail = row.detail
    yield "key", row.key
    if row.kind == "step":
        yield "name", who_of(effect)
    elif row.kind == "human":
        yield "question", [detail.get("prompt"), detail.get("context")]
    elif row.kind == "model":
        yield from (("model", detail.get("model")), ("request", detail.get("request")))
    elif row.kind == "tool":
        yield from ((name, detail.get(name)) for name in ("arguments", "called_with", "rule"))
    yield "error", detail.get("error")
    if row.kind in ("step", "model", "human"):
        yield "answer", effect.text
        yield "value", effect.value
        yield "calls", [[tool, arguments] for tool, arguments in effect.calls]
    elif row.kind == "tool":
        yield from (("result", effect.text), ("result_json", effect.value))
    else:
        yield "output", effect.whole


def _hits(run: str, key: str, parts: Iterable[tuple[str, Any]], wanted: re.Pattern[str]) -> Iterator[Hit]:
    lines: set[str] = set()
    for where, value in parts:
        # Most parts of most effects are not there.
        line = None if value is None else _first_line(value, wanted)
        # The text of an answer is often in its JSON too.
        if line is not None and line not in lines:
            lines.add(line)
            yield Hit(run, key, where, line)


def _first_line(value: Any, wanted: re.Pattern[str]) -> str | None:
    # A text by itself, which most parts are, costs less than one among others.
    for text in (value,) if isinstance(value, str) else _texts(value):
        found = wanted.search(text)
        if found is not None:
            return _line_around(text, *found.span())
    return None


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts and numbers of a JSON value, names too; no depth of it is a depth of calls."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += [part for item in reversed(one.items()) for part in reversed(item)]
        elif isinstance(one, (list, tuple)):
            waiting += reversed(one)
        elif isinstance(one, (int, float)) and not isinstance(one, bool):
            yield str(one)


def _line_around(text: str, start: int, end: int) -> str:
    """Return the line that has the place, without what is far from it."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last == -1 else last
    cut_first, cut_last = max(first, start - BEFORE), min(last, end + AFTER)
    shown = text[cut_first:cut_last].strip()
    return f"{'...' if cut_first > first else ''}{shown}{'...' if cut_last < last else ''}"
