"""The command `runs stats`: numbers about stored runs, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.api import (
    DEFAULT_STORE,
    Runs,
    StoreOptions,
    duration,
    print_json,
    print_result,
    say,
    table,
    with_run_options,
)
from strands_cli_ui.history.command_parts import SINCE, runs_since

if TYPE_CHECKING:
    from strands_cli_ui.history.stats import RunStats, Stats


class GroupBy(StrEnum):
    """The groups that can be counted."""

    WORKFLOW = "workflow"
    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    DAY = "day"


# The noun of the counted things in a group: those that succeed, fail and take time.
_UNITS = {GroupBy.MODEL: "calls", GroupBy.TOOL: "calls", GroupBy.AGENT: "steps"}


@with_run_options()
def show_stats(
    by: Annotated[GroupBy | None, typer.Option("--by", help="A line for each of these.")] = None,
    since: SINCE = None,
    where: StoreOptions = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Count stored runs: how many succeed, how long they take, tokens, costs, and the tool that fails most.

    Example: strands runs stats --by model --since 7d
    """
    from strands_cli_ui.history.stats import stats_of

    with Runs(where.place) as runs:
        chosen, problems = runs_since(runs, since)
        stats = stats_of(runs, chosen, by.value if by else None)
        budgets = runs.budgets()
    problems += stats.problems
    if as_json:
        total = stats_document(stats.total, named=False)
        groups = [stats_document(group) for group in stats.groups]
        spent = [state.as_dict() for state in budgets]
        numbers = {"total": total, "groups": groups, "budgets": spent, "problems": problems}
        print_json({"by": by.value if by else None, **numbers})
        return
    for problem in problems:
        say(f"warning: {problem}")
    if not stats.total.runs:
        say("no runs")
        return
    print_result("\n".join([*_lines(stats, by), *_budget_lines([state.cells for state in budgets])]))


def stats_document(stats: Stats, *, named: bool = True) -> dict[str, Any]:
    """Return the numbers of a group as JSON."""
    worst = stats.worst_tool
    return {
        **({"name": stats.name} if named else {}),
        "runs": stats.runs,
        "succeeded": stats.succeeded,
        "failed": stats.failed,
        "success_rate": stats.success,
        "p50_seconds": stats.p50_s,
        "p95_seconds": stats.p95_s,
        "model_calls": stats.model_calls,
        "tool_calls": stats.tool_calls,
        "usage": stats.usage.counts(),
        "cache_read_tokens": stats.usage.cache_read_tokens,
        "cache_write_tokens": stats.usage.cache_write_tokens,
        "cache_hit_rate": stats.cache_hits,
        "cost_usd": stats.cost,
        "known_cost_usd": stats.known_cost,
        "calls_of_unknown_cost": stats.unpriced,
        "most_failing_tool": {"tool": worst[0], "failed": worst[1], "calls": worst[2]} if worst else None,
    }


def _lines(stats: RunStats, by: GroupBy | None) -> Iterator[str]:
    heads = ("", "RUNS", "SUCCESS", "P50", "P95", "TOKENS IN", "CACHED", "TOKENS OUT", "COST", "MOST FAILING TOOL")
    yield from table([heads, _cells(stats.total, "all runs")])
    if by is None:
        return
    unit = _UNITS.get(by)
    heads = (by.value.upper(), *heads[1:])
    yield ""
    yield from table([heads, *(_cells(group, group.name) for group in stats.groups)])
    if unit:
        yield f"SUCCESS, P50 and P95 are of {unit}."


def _budget_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the table of the limits over time of policy."""
    if rows:
        yield ""
        yield from table([("BUDGET", "FOR", "SPENT", "UNTIL", "POLICY"), *rows])


def _cells(stats: Stats, name: str) -> tuple[str, ...]:
    worst = stats.worst_tool
    return (
        name,
        str(stats.runs),
        _share(stats),
        _length(stats.p50_s),
        _length(stats.p95_s),
        str(stats.prompt_tokens),
        f"{stats.cache_hits:.0%}" if stats.usage.cache_read_tokens and stats.cache_hits is not None else "",
        str(stats.usage.output_tokens),
        _money(stats),
        f"{worst[0]} ({worst[1]} of {worst[2]})" if worst else "",
    )


def _share(stats: Stats) -> str:
    if stats.success is None:
        return ""
    return f"{stats.success:.0%} ({stats.succeeded} of {stats.succeeded + stats.failed})"


def _length(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)


def _money(stats: Stats) -> str:
    """Return the cost; an unknown one is never shown as $0."""
    amount = f"${stats.known_cost:.4f}" if stats.known_cost else ""
    if not stats.unpriced:
        return amount or "$0"
    return f"{amount} + unknown" if amount else "unknown"
