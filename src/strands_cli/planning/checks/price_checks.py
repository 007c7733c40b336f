"""Whether the limits of a workflow can be kept here: a limit on money needs prices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from strands_cli.errors import Code, Finding, NotEquipped
from strands_cli.planning.plan import PlannedAgent, PlannedTool
from strands_cli.planning.workflow_tools import agents_in
from strands_cli.prices import VARIABLE, PriceTable, load_prices
from strands_cli.workflow import WorkflowSpec
from strands_cli.workflow.yaml import Document, escape

UNKNOWN_PRICE = Code(
    "unknown-price",
    "`max_cost_usd` limits a model whose price is unknown, so the limit cannot be enforced.",
    "Add the model's price to a file and name it in STRANDS_PRICES, or limit max_tokens.",
    18,
)


def prices_of(environ: Mapping[str, str] | None) -> tuple[PriceTable, list[Finding]]:
    """Return the prices that hold here; what is wrong with the person's own file comes as findings."""
    try:
        return load_prices(environ), []
    except NotEquipped as error:
        return PriceTable({}, ""), list(error.findings)


def check_limits(
    spec: WorkflowSpec,
    agents: Mapping[str, PlannedAgent],
    prices: PriceTable,
    document: Document,
    called: Iterable[PlannedTool] = (),
) -> Iterator[Finding]:
    """Yield a finding for each model without a known price that a limit on money needs.

    Args:
        called: Its tools: what agents and workflows among them spend counts too.
    """
    if spec.runtime.budgets.max_cost_usd is not None:
        used = [*agents.values(), *agents_in(called)]
        yield from _unpriced("/runtime/budgets/max_cost_usd", used, prices, document)
    for agent in agents.values():
        for part, limits, name in (("budgets", agent.budgets, "max_cost_usd"), ("limits", agent.limits, "cost_usd")):
            if getattr(limits, name, None) is not None:
                used = [agent, *agents_in(agent.tools)]
                yield from _unpriced(f"/agents/{escape(agent.id)}/{part}/{name}", used, prices, document)


def _unpriced(
    pointer: str, agents: Iterable[PlannedAgent], prices: PriceTable, document: Document
) -> Iterator[Finding]:
    limit = pointer.rpartition("/")[2]
    models = [model for agent in agents for model in (agent.model, agent.summarizer) if model is not None]
    for provider, model_id in dict.fromkeys((model.provider, model.model_id) for model in models):
        if prices.price(provider, model_id) is None:
            name = f"{provider}/{model_id}" if model_id else provider
            message = f"{limit} cannot be kept: the price of {name} is not in {prices.file}"
            entry = f'{{"models": {{"{name}": {{"input": USD, "output": USD}}}}}}'
            fix = f"write {entry} (for a million tokens) to a file and set {VARIABLE} to it, or limit tokens"
            yield Finding(UNKNOWN_PRICE, message, document.where(pointer), fix)
