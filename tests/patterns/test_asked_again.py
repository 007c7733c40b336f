"""A call whose answer made its step fail is made again when the run continues, and no other call is."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Row
from strands_cli.errors import InvalidAnswer, RunFailed
from strands_cli.events import StepFailed
from tests.fakes.model_server import ModelServer, Turn
from tests.patterns.flows import PATTERNS, model
from tests.patterns.kit import People, journal_in, last_text, marks_in, plan_in, run_in

ASK = 'type: chain\nconfig: {steps: [{agent: editor, input: "first"}, {agent: editor, input: "second"}]}'
FORM = "{type: object, properties: {label: {type: string}}, required: [label]}"
FORMED = f"sorter: {{prompt: You sort., tools: [], output_schema: {FORM}}}"
SORT = 'type: chain\nconfig: {steps: [{agent: editor, input: "first"}, {agent: sorter, input: "sort it"}]}'
NOTHING = Turn("")


class Once:
    """Answers each request badly when it first comes, and as `then` does after that."""

    def __init__(self, then: Callable[[dict[str, Any]], Turn], bad: Turn | None = NOTHING) -> None:
        self.then = then
        self.bad = bad
        self.seen: Counter[str] = Counter()

    def __call__(self, request: dict[str, Any]) -> Turn:
        text = f"{len(request['messages'])} {last_text(request)}".replace("/whole", "")
        self.seen[text] += 1
        return self.bad if self.seen[text] == 1 and self.bad is not None else self.then(request)


def rows_in(directory: Path) -> dict[str, Row]:
    journal = journal_in(directory)
    rows = {row.key: row for row in journal.rows()}
    journal.close()
    return rows


def until_it_ends(directory: Path, plan: Any, people: People, most: int = 40) -> tuple[Any, int]:
    """Run, and continue after each failure; return the result and the number of failures."""
    for failures in range(most):
        try:
            return run_in(directory, plan, people), failures
        except RunFailed as error:
            latest = error
    raise AssertionError(f"it still fails after {most} runs") from latest


@pytest.mark.parametrize("name", PATTERNS)
def test_every_call_of_a_pattern_may_answer_nothing_once_and_the_run_is_brought_to_its_end(
    name: str, tmp_path: Path
) -> None:
    pattern, answers, response, marks = PATTERNS[name]
    known = Once(model(), bad=None)
    with ModelServer(known) as server:
        run_in(tmp_path / "whole", plan_in(tmp_path / "whole", pattern, server.url), People(answers))
    asked = Once(model())
    with ModelServer(asked) as server:
        plan = plan_in(tmp_path, pattern, server.url, retries=0)
        result, failures = until_it_ends(tmp_path, plan, People(answers))
    assert failures
    more = [text for text, count in asked.seen.items() if count > 1 + max(1, known.seen[text])]
    assert not more, "no call that had its answer is made again"
    assert (result.response, marks_in(tmp_path)) == (response, marks)
    # A call beside one that fails is cancelled, before or after the server has counted it.
    assert 0 <= asked.seen.total() - result.model_calls <= failures, "every answer was paid for"
    models = [row for row in rows_in(tmp_path).values() if row.kind == "model"]
    assert sum(row.usage.total_tokens for row in models) == result.usage.total_tokens
    assert sum(row.paid_calls for row in models) == result.model_calls


def test_within_a_run_an_empty_answer_is_asked_for_again_as_the_policy_allows(tmp_path: Path) -> None:
    asked = Once(lambda request: Turn(f"well {last_text(request)}"))
    with ModelServer(asked) as server:
        plan = plan_in(tmp_path, ASK, server.url, rest="", retries=1)
        result = run_in(tmp_path, plan)
    assert (result.response, result.model_calls) == ("well second", 4)
    row = rows_in(tmp_path)["steps.0/model.0"]
    assert (row.status, row.attempt, row.paid_calls) == ("done", 2, 2)


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (Turn("no label"), InvalidAnswer),
        (Turn('{"label": 7}'), InvalidAnswer),
        (Turn(calls=[("final_answer", {"label": 7})]), InvalidAnswer),
        (Turn("half", finish="length"), RunFailed),
        (Turn("a", finish="content_filter"), RunFailed),
    ],
    ids=["text", "wrong text", "wrong call", "too long", "withheld"],
)
def test_an_answer_without_the_required_form_is_asked_for_again(bad: Turn, error: type, tmp_path: Path) -> None:
    asked = [0]

    def answer(request: dict[str, Any]) -> Turn:
        if last_text(request) == "first":
            return Turn("begun")
        asked[0] += 1
        return bad if asked[0] <= wrong[0] else Turn(calls=[("final_answer", {"label": "x"})])

    wrong = [9]
    with ModelServer(answer) as server:
        plan = plan_in(tmp_path, SORT, server.url, agents=FORMED, retries=0)
        with pytest.raises(error):
            run_in(tmp_path, plan)
        before, wrong[0] = asked[0], 0
        assert rows_in(tmp_path)[f"steps.1/model.{before - 1}"].status == "failed"
        result = run_in(tmp_path, plan)
        assert asked[0] == before + 1, "the wrong answer, and no correction of it"
    # What the provider withheld was not answered.
    assert (result.response, result.model_calls) == ('{"label": "x"}', asked[0] + (bad.finish != "content_filter"))


def test_a_run_that_fails_again_can_be_continued_as_often_as_a_person_likes(tmp_path: Path) -> None:
    with ModelServer(lambda request: Turn("")) as server:
        plan = plan_in(tmp_path, ASK, server.url, retries=0)
        for attempt in (1, 2, 3):
            with pytest.raises(RunFailed):
                run_in(tmp_path, plan)
            row = rows_in(tmp_path)["steps.0/model.0"]
            assert (row.status, row.attempt, row.paid_calls) == ("failed", attempt, attempt)
        server.script = lambda request: Turn("well")
        assert run_in(tmp_path, plan).model_calls == 5


TEXT = {"contentBlockDelta": {"delta": {"text": "The first half, "}}}
# Answers that a process stored as done, and ended before it stored that their step could not use them.
STORED: dict[str, list[Any]] = {
    "empty": [{"messageStart": {"role": "assistant"}}, {"messageStop": {"stopReason": "end_turn"}}],
    "without an end": [{"messageStart": {"role": "assistant"}}, TEXT],
    "too long": [TEXT, {"contentBlockStop": {}}, {"messageStop": {"stopReason": "max_tokens"}}],
    "withheld": [{"messageStop": {"stopReason": "content_filtered"}}],
}


@pytest.mark.parametrize("events", STORED.values(), ids=STORED)
def test_an_answer_of_no_use_is_asked_for_again_though_it_is_stored(events: list[Any], tmp_path: Path) -> None:
    with ModelServer(lambda request: Turn("")) as server:
        plan = plan_in(tmp_path, ASK, server.url, retries=0)
        with pytest.raises(RunFailed):
            run_in(tmp_path, plan)
        journal = journal_in(tmp_path)
        row = journal.row("steps.0/model.0")
        assert row is not None
        done = replace(row, status="done", output={"events": events, "model_state": {}}, detail={"request": "first"})
        asyncio.run(journal.write(done))
        journal.close()
        server.script = lambda request: Turn("well")
        result = run_in(tmp_path, plan)
    assert (result.response, result.model_calls) == ("well", 3)
    assert rows_in(tmp_path)["steps.0/model.0"].attempt == 2


def test_an_answer_of_another_form_is_asked_for_again_though_it_is_stored(tmp_path: Path) -> None:
    with ModelServer(lambda request: Turn("begun" if last_text(request) == "first" else "no label")) as server:
        plan = plan_in(tmp_path, SORT, server.url, agents=FORMED, retries=0)
        with pytest.raises(InvalidAnswer):
            run_in(tmp_path, plan)
        journal = journal_in(tmp_path)
        for row in list(journal.rows("model")):
            asyncio.run(journal.write(replace(row, status="done", detail={"request": "sort it"})))
        journal.close()
        server.script = lambda request: Turn(calls=[("final_answer", {"label": "x"})])
        assert run_in(tmp_path, plan).response == '{"label": "x"}'


def test_what_followed_a_wrong_answer_stays_when_the_run_continues(tmp_path: Path) -> None:
    pattern = """
