"""Answers in form over the real client: how many requests the server receives, and what each of them asks."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from strands_cli.agents.model.structured_output import TOOL
from strands_cli.engine.plan_execution import RunResult
from strands_cli.errors import RunFailed, StrandsCliError
from tests.agents.kit import Site
from tests.agents.resumable import going
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording

AGENTS = "{judge: {prompt: p, tools: []}, worker: {prompt: w, tools: []}}"
FORMED = AGENTS.replace("prompt: p", "prompt: p, output_schema: {type: object, required: [n]}")
PATTERNS = {
    "output_schema": "{type: chain, config: {steps: [{agent: judge, input: go}]}}",
    "router": "{type: routing, config: {router: {agent: judge, input: go, max_retries: 0},"
    " routes: {a: {then: [{agent: worker, input: x}]}}}}",
    "evaluator": "{type: evaluator_optimizer, config: {producer: worker, producer_input: x,"
    " evaluator: {agent: judge, input: go}, accept: {min_score: 1, max_iters: 1}}}",
    "orchestrator": "{type: orchestrator_workers, config: {orchestrator: {agent: judge, input: go,"
    " limits: {max_rounds: 1}}, worker_template: {agent: worker}}}",
}
# As text, and as the tool takes it: a value that is not an object is under `answer`.
FITS: dict[str, Any] = {
    "output_schema": {"n": 1},
    "router": {"route": "a"},
    "evaluator": {"score": 90},
    "orchestrator": [{"task": "x"}],
}
WRONG: dict[str, Any] = {
    "output_schema": {"m": 1},
    "router": {"route": 5},
    "evaluator": {"score": 900},
    "orchestrator": {"answer": [{"job": "x"}]},
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", "any")


def taken(name: str) -> dict[str, Any]:
    fits = FITS[name]
    return fits if isinstance(fits, dict) else {"answer": fits}


class Judged:
    """One run whose judge answers in these turns, and what the server received from it."""

    def __init__(self, site: Site, name: str, *turns: Turn) -> None:
        self.result: RunResult | None = None
        self.error: StrandsCliError | None = None
        left = list(turns)

        def answer(request: dict[str, Any]) -> Turn:
            return left.pop(0) if self._is_judge(request) else Turn("done")

        with ModelServer(answer) as server:
            text = (
                f"version: 2\nname: t\nagents: {FORMED if name == 'output_schema' else AGENTS}\n"
                f"runtime: {{provider: openai, model_id: m, host: '{server.url}', failure_policy: {{retries: 0}}}}\n"
                f"pattern: {PATTERNS[name]}\n"
            )
            try:
                self.result = going(site, text)
            except RunFailed as error:
                self.error = error
            self.requests = [request for request in server.model_requests if self._is_judge(request)]
        assert left == []

    @staticmethod
    def _is_judge(request: dict[str, Any]) -> bool:
        return bool(request["messages"][0]["content"] in ("p", [{"type": "text", "text": "p"}]))


def forced(request: dict[str, Any]) -> bool:
    return request.get("tool_choice") not in (None, "auto")


@pytest.mark.parametrize("name", PATTERNS)
def test_fenced_json_is_taken_without_a_second_call(site: Site, name: str) -> None:
    judged = Judged(site, name, Turn(f"Well:\n```json\n{json.dumps(FITS[name])}\n```"))
    assert judged.result is not None
    assert [forced(request) for request in judged.requests] == [False]
    assert [tool["function"]["name"] for tool in judged.requests[0]["tools"]] == [TOOL]


@pytest.mark.parametrize("name", PATTERNS)
def test_prose_gets_the_turn_in_which_the_tool_must_be_called(site: Site, name: str) -> None:
    judged = Judged(site, name, Turn("Well, let me think."), Turn(calls=[(TOOL, taken(name))]))
    assert judged.result is not None
    assert [forced(request) for request in judged.requests] == [False, True]


@pytest.mark.parametrize("name", PATTERNS)
def test_a_wrong_answer_in_that_turn_gets_one_turn_to_correct_it(site: Site, name: str) -> None:
    wrong, right = Turn(calls=[(TOOL, WRONG[name])]), Turn(calls=[(TOOL, taken(name))])
    judged = Judged(site, name, Turn("Well."), wrong, right)
    assert judged.result is not None
    assert len(judged.requests) == 3
    told = judged.requests[2]["messages"][-1]
    assert told["role"] == "tool"
    assert "Validation failed" in json.dumps(told), "what is wrong is said to the model"


@pytest.mark.parametrize("name", PATTERNS)
def test_an_answer_that_stays_wrong_is_a_clear_failure(site: Site, name: str, wording: Wording) -> None:
    wrong = Turn(calls=[(TOOL, WRONG[name])])
    judged = Judged(site, name, Turn("Well."), wrong, wrong)
    assert judged.error is not None
    assert len(judged.requests) == 3
    said = judged.error.message
    wording(said)
    assert judged.error.exit_code == 10
    assert judged.error.fix


@pytest.mark.parametrize("name", PATTERNS)
def test_prose_for_ever_is_a_clear_failure_after_two_requests(site: Site, name: str, wording: Wording) -> None:
    judged = Judged(site, name, Turn("Well."), Turn("Well, well."))
    assert judged.error is not None
    wording(judged.error.message)
    assert [forced(request) for request in judged.requests] == [False, True]
