"""Costs and budgets of a run as SVG: a bar for each agent, model, tool or limit, with its numbers in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from strands_cli.api import counted, shortened
from strands_cli_ui.pictures.svg_parts import legend, picture, rectangle, text_at, time_span

if TYPE_CHECKING:
    from strands_cli_ui.pictures.costs import BudgetBar, CostLine

_WIDTH, _LEFT, _SPAN, _ROW, _BAR = 720.0, 170.0, 220.0, 24.0, 12.0
_NAME, _WORDS = 24, 60
MOST_LINES = 20


def svg_bars(lines: Sequence[CostLine], name: str) -> str:
    """Return a bar for each line with its cost in words; empty without lines.

    The bars are of tokens, input and output in two shades; where no line has any, of the time.

    Args:
        name: The kind of the lines: `Agents`, `Models`, `Tools`.
    """
    if not lines:
        return ""
    drawn_lines = lines[:MOST_LINES]
    has_tokens = any(line.usage.total_tokens for line in lines)
    largest = max(_length_of(line, has_tokens=has_tokens) for line in lines) or 1.0
    parts = []
    for row, line in enumerate(drawn_lines):
        y = row * _ROW + 6
        parts.append(text_at(_LEFT - 8, y + _BAR - 2, line.name, "end", _NAME))
        parts += _cost_bar(line, y, _SPAN / largest, has_tokens=has_tokens)
        parts.append(text_at(_LEFT + _SPAN + 10, y + _BAR - 2, cost_words(line), "soft", _WORDS))
    height = len(drawn_lines) * _ROW + 8
    if has_tokens:
        height += _ROW
        meanings = {"bar amount": "input tokens", "bar amount output": "output tokens"}
        parts.append(legend(_LEFT, height - 10, meanings))
    if len(lines) > len(drawn_lines):
        height += _ROW
        parts.append(text_at(_LEFT, height - 10, f"{len(lines) - len(drawn_lines):,} more are not drawn.", "soft"))
    about = "; ".join(f"{shortened(line.name, _NAME)}: {cost_words(line)}" for line in drawn_lines)
    unit = "tokens, input and output" if has_tokens else "time"
    return picture("costs", (_WIDTH, height), f"{name} by {unit}", about, parts, has_links=False)


def _length_of(line: CostLine, *, has_tokens: bool) -> float:
    return float(line.usage.total_tokens) if has_tokens else line.seconds


def _cost_bar(line: CostLine, y: float, scale: float, *, has_tokens: bool) -> list[str]:
    if not has_tokens:
        return [rectangle(_LEFT, y, line.seconds * scale, _BAR, "bar amount")]
    read, written = line.usage.input_tokens * scale, line.usage.output_tokens * scale
    bars = [rectangle(_LEFT, y, read, _BAR, "bar amount")] if read else []
    return [*bars, rectangle(_LEFT + read, y, written, _BAR, "bar amount output")] if written else bars


def cost_words(line: CostLine) -> str:
    """Return the cost of a line: `3 calls, 120 in, 40 out, $0.0012, 2.1 s, 1 failed`."""
    usage = line.usage
    tokens = f"{usage.input_tokens:,} in, {usage.output_tokens:,} out" if usage.total_tokens else ""
    cost = "cost unknown" if line.cost is None else f"${line.cost:.4f}" if line.cost else ""
    failed = f"{line.failures} failed" if line.failures else ""
    return ", ".join(filter(None, [counted(line.calls, "call"), tokens, cost, time_span(line.seconds), failed]))


def svg_budget(bars: Sequence[BudgetBar]) -> str:
    """Return a bar for each limit of a run, with the used part of it; empty without limits."""
    if not bars:
        return ""
    parts = []
    for row, bar in enumerate(bars):
        y = row * _ROW + 6
        state = "over" if bar.share >= 1 else "near" if bar.share >= bar.warn_at else "below"
        parts.append(text_at(_LEFT - 8, y + _BAR - 2, bar.name, "end", _NAME))
        parts.append(rectangle(_LEFT, y, _SPAN, _BAR, "limit"))
        if bar.used > 0 or bar.share >= 1:
            parts.append(rectangle(_LEFT, y, min(1.0, bar.share) * _SPAN, _BAR, f"bar used {state}"))
        parts.append(text_at(_LEFT + _SPAN + 10, y + _BAR - 2, budget_words(bar), "soft", _WORDS))
    about = "; ".join(f"{bar.name}: {budget_words(bar)}" for bar in bars)
    return picture("budget", (_WIDTH, len(bars) * _ROW + 8), "Budget", about, parts, has_links=False)


def budget_words(bar: BudgetBar) -> str:
    """Return how much of a limit is used: `12,300 of 50,000 (25 %)`."""
    unit: Callable[[float], str] = "{:,.0f}".format
    if bar.name == "max_cost_usd":
        unit = "${:,.4f}".format
    elif bar.name == "max_duration_s":
        unit = time_span
    least = "at least " if bar.is_lower_bound else ""
    return f"{least}{unit(bar.used)} of {unit(bar.limit)} ({bar.share * 100:.0f} %)"