type: routing
config:
  router: {agent: judge, input: which?, max_retries: 1}
  default: other
  routes:
    one: {then: [{agent: editor, input: one}]}
    other: {then: [{agent: editor, input: other}]}
"""
    with ModelServer(lambda request: Turn("nowhere" if request.get("tools") else "")) as server:
        plan = plan_in(tmp_path, pattern, server.url, retries=0)
        with pytest.raises(RunFailed):
            run_in(tmp_path, plan)
        before = len(server.model_requests)
        server.script = lambda request: (
            Turn(calls=[("final_answer", {"route": "one"})]) if request.get("tools") else Turn("well")
        )
        result = run_in(tmp_path, plan)
        assert len(server.model_requests) == before + 1, "the router is not asked again: its default has begun"
    assert result.response == "well"
    assert "routes.one.steps.0" not in rows_in(tmp_path)


def test_an_agent_that_is_a_tool_answers_nothing_and_its_error_stays(tmp_path: Path) -> None:
    agents = "lead: {prompt: You lead., tools: ['agent:editor']}"
    pattern = 'type: chain\nconfig: {steps: [{agent: lead, input: "lead"}, {agent: judge, input: "end"}]}'
    calls = {"lead": Turn(calls=[("editor", {"input": "help"})]), "help": Turn(""), "end": Turn("")}

    def answer(request: dict[str, Any]) -> Turn:
        return calls.get(last_text(request), Turn("went on"))

    with ModelServer(answer) as server:
        plan = plan_in(tmp_path, pattern, server.url, agents=agents, retries=0)
        with pytest.raises(RunFailed):
            run_in(tmp_path, plan)
        before = len(server.model_requests)
        calls["end"] = Turn("well")
        failed: list[str] = []
        result = run_in(
            tmp_path, plan, None, lambda event: failed.append(event.key) if isinstance(event, StepFailed) else None
        )
        assert len(server.model_requests) == before + 1
    assert (result.response, failed) == ("well", [])
    assert result.model_calls == before + 1
