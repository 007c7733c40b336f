"""`strands run` at its limits and over failing servers: exit codes, exact requests, what is shown."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.strands import Folder
from tests.fakes.model_server import ModelServer, Turn

STEPS = [{"agent": "writer", "input": "One."}, {"agent": "writer", "input": "Two."}]


def runtime(**more: object) -> dict[str, object]:
    return {"provider": "openai", "model_id": "gpt-4o-mini", **more}


@pytest.mark.parametrize(
    ("budgets", "requests"),
    [
        ({"max_tokens": 1}, 1),
        ({"max_model_calls": 1}, 1),
        ({"max_cost_usd": 0.000001}, 1),
        ({"max_steps": 1}, 1),
    ],
    ids=str,
)
def test_a_limit_of_one_stops_the_run_with_20_and_keeps_what_was_done(
    folder: Folder, budgets: dict[str, float], requests: int
) -> None:
    folder.workflow(STEPS, runtime=runtime(budgets=budgets))
    with ModelServer([Turn("one", usage=(100, 10))], repeat=True) as server:
        ran = folder.strands("run", "flow.yaml", "--json", OPENAI_API_KEY="any", OPENAI_BASE_URL=server.url)
        assert len(server.requests) == requests
    ((name, _),) = budgets.items()
    assert ran.code == 20, ran.err
    assert f"runtime.budgets.{name}" in ran.err
    assert ran.err.count("strands resume ") == 1, "one hint, which works"
    more = re.findall(rf"strands (resume .* --budget {name}=.*)", ran.err)[-1]
    assert ran.document["status"] == "failed"
    assert "done  steps.0" in ran.err
    record = folder.record()
    assert record["status"] == "failed"
    assert record["reason"].startswith("budget: ")
    with ModelServer([Turn("one", usage=(10, 1))], repeat=True) as server:
        again = folder.strands(*more.split(), OPENAI_API_KEY="any", OPENAI_BASE_URL=server.url)
    assert again.code == 0 or len(server.requests) > 0, f"it came further: {again.err}"


def test_a_limit_of_one_second_stops_a_call_that_takes_longer(folder: Folder) -> None:
    folder.workflow(STEPS, runtime=runtime(budgets={"max_duration_s": 1}))
    with ModelServer([Turn("late", delay_s=3600)], repeat=True) as server:
        ran = folder.strands("run", "flow.yaml", OPENAI_API_KEY="any", OPENAI_BASE_URL=server.url)
        assert len(server.requests) <= 1
    assert ran.code == 20, ran.err
    assert "max_duration_s: 1" in ran.err


def test_a_server_that_fails_once_is_asked_again_and_a_person_sees_it(folder: Folder) -> None:
    policy = {"retries": 1, "backoff": "constant", "wait_min": 0.01}
    folder.workflow(STEPS, runtime=runtime(failure_policy=policy))
    turns = [Turn(status=503), Turn("one", usage=(1000, 500)), Turn(status=429), Turn("two", usage=(1000, 500))]
    with ModelServer(turns) as server:
        ran = folder.strands(
            "run", "flow.yaml", "--events", "events.jsonl", OPENAI_API_KEY="any", OPENAI_BASE_URL=server.url
        )
        assert len(server.requests) == 4
    assert (ran.code, ran.out) == (0, "two\n"), ran.err
    assert re.search(r"^  retry steps\.0  writer, .*\b10 ms: 127\.0\.0\.1:\d+ failed \(503\)$", ran.err, re.MULTILINE)
    assert re.search(r": 2 .*\$0\.0009", ran.err)
    assert "$0.0009" in ran.err
    events = [json.loads(line) for line in (folder.work / "events.jsonl").read_text().splitlines()]
    assert [event["attempt"] for event in events if event["event"] == "ModelRetried"] == [1, 1]


def test_an_unknown_price_is_exit_18_before_anything_is_asked(folder: Folder) -> None:
    model = {"provider": "openai", "model_id": "unheard-of", "budgets": {"max_cost_usd": 1}}
    folder.workflow(STEPS, runtime=model)
    folder.write("prices.json", {"models": {"openai/unheard-of": {"input": 1, "output": 1}}})
    with ModelServer([Turn("one", usage=(5, 5))], repeat=True) as server:
        keys = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url}
        ran = folder.strands("run", "flow.yaml", **keys)
        assert ran.code == 18
        assert "error[unknown-price]" in ran.err
        assert server.requests == []
        ran = folder.strands("run", "flow.yaml", "--json", STRANDS_PRICES="prices.json", **keys)
    assert ran.code == 0, ran.err
    assert ran.document["cost_usd"] == pytest.approx(2e-05)


def test_a_cost_that_is_not_known_is_null_and_not_zero(folder: Folder) -> None:
    folder.workflow(STEPS, runtime={"provider": "openai", "model_id": "unheard-of"})
    with ModelServer([Turn("one")], repeat=True) as server:
        ran = folder.strands("run", "flow.yaml", "--json", OPENAI_API_KEY="any", OPENAI_BASE_URL=server.url)
    assert ran.document["cost_usd"] is None
    assert "$" not in ran.err


@pytest.mark.parametrize("amount", ["0", "-1", "nan", "inf"])
def test_an_amount_that_limits_nothing_is_refused(folder: Folder, amount: str) -> None:
    folder.workflow(STEPS, runtime=runtime())
    ran = folder.strands("run", "flow.yaml", "--max-cost", amount)
    assert (ran.code, "--max-cost" in ran.err) == (2, True)


def test_the_smaller_of_two_limits_on_money_counts_and_is_kept_by_a_resumed_run(folder: Folder) -> None:
    folder.workflow(STEPS, runtime=runtime(budgets={"max_cost_usd": 0.00002}))
    with ModelServer([Turn("one", usage=(100, 10))], repeat=True) as server:
        keys = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url}
        ran = folder.strands("run", "flow.yaml", "--max-cost", "5", **keys)
        assert (ran.code, "max_cost_usd: 2e-05" in ran.err, len(server.requests)) == (20, True, 1)
        ran = folder.strands("run", "flow.yaml", "--max-cost", "0.00001", **keys)
        assert (ran.code, "max_cost_usd: 1e-05" in ran.err, len(server.requests)) == (20, True, 2)
        assert folder.strands("resume", "last", **keys).code == 20
        assert folder.strands("resume", "last", "--budget", "max_cost_usd=1", **keys).code == 0
    assert len(server.requests) == 3


def test_a_call_whose_most_could_pass_the_limit_is_not_made(folder: Folder) -> None:
    folder.workflow(STEPS, runtime=runtime(max_tokens=1000))
    with ModelServer([Turn("one", usage=(100, 1000))], repeat=True) as server:
        keys = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url}
        ran = folder.strands("run", "flow.yaml", "--max-cost", "0.0003", **keys)
        assert (ran.code, len(server.requests)) == (20, 0), ran.err
        ran = folder.strands("run", "flow.yaml", "--max-cost", "0.0012", **keys)
        assert (ran.code, len(server.requests)) == (20, 1), "the first call cost half of it and could cost more"
        (more,) = re.findall(r"strands (resume .* --budget max_cost_usd=.*)", ran.err)
        assert folder.strands(*more.split(), **keys).code == 0
    assert len(server.requests) == 2


def test_calls_side_by_side_wait_for_each_other_where_both_could_pass_the_limit(folder: Folder) -> None:
    branches = [{"id": f"b{n}", "steps": [STEPS[0]]} for n in range(4)]
    folder.write(
        "flow.yaml",
        {
            "version": 2,
            "name": "flow",
            "runtime": runtime(max_tokens=1000),
            "agents": {"writer": {"prompt": "You write."}},
            "pattern": {"type": "parallel", "config": {"branches": branches}},
        },
    )
    with ModelServer([Turn("one", usage=(100, 10))], repeat=True) as server:
        keys = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url}
        ran = folder.strands("run", "flow.yaml", "--max-cost", "0.0009", "--json", **keys)
    assert (ran.code, len(server.requests)) == (0, 4), ran.err
    assert ran.document["cost_usd"] == pytest.approx(4 * 0.000021)
