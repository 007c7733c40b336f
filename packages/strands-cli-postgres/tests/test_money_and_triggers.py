"""Limits over time, what earlier runs cost, and the only run of an occurrence, in a store that machines share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.strands import Folder, empty_folder
from tests.fakes.model_server import ModelServer, Turn

pytestmark = pytest.mark.postgres

FLOW = {
    "version": 2,
    "name": "flow",
    "runtime": {"provider": "openai", "model_id": "gpt-4o-mini"},
    "agents": {"writer": {"prompt": "You write."}},
    "pattern": {"type": "chain", "config": {"steps": [{"agent": "writer", "input": "One."}]}},
}


@pytest.fixture
def folder(tmp_path: Path, address: str) -> Iterator[Folder]:
    """Return a folder with a workflow, whose runs are in the database."""
    with empty_folder(tmp_path) as made:
        made.environ |= {"STRANDS_RUNS_DIR": "", "STRANDS_STORE": address, "OPENAI_API_KEY": "any"}
        made.write("flow.yaml", FLOW)
        yield made


def standing(folder: Folder, **budget: Any) -> None:
    folder.write("strands-policy.yaml", {"version": 1, "budgets": [{"per": "day", **budget}]})


def test_all_runs_of_a_store_spend_a_limit_over_time_together(folder: Folder) -> None:
    standing(folder, max_model_calls=2)
    with ModelServer([Turn("one", usage=(100, 10))], repeat=True) as server:
        codes = [folder.strands("run", "flow.yaml", OPENAI_BASE_URL=server.url).code for _ in range(3)]
        assert (codes, len(server.requests)) == ([0, 0, 20], 2)
        money = folder.strands("plan", "flow.yaml", "--json", OPENAI_BASE_URL=server.url).document["money"]
    assert (money["expected"]["runs"], money["expected"]["tokens"]["p50"]) == (2, 110)
    assert money["certain"]["budgets"][0]["spent"] == 2


def test_eight_starts_of_an_occurrence_are_one_run(folder: Folder) -> None:
    folder.write("triggers.yaml", {"version": 1, "triggers": {"nightly": {"workflow": "flow.yaml"}}})
    words = ("trigger", "nightly", "--occurrence", "2026-01-05T06:00Z", "--json")
    with ModelServer([Turn("one")], repeat=True) as server:
        ended = [each.end() for each in [folder.start(*words, OPENAI_BASE_URL=server.url) for _ in range(8)]]
        assert [(ran.code, ran.document["response"]) for ran in ended] == [(0, "one")] * 8
        assert len(server.requests) == 1
