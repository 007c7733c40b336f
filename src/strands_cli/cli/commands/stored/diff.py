"""The command `runs diff`: two stored runs compared, as text and as JSON."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import with_run_options
from strands_cli.cli.commands.opened_stores import DEFAULT_STORE, StoreOptions
from strands_cli.cli.commands.run_lines.diff_lines import diff_lines
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.errors import ExitCode

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore
    from strands_cli.engine.stored_runs.effect_summary import EffectSummary
    from strands_cli.engine.stored_runs.summary import RunSummary
    from strands_cli.run_views.diff import Change, Pair, RunDiff, RunSide

HELP = "A run: its id, the start of it, or `last`."
BEFORE = Annotated[str, typer.Argument(metavar="BEFORE", help=HELP, autocompletion=completions.runs)]
AFTER = Annotated[str, typer.Argument(metavar="AFTER", help=HELP, autocompletion=completions.runs)]


@with_run_options()
def diff_runs(
    before: BEFORE,
    after: AFTER,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if they differ.")] = False,
    where: StoreOptions = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, with whole texts.")] = False,
) -> int:
    """Compare two runs: where they part, and what they were given, asked, called, answered and spent.

    Times, durations, costs and the ids of runs are shown, and are no difference.

    Example: strands runs diff 20261121-033012-a1b2c3 last
    """
    from strands_cli.run_views.diff import diff_of

    with contextlib.ExitStack() as stack:
        runs = stack.enter_context(where.opened())
        names = [runs.find(run) for run in (before, after)]
        found = diff_of(*(_summary(runs, run, stack) for run in names))
        if as_json:
            print_json(diff_document(found))
        else:
            print_result("\n".join(diff_lines(found)))
    return ExitCode.OK if found.same or not exit_code else ExitCode.NO


def _summary(store: RunStore, run: str, stack: contextlib.ExitStack) -> RunSummary:
    from strands_cli.engine.stored_runs.summary import summary_of

    journal = store.open(run, hold=False)
    stack.callback(journal.close)
    return summary_of(journal)


def diff_document(found: RunDiff) -> dict[str, Any]:
    """Return a comparison as JSON."""
    return {
        "same": found.same,
        "before": _side_document(found.before),
        "after": _side_document(found.after),
        "first": found.first.key if found.first else None,
        "changes": [_change_document(change) for change in found.of_run],
        "effects": [_pair_document(pair) for pair in found.changed],
        "same_effects": len(found.pairs) - len(found.changed),
    }


def _side_document(side: RunSide) -> dict[str, Any]:
    from strands_cli.cli.commands.run_lines.report import moment

    return {
        "run": side.id,
        "workflow": side.workflow,
        "status": side.status,
        "started_at": moment(side.started_at),
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
    """Return what an effect cost; None in the run that does not have it."""
    if effect is None:
        return None
    row = effect.row
    seconds = None if row.ended_at is None else max(0.0, row.ended_at - row.started_at)
    return {"status": effect.status, "tokens": row.usage.total_tokens, "cost_usd": row.cost, "seconds": seconds}
