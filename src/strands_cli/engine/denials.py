"""The calls of a run that failed or were denied, from its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.step_results import CallFailure, failure_of
from strands_cli.errors import CallDenied
from strands_cli.events import NO_PERSON, Denials, Failures, never_asked
from strands_cli.texts.phrases import joined

# In the detail of a tool call that failed.
ERROR_CODE = "error_code"
# The codes with which a tool says that it must not do what it was asked.
_REFUSALS = ("denied", "sandbox_violation")
# More different reasons are counted and not listed.
_MOST_REASONS = 50


@dataclass(frozen=True, slots=True)
class FailedCalls:
    """The calls of a run that failed or were denied.

    Attributes:
        number: How many they are.
        failures: One value for each tool and reason, the first 50.
        denials: Of them, those that policy, a person or the tool itself refused, one value for each tool and reason.
    """

    number: int = 0
    failures: tuple[Failures, ...] = ()
    denials: tuple[Denials, ...] = ()


def failed_calls_of(rows: Iterable[Row]) -> FailedCalls:
    """Return the calls that failed among rows of tool calls."""
    calls: Counter[str] = Counter()
    failed: Counter[tuple[str, str, str, str | None]] = Counter()
    denied: Counter[tuple[str, str, bool, bool, str | None]] = Counter()
    for row in rows:
        tool = tool_of(row.key)
        calls[tool] += 1
        failure = failure_in(row)
        by_policy = row.detail.get("decision") == "deny"
        if failure is not None:
            failed[tool, failure.code, failure.reason, failure.fix] += 1
        if by_policy:
            denied[tool, row.detail.get("rule", ""), bool(row.detail.get(NO_PERSON)), False, None] += 1
        elif failure is not None and is_refusal(failure):
            denied[tool, failure.reason, False, True, failure.fix] += 1
    return FailedCalls(
        failed.total(),
        tuple(
            Failures(tool, code, reason, number, calls[tool], fix)
            for (tool, code, reason, fix), number in list(failed.items())[:_MOST_REASONS]
        ),
        tuple(
            Denials(tool, rule, number, calls[tool], no_person, by_tool, fix)
            for (tool, rule, no_person, by_tool, fix), number in denied.items()
        ),
    )


def require_done(denials: Sequence[Denials], *, fail_on_denied: bool) -> None:
    """Check that denied calls do not mean that the work of a run was not done.

    They mean it where no call of a tool was made and a person could have allowed one, and with `fail_on_denied` always.

    Raises:
        CallDenied: They do; its fix is added where the store of the run is known.
    """
    failing = list(dict.fromkeys(one.tool for one in denials)) if fail_on_denied else never_asked(denials)
    if failing:
        which = "calls" if fail_on_denied else "every call"
        rules = "; ".join(f"{one.tool}: {one.rule}" for one in denials if one.tool in failing)
        error = CallDenied(f"denied: {which} of {joined(failing)} ({rules})")
        error.brief = f"{which} of {joined(failing)} {'were' if fail_on_denied else 'was'} denied"
        raise error


def is_refusal(failure: CallFailure | None) -> bool:
    """Return whether a call failed since its tool must not do what it was asked."""
    return failure is not None and failure.code in _REFUSALS


def failure_in(row: Row) -> CallFailure | None:
    """Return why the call of a row failed; None if it succeeded, or if its result cannot be read."""
    if row.status != "done" or not may_have_failed(row) or not isinstance(row.output, Mapping):
        return None
    try:
        return failure_of(row.output)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def may_have_failed(row: Row) -> bool:
    """Return whether a row's call failed, so that its result has the reason."""
    return row.kind == "tool" and ERROR_CODE in row.detail


def has_denial(rows: Iterable[Row]) -> bool:
    """Return whether a call among the rows of a step was denied without the answer of a person."""
    found = list(rows)
    answered = {row.key for row in found if row.kind == "human"}
    denied = [row for row in found if row.detail.get("decision") == "deny"]
    return any(row.detail.get(NO_PERSON) or f"{row.key}/approval" not in answered for row in denied)


def tool_of(key: str) -> str:
    """Return the name of the tool from the key of a call."""
    return key.rpartition("/")[2].split(".", 2)[-1]
