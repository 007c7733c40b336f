"""The result of a batch: for a person, and as one JSON document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.api import ExitCode, RunRecordError, Runs, counted, shortened
from strands_cli_batch.command_parts import command

if TYPE_CHECKING:
    from strands_cli.api import StorePlace
    from strands_cli_batch.batch_choices import BatchChoices
    from strands_cli_batch.batch_tally import BatchTally

_MOST_MESSAGE = 300


def counts_of(tally: BatchTally, distinct: int) -> dict[str, int]:
    """Return the numbers of rows as JSON."""
    return {
        "total": tally.total,
        "distinct": distinct,
        "completed": tally.done,
        "failed": tally.failed,
        "waiting": tally.waiting,
        "cancelled": tally.cancelled,
        "left": tally.left,
        "reused": tally.reused,
        "denied": tally.denied,
        "left_out": tally.left_out,
    }


def tally_document(tally: BatchTally, distinct: int, choices: BatchChoices) -> dict[str, Any]:
    """Return the results of the rows as JSON."""
    spent = tally.spent
    failures = [
        {"message": failure.message, "count": failure.count, "runs": failure.runs, "finding": failure.finding}
        for failure in _by_count(tally)
    ]
    return {
        "rows": counts_of(tally, distinct),
        "usage": spent.usage.counts(),
        "model_calls": spent.model_calls,
        "tool_calls": spent.tool_calls,
        "cost_usd": spent.cost_usd,
        "out": choices.out,
        "failures": failures,
        "other_failures": tally.other_failures,
    }


def summary_lines(tally: BatchTally) -> Iterator[str]:
    """Yield how many rows there are of each kind, their costs, and why rows failed."""
    names = ("failed", "waiting", "cancelled", "left")
    before = f" ({tally.reused} before)" if tally.reused else ""
    parts = [f"{tally.done} of {counted(tally.total, 'row')} done{before}"]
    parts += [f"{getattr(tally, name)} {name}" for name in names if getattr(tally, name)]
    parts += [f"{tally.left_out} left out"] if tally.left_out else []
    spent = tally.spent
    cost = "" if spent.cost_usd is None else f", ${spent.cost_usd:.4f}"
    yield f"{', '.join(parts)}; {spent.usage.marked_total}{cost}"
    for failure in _by_count(tally):
        yield f"  failed {failure.count} x: {shortened(failure.message, _MOST_MESSAGE)}"
        yield from _example_lines(failure.runs[0], failure.finding)
    if tally.other_failures:
        yield f"  failed {tally.other_failures} x: for other reasons"
    if tally.denied:
        yield f"  {counted(tally.denied, 'row')} done without calls that were denied, since no person can be asked"


def _example_lines(run_id: str, finding: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the run of a failed row; of one that could not begin also the fault, and the fix."""
    if finding is None:
        yield f"    for example {run_id}"
        return
    yield f"    for example {run_id}: {shortened(finding['message'], _MOST_MESSAGE)}"
    if finding.get("fix"):
        yield f"      fix: {finding['fix']}"


def _by_count(tally: BatchTally) -> list[Any]:
    return sorted(tally.failures.values(), key=lambda failure: -failure.count)


def larger_limits(budget: Mapping[str, float], tally: BatchTally, worked_s: float | None) -> list[str]:
    """Return the options that raise the limits which a batch has reached: with the same ones it would stop at once.

    Args:
        budget: The limits of all rows together.
        worked_s: How long processes have worked on it.
    """
    spent = {
        "max_steps": tally.spent.steps,
        "max_model_calls": tally.spent.model_calls,
        "max_tool_calls": tally.spent.tool_calls,
        "max_tokens": tally.spent.usage.total_tokens,
        "max_cost_usd": tally.spent.known_cost,
        "max_duration_s": worked_s or 0.0,
    }
    reached = {name: max(limit, spent[name]) for name, limit in budget.items() if spent.get(name, 0) >= limit}
    return [word for name, most in reached.items() for word in ("--budget", f"{name}={_twice(most)}")]


def _twice(number: float) -> str:
    """Return two times a number as an option has it: whole, or with as many decimals as it needs."""
    if isinstance(number, int) or number >= 0.01:
        return f"{2 * number:.4f}".rstrip("0").rstrip(".")
    return f"{2 * number:.3g}"


def next_lines(
    batch: str, tally: BatchTally, place: StorePlace, larger: Sequence[str] = (), *, is_status: bool = False
) -> Iterator[str]:
    """Yield the commands that go on with a batch.

    Args:
        larger: The options without which it would stop at once, as `larger_limits` returns them.
        is_status: Whether the questions are shown already.
    """
    if tally.left:
        yield f"to continue: {command('batch', 'resume', batch, *larger, store=place)}"
    if tally.failed:
        options = [*_allowing(tally, place), *larger]
        yield f"to run failed rows again: {command('batch', 'retry', batch, '--failed', *options, store=place)}"
    for tool, count in sorted(tally.undecided.items()):
        rows = counted(count, "row")
        yield f"calls of {tool} were cut off, or lost their object, in {rows}; make them, or not, or let these fail:"
        for way in ("redo", "skip", "fail"):
            yield f"  {command('batch', 'resume', batch, f'--{way}', tool, *larger, store=place)}"
    if tally.waiting and is_status:
        yield f"when they are answered: {command('batch', 'resume', batch, *larger, store=place)}"
    elif tally.waiting:
        yield f"what waits, and how to answer it: {command('batch', 'status', batch, store=place)}"


def _allowing(tally: BatchTally, place: StorePlace) -> list[str]:
    """Return the options that allow the calls without which rows have failed."""
    if ExitCode.DENIED not in tally.exit_codes:
        return []
    names: dict[str, None] = {}
    with Runs(place) as runs:
        for run in runs.open_each([failure.runs[0] for failure in tally.failures.values()]):
            if not isinstance(run, RunRecordError):
                with run:
                    names |= dict.fromkeys(run.tools_to_allow())
    return [word for name in names for word in ("--allow", name)]


def waiting_lines(waiting: Sequence[Mapping[str, Any]], count: int) -> Iterable[str]:
    """Yield the questions of rows that wait, each with the commands that answer it."""
    for row in waiting:
        for question in row["questions"]:
            yield f"  waits {row['run']} {question['key']}: {shortened(str(question.get('prompt') or ''), 200)}"
            yield from (f"    {way}" for way in question["commands"])
    if count > len(waiting):
        yield f"  and {count - len(waiting)} more wait"
