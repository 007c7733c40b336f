"""Finds a text in stored runs: in inputs, requests, calls, answers, errors and names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from strands_cli.api import EffectSummary, OpenedRun, RunRecordError, Runs, StoredRun, counted

# How much of a line is shown around the match.
BEFORE, AFTER = 40, 100


@dataclass(frozen=True, slots=True)
class Hit:
    """A place in a run where a text was found.

    Attributes:
        run: The id of the run.
        key: The key of the effect; empty for the run itself.
        where: The part of it: `input NAME`, `request`, `answer`, `arguments`, `result`, `error`, ...
        line: The first line with the text, cut around it; as stored, so it may have control characters.
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


class _SearchText:
    """The wanted text, upper and lower case being the same."""

    def __init__(self, text: str) -> None:
        self._pattern = re.compile(re.escape(text), re.IGNORECASE)
        self._plain = text.lower() if text.isascii() else None

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first place of it in another text."""
        # Where both are ASCII this says the same eight times as fast; other letters have more than two forms.
        if self._plain is not None and text.isascii() and self._plain not in text.lower():
            return None
        return self._pattern.search(text)


def search(runs: Runs, chosen: Sequence[StoredRun], text: str) -> Iterator[Hit | UnreadRun]:
    """Yield each part of these runs with a text, upper and lower case being the same.

    One effect is in memory at a time, with the rows that the store has read ahead.
    """
    pattern = _SearchText(text)
    for run, opened in zip(chosen, runs.open_each(run.id for run in chosen), strict=True):
        try:
            if isinstance(opened, RunRecordError):
                raise opened
            with opened:
                yield from _in_run(run, opened, pattern)
        except RunRecordError as error:
            yield UnreadRun(run.id, error.message)


def _in_run(run: StoredRun, opened: OpenedRun, pattern: _SearchText) -> Iterator[Hit | UnreadRun]:
    facts: dict[str, Any] = {"workflow": run.workflow, "file": run.file, "reason": run.reason}
    inputs = opened.journal.get("inputs")
    if _first_line(inputs, pattern) is not None:
        # Only now: to know the secrets, the workflow is read.
        inputs = opened.redactor.json(inputs)
        facts |= {f"input {name}": value for name, value in inputs.items()} if isinstance(inputs, dict) else {}
    facts["response"] = opened.journal.get("response")
    yield from _hits(run.id, "", facts.items(), pattern)
    damaged = 0
    for effect in opened.effects():
        yield from _hits(run.id, effect.row.key, _parts(effect), pattern)
        damaged += effect.damage is not None
    if damaged:
        yield UnreadRun(run.id, damaged_rows(run, damaged))


def damaged_rows(run: StoredRun, number: int) -> str:
    """Return the problem of a run with so many damaged rows."""
    return f"the journal in {run.record} has {counted(number, 'damaged row')}; what can be read of them is used"


def _parts(effect: EffectSummary) -> list[tuple[str, Any]]:
    """Return the parts of an effect that a person may look for."""
    row, detail = effect.row, effect.row.detail
    key, error = ("key", row.key), ("error", detail.get("error"))
    if row.kind == "step":
        return [key, ("name", effect.who), error, ("answer", effect.text), ("value", effect.value)]
    if row.kind == "model":
        parts = [key, ("model", detail.get("model")), ("request", detail.get("request")), error]
        return [*parts, ("answer", effect.text), ("calls", [list(call) for call in effect.calls] or None)]
    if row.kind == "tool":
        called = [(name, detail.get(name)) for name in ("arguments", "called_with", "rule")]
        return [key, *called, error, ("result", effect.text), ("result_json", effect.value)]
    if row.kind == "human":
        question = ("question", [detail.get("prompt"), detail.get("context")])
        return [key, question, error, ("answer", effect.text), ("value", effect.value)]
    return [key, error, ("output", effect.whole)]


def _hits(run: str, key: str, parts: Iterable[tuple[str, Any]], pattern: _SearchText) -> Iterator[Hit]:
    lines: set[str] = set()
    for where, value in parts:
        # Most parts of most effects are not there.
        line = None if value is None else _first_line(value, pattern)
        # The text of an answer is often in its JSON too.
        if line is not None and line not in lines:
            lines.add(line)
            yield Hit(run, key, where, line)


def _first_line(value: Any, pattern: _SearchText) -> str | None:
    # A text by itself, which most parts are, costs less than one among others.
    for text in (value,) if isinstance(value, str) else _texts(value):
        match = pattern.search(text)
        if match is not None:
            return _line_around(text, *match.span())
    return None


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts and numbers of a JSON value, names too; no depth of it is a depth of calls."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            waiting += [child for item in reversed(part.items()) for child in reversed(item)]
        elif isinstance(part, (list, tuple)):
            waiting += reversed(part)
        elif isinstance(part, (int, float)) and not isinstance(part, bool):
            yield str(part)


def _line_around(text: str, start: int, end: int) -> str:
    """Return the line of the place, cut around it."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last == -1 else last
    cut_first, cut_last = max(first, start - BEFORE), min(last, end + AFTER)
    line = text[cut_first:cut_last].strip()
    return f"{'...' if cut_first > first else ''}{line}{'...' if cut_last < last else ''}"
