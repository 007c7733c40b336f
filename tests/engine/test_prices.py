"""What a call costs, and that an unknown price is never zero."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.errors import ExitCode, NotEquipped
from strands_cli.events import Usage
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.prices import FREE, TABLE, Price, PriceTable, read_prices
from tests.fakes.plans import chain_of, found
from tests.wordings import Wording

CHEAP = Price(1.0, 2.0, cache_read=0.5, cache_write=1.25)
STEP = "- {agent: writer, input: x}"
MONEY = "{provider: openai, model_id: MODEL, budgets: {max_cost_usd: 1}}"


def test_the_shipped_table_is_whole_dated_and_sourced() -> None:
    table, document = read_prices({}), json.loads(TABLE.read_text())
    assert table.date == document["date"]
    assert document["sources"]
    assert all(price.output >= price.input > 0 for price in table.models.values())
    assert all((price.cache_read or 0) < price.input for price in table.models.values())
    assert table.price("openai", "gpt-4o-mini") == Price(0.15, 0.6, 0.075)


def test_tokens_of_the_cache_are_taken_out_of_the_input_where_the_provider_counts_them_there() -> None:
    usage = Usage(1_000_000, 500_000, cache_read_tokens=400_000, cache_write_tokens=100_000)
    assert CHEAP.cost(usage) == pytest.approx(0.5 + 1.0 + 0.2 + 0.125)
    beside = Price(1.0, 2.0, 0.5, 1.25, cache_beside_input=True)
    assert beside.cost(usage) == pytest.approx(1.0 + 1.0 + 0.2 + 0.125)


@pytest.mark.parametrize(
    ("price", "usage"),
    [
        (CHEAP, Usage()),
        (Price(1, 2), Usage(10, 10, cache_read_tokens=5)),
        (Price(1, 2, cache_read=0.5), Usage(10, 10, cache_write_tokens=5)),
    ],
)
def test_a_cost_that_cannot_be_known_is_unknown_and_not_zero(price: Price, usage: Usage) -> None:
    assert price.cost(usage) is None


def test_a_recording_costs_nothing_and_an_unknown_model_is_unknown() -> None:
    table = read_prices({})
    assert table.price("replay", None) == FREE
    assert FREE.cost(Usage()) == FREE.cost(Usage(5, 5, 5, 5)) == 0.0
    assert table.price("openai", "gpt-4o-minimal") is None
    assert table.price("ollama", "llama3.2") is None
    assert table.price("llamacpp", None) is None


@given(st.lists(st.integers(0, 10**7), min_size=4, max_size=4), st.booleans())
def test_a_known_cost_is_never_negative_and_grows_with_the_output(tokens: list[int], beside: bool) -> None:
    price = Price(1.0, 2.0, 0.5, 1.25, beside)
    cost, more = price.cost(Usage(*tokens)), price.cost(Usage(tokens[0], tokens[1] + 1, *tokens[2:]))
    assert more is not None
    assert more > (cost or 0.0) >= 0.0


def own(tmp_path: Path, models: Any) -> dict[str, str]:
    file = tmp_path / "prices.json"
    file.write_text(models if isinstance(models, str) else json.dumps({"date": "today", "models": models}))
    return {"STRANDS_PRICES": str(file)}


def test_a_file_of_ones_own_wins_over_the_shipped_one_and_leaves_the_rest(tmp_path: Path) -> None:
    table = read_prices(own(tmp_path, {"openai/gpt-4o": {"input": 7, "output": 8}}))
    assert table.price("openai", "gpt-4o") == Price(7, 8)
    assert table.price("openai", "gpt-4o-mini") == Price(0.15, 0.6, 0.075)
    assert (table.date, table.file) == ("today", str(tmp_path / "prices.json"))


def test_the_most_exact_key_wins() -> None:
    models = {
        "a/*": Price(1, 1),
        "a/big-*": Price(2, 2),
        "a/big-[x]": Price(3, 3),
        "ollama": Price(0, 0),
        "*/little": Price(4, 4),
    }
    table = PriceTable(models, "file")
    assert table.price("a", "small") == Price(1, 1)
    assert table.price("a", "little") == Price(4, 4)
    assert table.price("a", "big-one") == Price(2, 2)
    assert table.price("a", "big-[x]") == Price(3, 3)
    assert table.price("ollama", None) == Price(0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[]",
        '{"models": []}',
        '{"models": {"a/b": 3}}',
        '{"models": {"a/b": {"input": 1}}}',
        '{"models": {"a/b": {"input": 1, "output": -1}}}',
        '{"models": {"a/b": {"input": 1, "output": "2"}}}',
        '{"models": {"a/b": {"input": 1, "output": true}}}',
        '{"models": {"a/b": {"input": 1, "output": NaN}}}',
        '{"models": {"a/b": {"input": 1, "output": 2, "cached": 1}}}',
    ],
)
def test_a_bad_table_is_reported_with_its_file_and_fails_the_plan_with_18(
    tmp_path: Path, text: str, wording: Wording
) -> None:
    environ = own(tmp_path, text)
    with pytest.raises(NotEquipped) as raised:
        read_prices(environ)
    wording(raised.value.message)
    assert "prices.json" in raised.value.message
    plan = chain_of(STEP, environ={"OPENAI_API_KEY": "key-of-tests", **environ})
    (finding,) = found(plan, "bad-prices")
    wording(finding.message)
    with pytest.raises(NotEquipped):
        require_runnable(plan)


def test_a_table_that_is_not_there_is_reported() -> None:
    with pytest.raises(NotEquipped, match="nowhere"):
        read_prices({"STRANDS_PRICES": "nowhere/prices.json"})


def test_a_limit_on_money_needs_the_price_of_every_model_in_use() -> None:
    agents = "{writer: {prompt: p}, editor: {prompt: p, model_id: unheard-of}}"
    runtime = MONEY.replace("MODEL", "gpt-4o-mini")
    (finding,) = found(chain_of(STEP, runtime=runtime, agents=agents), "unknown-price")
    assert "openai/unheard-of" in finding.message
    assert "STRANDS_PRICES" in (finding.fix or "")
    assert finding.where is not None
    assert finding.where.pointer == "/runtime/budgets/max_cost_usd"
    with pytest.raises(NotEquipped) as raised:
        require_runnable(chain_of(STEP, runtime=runtime, agents=agents))
    assert raised.value.exit_code == ExitCode.NOT_EQUIPPED == 18
    assert found(chain_of(STEP, runtime=runtime), "unknown-price") == []
    assert found(chain_of(STEP, runtime="{provider: openai, model_id: unheard-of}"), "unknown-price") == []


def test_what_the_fix_says_helps(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": "key-of-tests", **own(tmp_path, {"openai/mine": {"input": 1, "output": 2}})}
    plan = chain_of(STEP, runtime=MONEY.replace("MODEL", "mine"), environ=environ)
    assert found(plan, "unknown-price") == []
    assert plan.prices.price("openai", "mine") == Price(1, 2)
