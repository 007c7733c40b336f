"""Limits of policy files over time: all runs of a store count, also those of other processes, and each once."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.strands import Folder
from tests.fakes.model_server import ModelServer, Turn

STEPS = [{"agent": "writer", "input": "One."}, {"agent": "writer", "input": "Two."}]
# 100 tokens of input and 10 of output cost this much.
CALL = 0.000021
TURN = Turn("one", usage=(100, 10))


def standing(folder: Folder, *budgets: dict[str, Any], name: str = "strands-policy.yaml") -> Path:
    return folder.write(name, json.dumps({"version": 1, "budgets": budgets}, indent=1))


def flow(folder: Folder, **sections: Any) -> None:
    folder.workflow(STEPS, runtime={"provider": "openai", "model_id": "gpt-4o-mini"}, **sections)


def keys(server: ModelServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url}


@pytest.mark.parametrize(
    ("limit", "calls"), [({"max_cost_usd": 2.5 * CALL}, 3), ({"max_tokens": 300}, 3), ({"max_model_calls": 3}, 3)]
)
def test_runs_of_a_day_spend_one_limit_together_and_go_on_when_it_is_larger(
    folder: Folder, limit: dict[str, float], calls: int
) -> None:
    flow(folder)
    policy = standing(folder, {"per": "day", **limit})
    with ModelServer([TURN], repeat=True) as server:
        assert folder.strands("run", "flow.yaml", **keys(server)).code == 0
        refused = folder.strands("run", "flow.yaml", "--json", **keys(server))
        assert (refused.code, len(server.requests)) == (20, calls), refused.err
        line = next(number for number, text in enumerate(policy.read_text().splitlines(), 1) if "max_" in text)
        tomorrow = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=1)
        assert f"strands-policy.yaml:{line}" in refused.err
        assert f"{tomorrow}T00:00Z" in refused.err
        assert f"strands resume {refused.document['run']}" in refused.err
        assert refused.document["status"] == "interrupted"
        assert folder.strands("run", "flow.yaml", **keys(server)).code == 20
        assert folder.strands("resume", refused.document["run"], **keys(server)).code == 20
        assert len(server.requests) == calls, "a spent limit allows no further call"
        standing(folder, {"per": "day", **{name: value * 10 for name, value in limit.items()}})
        assert folder.strands("resume", refused.document["run"], **keys(server)).code == 0
    assert len(server.requests) == calls + 1, "what was done is not repeated, and so it counts once"


def test_a_run_that_another_process_still_works_on_counts(folder: Folder) -> None:
    flow(folder)
    standing(folder, {"per": "week", "max_model_calls": 1})
    with ModelServer([TURN, Turn("late", delay_s=3600)], repeat=True) as server:
        standing(folder, {"per": "week", "max_model_calls": 2})
        other = folder.start("run", "flow.yaml", "--verbose", **keys(server))
        other.wait_for("done  steps.0")
        standing(folder, {"per": "week", "max_model_calls": 1})
        refused = folder.strands("run", "flow.yaml", **keys(server))
        assert refused.code == 20, refused.err
        folder.end_started()
        assert folder.strands("run", "flow.yaml", **keys(server)).code == 20, "a killed one has spent it all the same"


def test_scopes_choose_what_counts_and_what_counts_by_itself(folder: Folder) -> None:
    flow(folder)
    flow_text = (folder.work / "flow.yaml").read_text()
    folder.write("other.yaml", {**json.loads(flow_text), "name": "other"})
    with ModelServer([TURN], repeat=True) as server:
        for budget in (
            {"per": "day", "max_model_calls": 1, "key": "anthropic"},
            {"per": "day", "max_model_calls": 1, "workflow": "o*"},
            {"per": "day", "max_model_calls": 1, "user": "nobody-of-this-name"},
            {"per": "day", "max_model_calls": 1, "key": "openai/gpt-5*"},
        ):
            standing(folder, budget)
            assert folder.strands("run", "flow.yaml", **keys(server)).code == 0, budget
        standing(folder, {"per": ["day", "workflow"], "max_model_calls": 3})
        assert folder.strands("run", "flow.yaml", **keys(server)).code == 20
        assert folder.strands("run", "other.yaml", **keys(server)).code == 0
        standing(folder, {"per": "day", "max_model_calls": 3, "key": "openai/gpt-4*"})
        assert folder.strands("run", "other.yaml", **keys(server)).code == 20


def test_of_several_files_the_strictest_holds(folder: Folder) -> None:
    flow(folder)
    standing(folder, {"per": "day", "max_model_calls": 100})
    own = "../home/.config/strands-cli/policy.yaml"
    standing(folder, {"per": "month", "max_model_calls": 1}, name=own)
    with ModelServer([TURN], repeat=True) as server:
        ran = folder.strands("run", "flow.yaml", **keys(server))
        assert (ran.code, len(server.requests)) == (20, 1)
        assert re.search(r"policy\.yaml:\d+ .*month", ran.err)


def test_a_model_without_a_price_is_refused_before_the_run(folder: Folder) -> None:
    flow(folder)
    spec = json.loads((folder.work / "flow.yaml").read_text())
    spec["runtime"]["model_id"] = "unheard-of"
    folder.write("flow.yaml", spec)
    standing(folder, {"per": "day", "max_cost_usd": 5, "key": "openai"})
    with ModelServer([TURN], repeat=True) as server:
        for command in ("run", "plan"):
            ran = folder.strands(command, "flow.yaml", **keys(server))
            assert (ran.code, "unknown-price" in ran.codes) == (18, True)
            assert "strands-policy.yaml:" in ran.err
        assert server.requests == []
        standing(folder, {"per": "day", "max_cost_usd": 5, "key": "anthropic"})
        assert folder.strands("run", "flow.yaml", **keys(server)).code == 0
        standing(folder, {"per": "day", "max_cost_usd": 5})
        folder.write("prices.json", {"models": {"openai/unheard-of": {"input": 1, "output": 1}}})
        ran = folder.strands("run", "flow.yaml", STRANDS_PRICES="prices.json", **keys(server))
        assert ran.code == 20, "what was spent before has no known cost"
        assert "2 model calls" in ran.err


@pytest.mark.parametrize(
    "budgets",
    [
        "{per: day}",
        "[{per: day, max_cost_usd: 0}]",
        "[{per: day, max_cost_usd: -1}]",
        "[{per: day, max_cost_usd: .nan}]",
        "[{per: day, max_cost_usd: true}]",
        "[{per: day, max_cost_usd: '5 EUR'}]",
        "[{per: hour, max_cost_usd: 5}]",
        "[{per: [day, week], max_cost_usd: 5}]",
        "[{per: [workflow], max_cost_usd: 5}]",
        "[{max_cost_usd: 5}]",
        "[{per: day}]",
        "[{per: day, max_cost: 5}]",
        "[{per: day, max_cost_usd: 5, workflow: [a, b]}]",
        "[{per: day, max_cost_usd: 5, workflow: 3}]",
        "[day]",
    ],
)
def test_a_limit_that_means_nothing_is_a_finding_and_nothing_runs(folder: Folder, budgets: str) -> None:
    folder.workflow(STEPS, {"steps.0": [{"text": "x"}], "steps.1": [{"text": "x"}]})
    folder.write("strands-policy.yaml", f"version: 1\nbudgets: {budgets}\n")
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, set(ran.codes)) == (21, {"bad-policy"})
    assert "strands-policy.yaml:2" in ran.err
    assert "fix: " in ran.err


def test_a_plan_tells_what_is_certain_expected_and_unknown(folder: Folder) -> None:
    flow(folder)
    standing(folder, {"per": ["day", "key"], "max_cost_usd": 1})
    with ModelServer([TURN, Turn("two", usage=(200, 20))], repeat=True) as server:
        before = folder.strands("plan", "flow.yaml", "--max-cost", "0.5", "--json", **keys(server)).document["money"]
        assert (before["certain"]["max_cost_usd"], before["expected"]) == (0.5, None)
        assert "no earlier runs" in folder.strands("plan", "flow.yaml", **keys(server)).out
        for _ in range(2):
            assert folder.strands("run", "flow.yaml", **keys(server)).code == 0
        after = folder.strands("plan", "flow.yaml", "--json", **keys(server)).document["money"]
        assert after["expected"]["runs"] == 2
        assert after["expected"]["tokens"] == {"p50": 330, "p90": 330}
        assert after["expected"]["cost_usd"] == pytest.approx({"p50": 3 * CALL, "p90": 3 * CALL})
        (state,) = after["certain"]["budgets"]
        assert (state["spent"], state["for"]) == (pytest.approx(6 * CALL), {"key": "openai"})
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", after["prices"]["date"])
        stats = folder.strands("runs", "stats", "--json").document
        assert stats["budgets"] == [state]
        assert state["policy"] in folder.strands("runs", "stats").out
        standing(folder, {"per": "day", "max_cost_usd": CALL})
        refused = folder.strands("plan", "flow.yaml", **keys(server))
        assert (refused.code, folder.strands("run", "flow.yaml", **keys(server)).code) == (20, 20)
        assert "expected" in refused.out


def test_a_plan_names_unknown_prices_and_a_store_that_cannot_be_read(folder: Folder) -> None:
    flow(folder)
    spec = json.loads((folder.work / "flow.yaml").read_text())
    spec["runtime"]["model_id"] = "unheard-of"
    folder.write("flow.yaml", spec)
    folder.runs.write_text("no directory")
    ran = folder.strands("plan", "flow.yaml", "--json", OPENAI_API_KEY="any")
    assert ran.code == 0
    price, store = ran.document["money"]["unknown"]
    assert "openai/unheard-of" in price
    assert str(folder.runs) in store
