"""The pictures of a run as values and as SVG: its pattern, its timeline, its budget and its costs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.api import HIDE_NOTHING
from strands_cli_ui.pictures.costs import BudgetBar, Costs, budget_bars_of, costs_of
from strands_cli_ui.pictures.pattern_graph import PatternGraph, pattern_graph_of
from strands_cli_ui.pictures.svg_bars import svg_bars, svg_budget
from strands_cli_ui.pictures.svg_pattern import svg_pattern
from strands_cli_ui.pictures.svg_timeline import svg_timeline
from strands_cli_ui.pictures.timeline import Timeline, timeline_of

if TYPE_CHECKING:
    from strands_cli.api import Branch, OpenedRun, Redactor, RunSummary


@dataclass(frozen=True, slots=True)
class Pictures:
    """The values of the pictures of a run, without secrets; `pattern` is None where its workflow is not known."""

    timeline: Timeline
    pattern: PatternGraph | None
    costs: Costs
    budgets: tuple[BudgetBar, ...]


def pictures_of(run: OpenedRun, summary: RunSummary, tree: Sequence[Branch], now: float | None = None) -> Pictures:
    """Return the pictures of a run as values.

    Args:
        summary: That of the run.
        tree: Its effects as trees.
        now: The end of the bars of unfinished effects, in seconds since the epoch; the time of the machine.
    """
    spec = run.spec()
    budgets: tuple[BudgetBar, ...] = ()
    if spec is not None:
        # Those that `resume --budget` has raised.
        raised = {name: limit for name, limit in (run.journal.get("budgets") or {}).items() if limit}
        written = spec.runtime.budgets
        budgets = budget_bars_of({**written.model_dump(), **raised}, summary, written.warn_threshold)
    pictures: Pictures = _without_secrets(
        Pictures(
            timeline=timeline_of(summary, tree, now),
            pattern=None if spec is None else pattern_graph_of(spec.pattern, summary, tree),
            costs=costs_of(summary),
            budgets=budgets,
        ),
        run.redactor,
    )
    return pictures


def picture_sections(pictures: Pictures) -> Iterator[tuple[str, str]]:
    """Yield the title and the HTML of each picture; the HTML is empty where there is nothing to draw."""
    yield "Budget", svg_budget(pictures.budgets)
    yield "Pattern", svg_pattern(pictures.pattern) if pictures.pattern is not None else ""
    yield "Timeline", svg_timeline(pictures.timeline)
    costs = pictures.costs
    lists = (("Agents", costs.by_agent), ("Models", costs.by_model), ("Tools", costs.by_tool))
    yield "Costs", "".join(f"<h3>{name}</h3>{svg_bars(lines, name)}" for name, lines in lists if lines)


def _without_secrets(value: Any, redactor: Redactor) -> Any:
    """Return a value of data classes and tuples with its texts redacted."""
    if redactor == HIDE_NOTHING:
        return value
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, tuple):
        return tuple(_without_secrets(part, redactor) for part in value)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    return dataclasses.replace(value, **{name: _without_secrets(part, redactor) for name, part in fields.items()})
