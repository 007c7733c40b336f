"""The pictures of a run as values: its pattern, its budget and its costs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.api import HIDE_NOTHING
from strands_cli_ui.pictures.costs import BudgetBar, Costs, budget_bars_of, costs_of
from strands_cli_ui.pictures.pattern_graph import PatternGraph, pattern_graph_of

if TYPE_CHECKING:
    from strands_cli.api import Branch, OpenedRun, Redactor, RunSummary


@dataclass(frozen=True, slots=True)
class Pictures:
    """The values of the pictures of a run, without secrets; `pattern` is None where its workflow is not known."""

    pattern: PatternGraph | None
    costs: Costs
    budgets: tuple[BudgetBar, ...]


def pictures_of(run: OpenedRun, summary: RunSummary, tree: Sequence[Branch]) -> Pictures:
    """Return the pictures of a run as values.

    Args:
        summary: That of the run.
        tree: Its effects as trees.
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
            pattern=None if spec is None else pattern_graph_of(spec.pattern, summary, tree),
            costs=costs_of(summary),
            budgets=budgets,
        ),
        run.redactor,
    )
    return pictures


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
