"""The names of a run's end, which artifacts may use besides those of its pattern."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.engine.journal.journal_rows import Row, in_order_of_request

if TYPE_CHECKING:
    from strands_cli.engine.run import Run


def end_names(run: Run, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of the end of a run; they follow from its journal, so that each process has the same ones.

    Args:
        names: Those of its pattern.
    """
    budget, spec = run.budget, run.plan.spec
    rows = list(run.ports.journal.rows())
    done = [row for row in rows if row.is_step and row.status == "done" and "/" not in row.key]
    usage = {
        "input_tokens": budget.usage.input_tokens,
        "output_tokens": budget.usage.output_tokens,
        "total_tokens": budget.usage.total_tokens,
        "model_calls": budget.model_calls,
        "tool_calls": budget.tool_calls,
    }
    past = _past(run, done)
    answer = {"hitl_response": names.get("hitl_response", "")}
    last = max((row.ended_at or 0.0 for row in done), default=run.clock.now())
    return {
        **run.unless_inputs(name=spec.name, total_steps=len(done), timestamp=_in_words(last)),
        **answer,
        "runtime": spec.runtime.model_dump(),
        "run": {"id": run.id, "duration_s": round(budget.seconds, 3), "usage": usage, "cost_usd": budget.cost},
        "execution_context": {**past, **answer, **names},
        "TRACE": json.dumps([_traced(row) for row in in_order_of_request(rows)], ensure_ascii=False, indent=2),
    }


def _past(run: Run, done: list[Row]) -> dict[str, Any]:
    """Return which steps have run, in the order in which they began."""
    pattern = run.plan.spec.pattern
    history = list(_history(done, pattern.step_name))
    counts = Counter(one["step"] for one in history)
    names = map(pattern.step_name, (placed.key for placed in pattern.placed))
    known = {name: 0 for name in names if not name.endswith(".N")}  # workers have numbers
    return {
        "history": history,
        "execution_path": [one["step"] for one in history],
        "iterations": {**known, **counts},
        "total_steps": len(history),
    }


def _history(done: list[Row], step_name: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for row in done:
        name = step_name(row.key)
        seen[name] += 1
        result = row.output if row.kind == "step" else {"agent": "person", "response": row.output["text"]}
        yield {"step": name, "agent": result["agent"], "response": result["response"], "iteration": seen[name]}


def _in_words(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _traced(row: Row) -> dict[str, Any]:
    """Return one entry of the trace: an effect and its duration, without its content."""
    seconds = round(row.ended_at - row.started_at, 3) if row.ended_at is not None else None
    facts = {name: getattr(row, name) for name in ("key", "kind", "status", "attempt")}
    return {**facts, "seconds": seconds, "tokens": row.usage.total_tokens}
