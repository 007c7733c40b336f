"""The progress of a batch: its rows by their outcome, their usage, and when the rest will be done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from strands_cli.api import RunEnd, RunStatus, Usage
from strands_cli_batch.command_parts import tool_of

MOST_MESSAGES = 20
MOST_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class BatchSpending:
    """The usage of runs together.

    Attributes:
        known_cost: In US dollars.
        unpriced: How many runs have a call whose cost is not known.
    """

    usage: Usage = field(default_factory=Usage)
    known_cost: float = 0.0
    unpriced: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    steps: int = 0

    @property
    def cost_usd(self) -> float | None:
        """The cost, or None if that of a call is not known."""
        return None if self.unpriced else round(self.known_cost, 10)

    def plus(self, end: RunEnd | None, sign: int = 1) -> BatchSpending:
        """Return it with the usage of one run; with the sign -1 without that."""
        if end is None:
            return self
        counts = {
            name: getattr(self, name) + sign * getattr(end, name) for name in ("model_calls", "tool_calls", "steps")
        }
        tokens = {
            usage_field.name: getattr(self.usage, usage_field.name) + sign * getattr(end.usage, usage_field.name)
            for usage_field in fields(Usage)
        }
        cost, unpriced = self.known_cost + sign * (end.cost_usd or 0.0), self.unpriced + sign * (end.cost_usd is None)
        return BatchSpending(Usage(**tokens), cost, unpriced, **counts)


@dataclass(slots=True)
class Failures:
    """Rows that failed with one message: how many, and the first of their runs.

    Attributes:
        finding: The first finding of the first of them, as JSON: a row that could not begin has no run to look at.
    """

    message: str
    finding: Mapping[str, Any] | None = None
    count: int = 0
    runs: list[str] = field(default_factory=list)


@dataclass(slots=True)
class BatchTally:
    """Counts the rows of a file; rows with equal inputs count each, though they are one run.

    Attributes:
        total: The rows of the file.
        by_status: How many of them have an outcome, by its status.
        reused: Those that earlier processes have completed.
        running: How many runs go on.
        spent: The usage of all runs, those of earlier processes too.
        failures: Those that failed, by message; the rest is counted in `other_failures`.
        denied: Rows that completed without calls that were denied for want of a person.
        ended_here: Runs that have ended in this process.
        left_out: Unusable, omitted rows of the file, which count nowhere else.
        undecided: How many rows wait for a decision about cut-off calls, by the tool.
    """

    total: int = 0
    by_status: Counter[RunStatus] = field(default_factory=Counter)
    reused: int = 0
    running: int = 0
    spent: BatchSpending = field(default_factory=BatchSpending)
    failures: dict[str, Failures] = field(default_factory=dict)
    other_failures: int = 0
    denied: int = 0
    ended_here: int = 0
    left_out: int = 0
    exit_codes: set[int] = field(default_factory=set)
    undecided: Counter[str] = field(default_factory=Counter)

    def add(self, run_id: str, outcome: RunEnd, times: int) -> None:
        """Count an ended or waiting row.

        Args:
            times: How many rows of the file it is.
        """
        self.by_status[outcome.status] += times
        self.undecided.update(
            {tool_of(str(question["key"])) for question in outcome.questions if question.get("kind") == "decision"}
        )
        if outcome.status == "failed":
            self.exit_codes.add(outcome.exit_code)
            self._add_failure(run_id, outcome, times)
        elif outcome.denied:
            self.denied += times

    def _add_failure(self, run_id: str, outcome: RunEnd, times: int) -> None:
        error = outcome.error or {}
        message = str(error.get("message") or "")
        if message not in self.failures and len(self.failures) >= MOST_MESSAGES:
            self.other_failures += times
            return
        failures = self.failures.setdefault(message, Failures(message, next(iter(error.get("findings") or ()), None)))
        failures.count += times
        if len(failures.runs) < MOST_EXAMPLES:
            failures.runs.append(run_id)

    @property
    def done(self) -> int:
        """How many rows have completed."""
        return self.by_status["completed"]

    @property
    def failed(self) -> int:
        """How many rows have failed."""
        return self.by_status["failed"]

    @property
    def cancelled(self) -> int:
        """How many rows a person has cancelled."""
        return self.by_status["cancelled"]

    @property
    def waiting(self) -> int:
        """How many rows wait for a person."""
        return self.by_status["waiting"] + self.by_status["needs-decision"]

    @property
    def left(self) -> int:
        """How many rows have neither ended nor wait."""
        return self.total - self.done - self.failed - self.waiting - self.cancelled

    def seconds_left(self, seconds: float) -> float | None:
        """Return an estimate of the time that the rest takes.

        Args:
            seconds: How long this process has worked.
        """
        return self.left * seconds / self.ended_here if self.ended_here and self.left else None
