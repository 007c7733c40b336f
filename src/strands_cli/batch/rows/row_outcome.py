"""How one row of a batch ended, or why it has not ended yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from strands_cli.engine.journal.journal_rows import RowStatus
from strands_cli.events import RunStatus, Usage

# What the journal of a batch has for the status of a run; all others are not done.
_STORED: Mapping[str, RowStatus] = {
    "completed": "done",
    "failed": "failed",
    "cancelled": "failed",
    "waiting": "waiting",
    "needs-decision": "waiting",
}


@dataclass(frozen=True, slots=True)
class Spent:
    """What one run, or many, have spent.

    Attributes:
        known_cost: In US dollars.
        unpriced: How many runs have a call whose cost is not known.
    """

    usage: Usage = field(default_factory=Usage)
    known_cost: float = 0.0
    unpriced: int = 0
    steps: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    seconds: float = 0.0

    @property
    def cost_usd(self) -> float | None:
        """The cost, or None if that of a call is not known."""
        return None if self.unpriced else round(self.known_cost, 10)

    def plus(self, other: Spent) -> Spent:
        """Return both together."""
        return self._with(other, 1)

    def minus(self, other: Spent) -> Spent:
        """Return this without what the other, which is a part of it, has spent."""
        return self._with(other, -1)

    def _with(self, other: Spent, sign: int) -> Spent:
        counts = {
            one.name: getattr(self, one.name) + sign * getattr(other, one.name)
            for one in fields(self)
            if one.name != "usage"
        }
        tokens = {
            one.name: getattr(self.usage, one.name) + sign * getattr(other.usage, one.name) for one in fields(Usage)
        }
        return Spent(Usage(**tokens), **counts)


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """How a row ended.

    Attributes:
        status: That of its run.
        exit_code: That of `strands run` for such an end.
        response: The answer of a completed run.
        output: The structured output of its last step, where that has a schema.
        artifacts: The files that it wrote: `path`, `digest`, `size`.
        error: Why it did not complete: `message`, `exit_code`, `fix`.
        questions: What waits for a person, with the commands that answer it.
        denied: The tools of which no call was made, for want of a person.
        failed_calls: How many of its tool calls failed or were denied.
        failures: Their tools and reasons, as `strands run --json` has them.
        verdict: That on the last draft of a workflow with an evaluator: `accepted`, `score`, `min_score`, `drafts`.
    """

    status: RunStatus
    exit_code: int = 0
    spent: Spent = field(default_factory=Spent)
    response: str | None = None
    output: Any = None
    artifacts: Sequence[Mapping[str, Any]] = ()
    error: Mapping[str, Any] | None = None
    questions: Sequence[Mapping[str, Any]] = ()
    denied: Sequence[str] = ()
    failed_calls: int = 0
    failures: Sequence[Mapping[str, Any]] = ()
    verdict: Mapping[str, Any] | None = None

    @property
    def stored_status(self) -> RowStatus:
        """The status of its effect in the journal of the batch."""
        return _STORED.get(self.status, "started")

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is done for the row unless a person asks for it."""
        return self.stored_status in ("done", "failed")

    def to_stored(self) -> dict[str, Any]:
        """Return it as JSON, without what the effect has in columns of its own."""
        spent = self.spent
        facts = {
            "status": self.status,
            "exit_code": self.exit_code,
            "response": self.response,
            "output": self.output,
            "artifacts": [dict(one) for one in self.artifacts],
            "error": dict(self.error) if self.error is not None else None,
            "questions": [dict(one) for one in self.questions],
            "denied": list(self.denied),
            "failed_calls": self.failed_calls or None,
            "failures": [dict(one) for one in self.failures],
            "verdict": dict(self.verdict) if self.verdict is not None else None,
        }
        calls = {"steps": spent.steps, "model_calls": spent.model_calls, "tool_calls": spent.tool_calls}
        present = {name: value for name, value in facts.items() if value not in (None, [])}
        return {**present, "calls": calls, "seconds": round(spent.seconds, 3)}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any], usage: Usage, cost: float | None) -> RowOutcome:
        """Return the outcome that an effect has."""
        calls = stored.get("calls") or {}
        names = ("status", "exit_code", "response", "output", "artifacts", "error", "questions", "denied")
        known = {name: stored[name] for name in (*names, "failed_calls", "failures", "verdict") if name in stored}
        spent = Spent(usage, cost or 0.0, int(cost is None), **calls, seconds=stored.get("seconds") or 0.0)
        return cls(spent=spent, **known)

    def line(self, number: int, line: int, run: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object of one line of the results.

        Args:
            number: The number of the row.
            line: The line of the file of rows where it begins.
            run: The id of its run.
            inputs: The inputs that the row gives.
        """
        spent = self.spent
        usage = {"input_tokens": spent.usage.input_tokens, "output_tokens": spent.usage.output_tokens}
        whole = {
            "row": number,
            "line": line,
            "run": run,
            "status": self.status,
            "inputs": dict(inputs),
            "response": self.response,
            "output": self.output,
            "artifacts": [dict(one) for one in self.artifacts],
            "usage": usage,
            "model_calls": spent.model_calls,
            "tool_calls": spent.tool_calls,
            "cost_usd": spent.cost_usd,
            "seconds": round(spent.seconds, 3),
        }
        further: dict[str, Any] = {
            "denied": list(self.denied),
            "error": self.error,
            "questions": list(self.questions),
            "failed_calls": self.failed_calls,
            "failures": [dict(one) for one in self.failures],
        }
        return {**whole, **(self.verdict or {}), **{name: value for name, value in further.items() if value}}
