"""The costs and the limits of a run as tables, with a bar in each line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from strands_cli_ui.pages.html_text import bar_of, escape, money, table
from strands_cli_ui.pictures.costs import BudgetBar, CostLine, Costs
from strands_cli_ui.pictures.svg_parts import time_span

# More lines of a table are counted and not shown.
MOST_LINES = 20


def costs_html(costs: Costs) -> str:
    """Return a table for each of agents, models and tools; empty where none was called."""
    lists = (("Agent", costs.by_agent), ("Model", costs.by_model), ("Tool", costs.by_tool))
    return "".join(_costs(lines, name) for name, lines in lists if lines)


def _costs(lines: Sequence[CostLine], name: str) -> str:
    has_tokens = any(line.usage.total_tokens for line in lines)
    lengths = [float(line.usage.total_tokens) if has_tokens else line.seconds for line in lines]
    largest = max(lengths) or 1.0
    rows = "".join(
        f'<tr><th scope="row"><bdi>{escape(line.name)}</bdi></th><td>{bar_of(0, length / largest, "model")}</td>'
        f"{_cells(line, has_tokens=has_tokens)}</tr>"
        for line, length in list(zip(lines, lengths, strict=True))[:MOST_LINES]
    )
    heads = (name, "", "Calls", "Failed", "Tokens in", "Tokens out", "Cost", "Time")
    more = f'<p class="cut">{len(lines) - MOST_LINES:,} more</p>' if len(lines) > MOST_LINES else ""
    return table(f"{name}s", heads, rows, classes="costs") + more


def _cells(line: CostLine, *, has_tokens: bool) -> str:
    counts = (line.calls, line.failures, line.usage.input_tokens, line.usage.output_tokens)
    cost = money(line.cost) if has_tokens else ""
    cells = [*(f"{count:,}" if count else "" for count in counts), cost, time_span(line.seconds)]
    return "".join(f'<td class="number">{cell}</td>' for cell in cells)


def budgets_html(bars: Sequence[BudgetBar]) -> str:
    """Return each limit of a run with the used part of it; empty without limits."""
    rows = "".join(
        f'<tr><th scope="row">{escape(bar.name)}</th><td>{bar_of(0, bar.share, _state(bar))}</td>'
        f'<td class="number">{budget_words(bar)}</td></tr>'
        for bar in bars
    )
    return table("Limits", ("Limit", "", "Used"), rows, classes="costs") if rows else ""


def _state(bar: BudgetBar) -> str:
    return "failed" if bar.share >= 1 else "question" if bar.share >= bar.warn_at else "done"


def budget_words(bar: BudgetBar) -> str:
    """Return how much of a limit is used: `12,300 of 50,000 (25 %)`."""
    unit: Callable[[float], str] = "{:,.0f}".format
    if bar.name == "max_cost_usd":
        unit = "${:,.4f}".format
    elif bar.name == "max_duration_s":
        unit = time_span
    least = "at least " if bar.is_lower_bound else ""
    return f"{least}{unit(bar.used)} of {unit(bar.limit)} ({bar.share * 100:.0f} %)"
