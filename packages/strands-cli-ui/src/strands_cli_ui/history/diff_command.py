"""The command `runs diff`: two stored runs compared, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.api import (
    DEFAULT_STORE,
    ExitCode,
    Runs,
    StoreOptions,
    print_json,
    print_result,
    run_argument,
    with_run_options,
)
from strands_cli_ui.history.command_parts import iso_time
from strands_cli_ui.history.diff_lines import diff_lines

if TYPE_CHECKING:
    from strands_cli.api import EffectSummary
    from strands_cli_ui.history.diff import Change, Pair, RunDiff, RunSide


@with_run_options()
def diff_runs(
    before: Annotated[str, run_argument("BEFORE")],
    after: Annotated[str, run_argument("AFTER")],
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if they differ.")] = False,
    where: StoreOptions = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, with whole texts.")] = False,
) -> int:
    """Compare two runs: where they part, and how their inputs, requests, calls, answers and costs differ.

    Times, durations, costs and the ids of runs are shown, and are no difference.

    Example: strands runs diff 20261121-033012-a1b2c3 last
    """
    from strands_cli_ui.history.diff import diff_of

    # Outputs are read from the journals while they are compared.
    with Runs(where.place) as runs, runs.open(before) as first, runs.open(after) as second:
        diff = diff_of(first.summary(), second.summary())
        if as_json:
            print_json(diff_document(diff))
        else:
            print_result("\n".join(diff_lines(diff)))
    return ExitCode.OK if diff.same or not exit_code else ExitCode.NO


def diff_document(diff: RunDiff) -> dict[str, Any]:
    """Return a comparison as JSON."""
    return {
        "same": diff.same,
        "before": _side_document(diff.before),
        "after": _side_document(diff.after),
        "first": diff.first.key if diff.first else None,
        "changes": [_change_document(change) for change in diff.of_run],
        "effects": [_pair_document(pair) for pair in diff.changed],
        "same_effects": len(diff.pairs) - len(diff.changed),
    }


def _side_document(side: RunSide) -> dict[str, Any]:
    return {
        "run": side.id,
        "workflow": side.workflow,
        "status": side.status,
        "started_at": iso_time(side.started_at),
        "effects": side.effects,
        "model_calls": side.model_calls,
        "tool_calls": side.tool_calls,
        "usage": {"input_tokens": side.usage.input_tokens, "output_tokens": side.usage.output_tokens},
        "cost_usd": side.cost,
        "seconds": side.seconds,
    }


def _change_document(change: Change) -> dict[str, Any]:
    named = {"name": change.key} if change.what == "input" else {}
    return {"what": change.what, **named, "before": change.before, "after": change.after}


def _pair_document(pair: Pair) -> dict[str, Any]:
    return {
        "key": pair.key,
        "kind": pair.kind,
        "changes": [_change_document(change) for change in pair.changes],
        "before": _spent_document(pair.before),
        "after": _spent_document(pair.after),
    }


def _spent_document(effect: EffectSummary | None) -> dict[str, Any] | None:
    """Return the cost of an effect; None in the run that lacks it."""
    if effect is None:
        return None
    row = effect.row
    seconds = None if row.ended_at is None else max(0.0, row.ended_at - row.started_at)
    return {"status": effect.status, "tokens": row.usage.total_tokens, "cost_usd": row.cost, "seconds": seconds}
