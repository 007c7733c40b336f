"""The money of a run in its plan: as lines, as JSON, and whether a limit over time is spent."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from strands_cli.errors import StrandsCliError
from strands_cli.planning.plan_values import agents_in
from strands_cli.planning.prices import TABLE
from strands_cli.texts.phrases import counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from strands_cli.engine.stored_runs.ledger import BudgetState
    from strands_cli.planning.plan_values import Plan


class PlannedMoney:
    """What is known of the money of a run before it.

    Attributes:
        states: The limits over time that count its calls, with what is spent.
        expected: See `run_views.money.expected`.
        fault: Why the store cannot tell these.
    """

    def __init__(self, planned: Plan) -> None:
        self.states: list[BudgetState] = []
        self.expected: dict[str, Any] | None = None
        self.fault = ""
        self._planned, self._models = planned, _labels_of(planned)
        directory = planned.store.directory
        if directory is not None and not directory.exists():
            return
        from strands_cli.engine.stored_runs.opened_store import open_store
        from strands_cli.run_views.money import expected, states_for

        try:
            with contextlib.closing(open_store(planned.store)) as store:
                self.expected = expected(planned.spec.name, store)
                self.states = states_for(planned, self._models, store)
        except StrandsCliError as error:
            self.fault = error.message

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        prices = self._planned.prices
        limits = {name: value for name, value in self._planned.spec.runtime.budgets if name.startswith("max_")}
        return {
            "certain": {
                **{name: value for name, value in limits.items() if value is not None},
                "budgets": [state.as_dict() for state in self.states],
            },
            "expected": self.expected,
            "unknown": [*self._unknown(), *([self.fault] if self.fault else [])],
            "prices": {"date": prices.date, "file": "" if prices.file == str(TABLE) else prices.file},
        }

    def _unknown(self) -> Iterator[str]:
        """Yield, in words, what keeps the money of a run from being known before it."""
        for label in self._models:
            provider, _, model_id = label.partition("/")
            if self._planned.prices.price(provider, model_id or None) is None:
                yield f"the price of {label}"
        if self._planned.bounds.model_calls is None and self._planned.spec.runtime.budgets.max_model_calls is None:
            yield "the number of model calls"

    def lines(self) -> Iterator[str]:
        """Yield it as text; nothing for a workflow that asks no model."""
        if not self._models:
            return
        document = self.document()
        limits = [f"{name}: {value:g}" for name, value in document["certain"].items() if name != "budgets"]
        for state in self.states:
            limit, _, spent, _, origin = state.cells
            limits.append(f"{limit}, of which {spent} are spent ({origin})")
        yield f"certain   {'; '.join(limits) or 'no limit'}"
        yield f"expected  {_expected(self.expected) if self.expected else 'no earlier runs'}"
        yield f"unknown   {'; '.join(document['unknown']) or 'nothing'}"
        date, file = document["prices"].values()
        yield f"prices    of {date or 'no date'}, {file or 'those of strands-cli'}"


def _labels_of(planned: Plan) -> list[str]:
    """Return the models of a plan, each once, as `provider/model_id`."""
    agents = [*planned.agents.values(), *agents_in(planned.called())]
    models = (model for agent in agents for model in agent.every_model)
    return list(dict.fromkeys(model.label for model in models))


def _expected(expected: Mapping[str, Any]) -> str:
    """Return the median and the 90th percentile of each figure."""
    cost, tokens, seconds = expected["cost_usd"], expected["tokens"], expected["seconds"]
    parts = [f"${cost['p50']:.4f} (p90 ${cost['p90']:.4f})" if cost else "an unknown cost"]
    parts += [f"{tokens['p50']:,} tokens (p90 {tokens['p90']:,})"]
    parts += [f"{duration(seconds['p50'])} (p90 {duration(seconds['p90'])})"] if seconds else []
    return f"{', '.join(parts)}: the median of {counted(expected['runs'], 'earlier run')}"
