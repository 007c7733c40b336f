"""What a journal holds and a person is asked: rows, questions, and the ports behind which both are kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from strands_cli.events import Usage

RowKind = Literal["step", "model", "tool", "human", "notes", "artifacts"]
RowStatus = Literal["started", "done", "failed", "waiting"]

# Where a key names a tool call of a step, or what happened inside one.
_CALL = re.compile(r"/tool\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class Row:
    """One effect in the journal.

    `key` is its path in the workflow, `digest` that of its input, `output` JSON, `started_at` and `ended_at` seconds
    since the epoch, `cost` US dollars or None where unknown, `detail` what else is worth keeping (decision, rule).
    """

    key: str
    kind: RowKind
    status: RowStatus
    digest: str
    attempt: int = 1
    output: Any = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    started_at: float = 0.0
    ended_at: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


def in_order_of_request(rows: Iterable[Row]) -> list[Row]:
    """Return rows with the tool calls of each step as its model asked for them, whichever of a turn began first.

    Args:
        rows: In the order in which their effects first started.
    """
    ordered = list(rows)
    depth = 0
    while steps := _calls_by_step(ordered, depth):
        for places in steps.values():
            # The places stay those of the calls; which call stands where is decided by its number.
            calls = [ordered[place] for place in sorted(places, key=places.__getitem__)]
            for place, row in zip(places, calls, strict=True):
                ordered[place] = row
        depth += 1
    return ordered


def _calls_by_step(rows: list[Row], depth: int) -> dict[str, dict[int, int]]:
    """Return where rows of tool calls stand and what numbers they have, by the step; `depth` counts calls in calls."""
    steps: dict[str, dict[int, int]] = {}
    for place, row in enumerate(rows):
        found = list(_CALL.finditer(row.key))[depth : depth + 1]
        for match in found:
            steps.setdefault(row.key[: match.start()], {})[place] = int(match[1])
    return steps


class Journal(Protocol):
    """The durable record of one run. A row is durable when `write` returns; `note` may lag behind."""

    def row(self, key: str) -> Row | None:
        """Return the newest row of this key, or None."""

    def rows(self, kind: RowKind | None = None) -> Iterator[Row]:
        """Yield rows in the order in which their effects first started."""

    async def write(self, row: Row) -> None:
        """Store a row and return once it is committed; raise `RunRecordError` where that fails."""

    def note(self, row: Row) -> None:
        """Store a row with the next commit, without waiting."""

    def get(self, name: str) -> Any:
        """Return one fact about the run itself, or None."""

    def put(self, **facts: Any) -> None:
        """Store facts about the run itself (status, reason, inputs) and commit at once."""

    def close(self) -> None:
        """Commit what is pending and let the run go."""


class Clock(Protocol):
    """Time, so that tests need not wait."""

    def now(self) -> float:
        """Return seconds since the epoch."""

    def monotonic(self) -> float:
        """Return seconds that never jump back, for durations."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked: at a gate, before a tool call that policy will not decide alone, or by a tool itself.

    The answer to a tool that asks in the middle of its work (`interrupt`) goes to the tool as it is.
    """

    key: str
    kind: Literal["gate", "approval", "interrupt"]
    prompt: str
    context: str = ""
    pattern: str | None = None
    default: str | None = None
    timeout_s: float | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: an answer `by` somebody, `waiting` for later, or `nobody` there to ask.

    `reason` is there when the answer is a refusal: of a gate, whose step then fails, or of a tool call.
    """

    outcome: Literal["answered", "waiting", "nobody"]
    text: str = ""
    by: str = "person"
    reason: str | None = None


class Human(Protocol):
    """Whoever can be asked: a terminal, nobody at all, or a store of answers given earlier."""

    async def ask(self, question: Question) -> Answer:
        """Put one question; never raise for want of a person."""
