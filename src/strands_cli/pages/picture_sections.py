"""The pictures of a run in its page: its pattern, its timeline, its budget, and what each part of it cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from strands_cli.pages.run_page import RunPage
from strands_cli.pages.svg_bars import svg_bars, svg_budget
from strands_cli.pages.svg_pattern import svg_pattern
from strands_cli.pages.svg_timeline import svg_timeline

if TYPE_CHECKING:
    from strands_cli.run_views.pictures.pattern_graph import PatternGraph


def picture_sections(page: RunPage) -> Iterator[tuple[str, str]]:
    """Yield the title and the HTML of each picture; the HTML is empty where there is nothing to draw."""
    pictures = page.pictures
    if pictures is None:
        return
    yield "Budget", svg_budget(pictures.budgets)
    yield "Pattern", pattern_picture(pictures.pattern)
    yield "Timeline", svg_timeline(pictures.timeline)
    costs = pictures.costs
    lists = (("Agents", costs.by_agent), ("Models", costs.by_model), ("Tools", costs.by_tool))
    yield "Costs", "".join(f"<h3>{name}</h3>{svg_bars(lines, name)}" for name, lines in lists if lines)


def pattern_picture(graph: PatternGraph | None) -> str:
    """Return the picture of a pattern, of a run or of a workflow without one; empty where there is none."""
    return svg_pattern(graph) if graph is not None else ""
