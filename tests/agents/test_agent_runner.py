"""One agent, one step: the SDK's own loop over gated tools, ending in an answer or in a plain reason."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from strands import Agent

from strands_cli.agents.agent_runner import SdkAgentRunner
from strands_cli.engine.journal.journal_rows import Answer
from strands_cli.engine.ports import AgentRequest
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import BudgetExceeded, RunFailed, StrandsCliError, WaitingForPerson
from strands_cli.events import ModelCallFinished, ModelText, ToolCallFinished
from strands_cli.tools.tool_loading import load_tools
from strands_cli.workflow.sections import Budgets
from tests.agents.kit import (
    SCHEMA,
    RunContext,
    Script,
    Site,
    agent_of,
    asking,
    error,
    gate_of,
    run,
    text,
    turn_events,
)
from tests.wordings import Wording

ECHO = (
    f"TOOL_SPEC = {{'name': 'echo', 'description': 'E.', 'inputSchema': {{'json': {SCHEMA!r}}}}}\nCALLS = []\n"
    "async def echo(tool, **kwargs):\n    import asyncio\n    CALLS.append(tool['input'])\n"
    "    await asyncio.sleep(float(tool['input'].get('wait', 0)))\n"
    "    return {'status': 'success', 'content': [{'text': 'said ' + tool['input']['text']}]}\n"
)


@pytest.fixture
def planned(site: Site) -> Any:
    site.install(ECHO)
    return site.plan("native:echo")


def calls() -> list[Any]:
    import strands_tool_echo  # type: ignore[import-not-found]

    found: list[Any] = strands_tool_echo.CALLS
    return found


# -- several calls


def test_results_are_in_request_order_and_rows_have_their_places(planned: Any) -> None:
    host = RunContext()
    model = Script(
        [("echo", {"text": "slow", "wait": 0.05}), ("echo", {"text": "fast"})], [("echo", {"text": "third"})], "done"
    )
    asking(model, *planned, host=host)
    blocks = model.requests[1]["messages"][-1]["content"]
    assert [text(block["toolResult"]) for block in blocks] == ["said slow", "said fast"]
    assert list(host.rows("tool")) == ["steps.0/tool.0.echo", "steps.0/tool.1.echo", "steps.0/tool.2.echo"]
    assert list(host.rows("model")) == ["steps.0/model.0", "steps.0/model.1", "steps.0/model.2"]
    assert host.budget.tool_calls == 3


def test_an_unknown_tool_keeps_its_place_and_the_run_goes_on(planned: Any) -> None:
    host = RunContext()
    model = Script([("ecko", {}), ("echo", {"text": "hi"})], "done")
    assert asking(model, *planned, host=host).text == "done"
    assert [result["status"] for result in model.results] == ["error", "success"]
    assert "Unknown tool: ecko" in text(model.results[0])
    assert list(host.rows("tool")) == ["steps.0/tool.0.ecko", "steps.0/tool.1.echo"]


@pytest.mark.parametrize("name", ["", "my tool!", "x" * 65])
def test_a_name_that_is_none_does_not_end_the_run(planned: Any, name: str) -> None:
    model = Script([(name, {"text": "hi"})], "done")
    assert asking(model, *planned).text == "done"
    assert calls() == []


@pytest.mark.parametrize("written", ['{"text": "hi"', '{"text": hi}', "text=hi", '["hi"]', '"hi"', "7"])
def test_arguments_that_are_no_object_are_refused_and_not_taken_for_none(
    site: Site, written: str, wording: Wording
) -> None:
    free = SCHEMA | {"required": []}
    site.install(ECHO.replace(repr(SCHEMA), repr(free)), {"input_schema": free})
    model = Script([("echo", written)], "done")
    asking(model, *site.plan("native:echo"))
    assert error(model.results[0])["code"] == "invalid_input"
    wording(text(model.results[0]))
    assert calls() == []


def test_no_arguments_at_all_are_an_empty_object(site: Site) -> None:
    free = {"type": "object", "properties": {"text": {"type": "string", "default": "none"}}}
    site.install(ECHO.replace(repr(SCHEMA), repr(free)), {"input_schema": free})
    model = Script([("echo", "")], "done")
    asking(model, *site.plan("native:echo"))
    assert calls() == [{"text": "none"}]


def repeated(request: Any) -> Any:
    """Two calls in one turn, all with the same id, as some servers send them."""
    events = turn_events([("echo", {"text": "a"}), ("echo", {"text": "b"})], 1)
    for event in events:
        if start := event.get("contentBlockStart"):
            start["start"]["toolUse"]["toolUseId"] = "call_0"
    return events


def nameless(request: Any) -> Any:
    events = repeated(request)
    for event in events:
        if start := event.get("contentBlockStart"):
            start["start"]["toolUse"]["toolUseId"] = ""
    return events


@pytest.mark.parametrize("turn", [repeated, nameless])
def test_tool_uses_without_ids_of_their_own_are_kept_apart(planned: Any, turn: Any) -> None:
    host = RunContext()
    model = Script(turn, turn, "done")
    asking(model, *planned, host=host)
    assert [call["text"] for call in calls()] == ["a", "b", "a", "b"]
    assert [text(result) for result in model.results] == ["said a", "said b"]
    assert len({result["toolUseId"] for result in model.results}) == 2
    assert len(host.rows("tool")) == 4


# -- ending


def stop_with(reason: str, said: str = "half") -> Any:
    return lambda _request: turn_events(said, 1, stop=reason)


@pytest.mark.parametrize(
    "turn",
    [
        "",
        " \n",
        lambda _request: [],
        stop_with("max_tokens"),
        stop_with("content_filtered"),
        stop_with("guardrail_intervened"),
        stop_with("no_such_reason"),
    ],
    ids=["empty", "blank", "no events", "max_tokens", "filtered", "guardrail", "unknown"],
)
def test_an_answer_that_is_none_is_a_failed_run_with_its_reason(turn: Any, wording: Wording) -> None:
    with pytest.raises(RunFailed) as caught:
        asking(Script(turn))
    wording(caught.value)
    assert "'a'" in caught.value.message


def test_an_answer_has_no_newline_at_its_end() -> None:
    assert asking(Script("two\nlines\n")).text == "two\nlines"


def failing(kind: type[BaseException], message: str = "no") -> Any:
    def turn(_request: Any) -> Any:
        raise kind(message)

    return turn


UNREAD = "the answer of the provider replay cannot be read: "


# A client raises a KeyError or a TypeError where an answer has another form.
@pytest.mark.parametrize(
    ("kind", "sentence"), [(ValueError, ""), (KeyError, UNREAD), (RuntimeError, ""), (TypeError, UNREAD)]
)
def test_a_model_that_raises_fails_the_run_and_its_row(kind: type[Exception], sentence: str) -> None:
    host = RunContext()
    with pytest.raises(RunFailed, match=f"replay .*'a' .*{kind.__name__}: '?no"):
        asking(Script(failing(kind)), host=host)
    [row] = host.rows("model").values()
    assert (row.status, row.detail["error"].replace("'", "")) == ("failed", f"{sentence}{kind.__name__}: no")


def test_a_failed_answer_after_a_tool_call_keeps_the_call(planned: Any) -> None:
    host = RunContext()
    with pytest.raises(RunFailed):
        asking(Script([("echo", {"text": "hi"})], failing(ValueError)), *planned, host=host)
    assert {key: row.status for key, row in host.rows().items()} == {
        "steps.0/model.0": "done",
        "steps.0/tool.0.echo": "done",
        "steps.0/model.1": "failed",
    }


def test_a_secret_in_a_models_error_is_in_no_message_event_or_row() -> None:
    host = RunContext()
    secret = "sk-0123456789abcdef"
    with pytest.raises(RunFailed) as caught:
        asking(Script(failing(ValueError, f"{'x' * 985} bad key {secret}")), host=host, secrets=[secret])
    assert "sk-01" not in f"{caught.value.message} {caught.value.fix} {host.events} {host.rows()}"


# -- stopping from inside a call


@pytest.mark.parametrize("calls_in_turn", [1, 3])
def test_a_call_that_waits_for_a_person_ends_the_agent_without_asking_the_model_again(
    planned: Any, calls_in_turn: int
) -> None:
    host = RunContext([Answer("waiting")])
    model = Script([("echo", {"text": "hi"})] * calls_in_turn, "never")
    with pytest.raises(WaitingForPerson):
        asking(model, *planned, host=host, rules=())
    assert len(model.requests) == 1
    assert calls() == []
    assert len(host.questions) == 1


def test_a_spent_budget_ends_the_agent_between_two_calls_of_one_turn(planned: Any) -> None:
    model = Script([("echo", {"text": "a"}), ("echo", {"text": "b"})], "never")
    host = RunContext(budgets=Budgets(max_tool_calls=1))
    with pytest.raises(BudgetExceeded, match="max_tool_calls: 1"):
        asking(model, *planned, host=host)
    assert [call["text"] for call in calls()] == ["a"]
    assert len(model.requests) == 1


def test_a_spent_budget_of_model_calls_ends_the_agent(planned: Any) -> None:
    model = Script([("echo", {"text": "a"})], "never")
    with pytest.raises(BudgetExceeded, match="max_model_calls: 1"):
        asking(model, *planned, host=RunContext(budgets=Budgets(max_model_calls=1)))
    assert len(model.requests) == 1


def test_a_mistake_of_ours_inside_a_call_ends_the_agent(planned: Any, wording: Wording) -> None:
    def broken(_question: Any) -> Answer:
        raise ZeroDivisionError("ours")

    model = Script([("echo", {"text": "a"})], "never")
    with pytest.raises(StrandsCliError) as caught:
        asking(model, *planned, host=RunContext(broken), rules=())
    wording(caught.value)
    assert caught.value.exit_code == 70
    assert len(model.requests) == 1


# -- going on from a record


def test_a_second_process_answers_from_the_record_and_asks_no_one(planned: Any) -> None:
    host = RunContext()
    first = asking(Script([("echo", {"text": "a"}), ("echo", {"text": "b"})], "done"), *planned, host=host)
    model = Script()
    again = RunContext(journal=host.journal)
    assert asking(model, *planned, host=again).text == first.text == "done"
    assert model.requests == []
    assert [call["text"] for call in calls()] == ["a", "b"]
    assert [event.replayed for event in again.of(ModelCallFinished) + again.of(ToolCallFinished)] == [True] * 4


def test_a_process_that_died_between_two_calls_makes_only_the_second(planned: Any) -> None:
    host = RunContext()
    asking(Script([("echo", {"text": "a"}), ("echo", {"text": "b"})], "done"), *planned, host=host)
    journal = MemoryJournal()
    for key in ("steps.0/model.0", "steps.0/tool.0.echo"):
        run(journal.write(host.rows()[key]))
    model = Script("done again")
    answer = asking(model, *planned, host=RunContext(journal=journal))
    assert answer.text == "done again"
    assert [call["text"] for call in calls()] == ["a", "b", "b"]
    assert [text(result) for result in model.results] == ["said a", "said b"]


def test_text_is_reported_as_it_streams() -> None:
    def pieces(_request: Any) -> Any:
        events = turn_events("", 1)
        events[1:2] = [{"contentBlockDelta": {"delta": {"text": piece}}} for piece in ("one ", "two")]
        return events

    host = RunContext()
    assert asking(Script(pieces), host=host).text == "one two"
    assert [event.text for event in host.of(ModelText)] == ["one ", "two"]


def test_each_step_has_a_fresh_agent(planned: Any) -> None:
    model = Script("first", "second")

    async def work() -> None:
        runner = SdkAgentRunner(lambda _agent, _key: model, await load_tools(planned), gate_of())
        for number in range(2):
            request = AgentRequest(agent_of(*planned), f"prompt {number}", "be brief", planned)
            await runner.run_agent(request, RunContext().scope(f"steps.{number}"))

    run(work())
    assert [len(request["messages"]) for request in model.requests] == [1, 1]


def test_a_tool_sees_the_agent_and_its_contract(site: Site) -> None:
    source = ECHO.replace("'said ' + tool['input']['text']", 'f"{sorted(kwargs)}"')
    site.install(source)
    model = Script([("echo", {"text": "hi"})], "done")
    asking(model, *site.plan("native:echo"))
    said = text(model.results[0])
    assert all(f"'{word}'" in said for word in ("agent", "model", "messages", "strands_cli"))


# -- memory


def test_a_finished_step_leaves_nothing_to_the_garbage_collector(planned: Any) -> None:
    model = Script([("echo", {"text": "once"})], "done")
    gc.collect()
    # Those of other tests may live on in a thread that has not ended.
    of_others = [thing for thing in gc.get_objects() if isinstance(thing, Agent)]
    gc.disable()
    try:
        asking(model, *planned)
        model.requests.clear()  # the fake model keeps the agent with them
        alive = [thing for thing in gc.get_objects() if isinstance(thing, Agent) and thing not in of_others]
    finally:
        gc.enable()
    assert alive == []
