"""A model that is down: others go on with the call, in two interfaces, and the journal knows which answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from strands.types.exceptions import ContextWindowOverflowException

from strands_cli.agents.model.fallback import MOST_REST_S, REST_S, Candidate, Line, Thoughts
from strands_cli.errors import RunFailed
from strands_cli.events import Event, ModelCallFinished, ModelCallStarted, ModelRetried
from strands_cli.providers import ModelSettings
from tests.agents.kit import Script, Site
from tests.agents.resumable import going, rows
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording

pytestmark = pytest.mark.usefixtures("echo_and_key")
CALL = Turn(calls=[("echo", {"text": "hi"})], thought="I call it", usage=(1000, 100))
DOWN = Turn(status=503)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch, echo_and_key: None) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-0123456789abcdef")


@pytest.fixture
def servers() -> Iterator[tuple[ModelServer, ModelServer]]:
    """Return a server of Anthropic's and one of OpenAI's interface; each answers from its list."""
    with ModelServer([]) as anthropic, ModelServer([]) as openai:
        yield anthropic, openai


def workflow(servers: tuple[ModelServer, ModelServer], *, on: str = "", retries: int = 0, agent: str = "") -> str:
    anthropic, openai = servers
    first = f"{{provider: anthropic, model_id: claude-haiku-4-5, host: '{anthropic.host}', max_tokens: 900}}"
    second = f"{{provider: openai, model_id: gpt-4.1-mini, host: '{openai.url}'{on and f', on: [{on}]'}}}"
    policy = f"failure_policy: {{retries: {retries}, wait_min: 0, wait_max: 1}}"
    return (
        f"version: 2\nname: t\nruntime: {{models: [{first}, {second}], {policy}}}\n"
        f"agents: {{a: {{prompt: be brief, tools: [native:echo]{agent}}}}}\n"
        "pattern: {type: chain, config: {steps: [{agent: a, input: Begin.}]}}\n"
    )


def play(servers: tuple[ModelServer, ModelServer], anthropic: list[Turn], openai: list[Turn]) -> None:
    servers[0].script, servers[1].script = anthropic, openai


def asked(server: ModelServer) -> list[dict[str, Any]]:
    return server.model_requests


def test_a_conversation_goes_on_in_another_interface_and_stays_there(
    site: Site, servers: tuple[ModelServer, ModelServer]
) -> None:
    play(servers, [CALL, Turn(status=529)], [CALL, Turn("well", usage=(2000, 10))])
    events: list[Event] = []
    result = going(site, workflow(servers), events=events)
    assert result.response == "well"
    # The third turn is the second model's at once: the first one rests.
    assert [len(asked(server)) for server in servers] == [2, 2]
    assistant, tool = asked(servers[1])[0]["messages"][2:]
    assert [assistant["tool_calls"][0]["id"], tool["tool_call_id"]] == ["call-0-0"] * 2
    assert "I call it" not in str(asked(servers[1]))
    turns = [rows()[f"steps.0/model.{number}"] for number in range(3)]
    first, second = "anthropic/claude-haiku-4-5", "openai/gpt-4.1-mini"
    assert [(row.detail["model"], row.detail.get("instead_of")) for row in turns] == [
        (first, None),
        (second, first),
        (second, first),
    ]
    assert turns[1].attempt == 2
    assert turns[1].detail["failures"][0].startswith(f"{first}: ")
    # 1 and 5 dollars for a million tokens of the first, 0.4 and 1.6 of the second.
    assert [round(row.cost or 0, 6) for row in turns] == [0.0015, 0.00056, 0.000816]
    retried = [event for event in events if isinstance(event, ModelRetried)]
    assert [(event.model, event.next_model, event.wait_s) for event in retried] == [(first, second, 0.0)]
    answered = [event.model for event in events if isinstance(event, ModelCallFinished)]
    begun = [event.model for event in events if isinstance(event, ModelCallStarted)]
    assert (begun, answered) == ([first, first, second], [first, second, second])


def test_a_resumed_run_takes_answers_of_both_from_its_journal(
    site: Site, servers: tuple[ModelServer, ModelServer]
) -> None:
    play(servers, [CALL, DOWN], [CALL, Turn(status=400)])
    with pytest.raises(RunFailed):
        going(site, workflow(servers))
    play(servers, [DOWN, DOWN, Turn("back", thought="so it is")], [])
    servers[0]._played = 2  # noqa: SLF001 - the list goes on where the first process ended
    events: list[Event] = []
    assert going(site, workflow(servers), events=events).response == "back"
    assert [len(asked(server)) for server in servers] == [3, 2]
    finished = [(event.model, event.replayed) for event in events if isinstance(event, ModelCallFinished)]
    assert finished == [
        ("anthropic/claude-haiku-4-5", True),
        ("openai/gpt-4.1-mini", True),
        ("anthropic/claude-haiku-4-5", False),
    ]
    # It gets its own thought back, signed, and not that of the other.
    blocks = [block for message in asked(servers[0])[-1]["messages"] for block in message["content"]]
    thoughts = [block for block in blocks if block["type"] == "thinking"]
    assert thoughts == [{"type": "thinking", "thinking": "I call it", "signature": "ti llac I"}]
    assert len([block for block in blocks if block["type"] == "tool_use"]) == 2


@pytest.mark.parametrize(
    ("failing", "on", "goes_on"),
    [
        (Turn(status=500), "", True),
        (Turn(status=529), "", True),
        (Turn(status=429), "", True),
        (Turn("half of it", drop_after_chunks=4), "", True),
        (Turn(status=403, body={"error": {"message": "Your credit balance is too low"}}), "", True),
        (Turn(status=429), "down", False),
        (Turn(status=500), "throttled", False),
        (Turn(status=401), "down, throttled, context", False),
        (Turn(status=400), "down, throttled, context", False),
        (Turn(status=404), "down, throttled, context", False),
        (Turn("no", finish="refusal"), "down, throttled, context", False),
        (Turn(""), "down, throttled, context", False),
        (Turn(status=400, body={"error": {"message": "prompt is too long: 9 tokens"}}), "", False),
        (Turn(status=400, body={"error": {"message": "prompt is too long: 9 tokens"}}), "context", True),
    ],
    ids=lambda value: getattr(value, "text", "") or str(getattr(value, "status", value)),
)
def test_only_these_failures_let_another_model_go_on(
    site: Site, servers: tuple[ModelServer, ModelServer], failing: Turn, on: str, goes_on: bool
) -> None:
    play(servers, [failing, failing], [Turn("well")])
    if goes_on:
        assert going(site, workflow(servers, on=on)).response == "well"
    else:
        with pytest.raises(RunFailed):
            going(site, workflow(servers, on=on))
    assert len(asked(servers[1])) == int(goes_on)


def test_retries_come_first(site: Site, servers: tuple[ModelServer, ModelServer]) -> None:
    play(servers, [DOWN, DOWN, DOWN], [Turn("well")])
    assert going(site, workflow(servers, retries=2)).response == "well"
    assert len(asked(servers[0])) == 3


def test_a_server_that_asks_for_a_long_wait_is_not_waited_for(
    site: Site, servers: tuple[ModelServer, ModelServer]
) -> None:
    play(servers, [Turn(status=429, headers={"retry-after": "3600"})], [Turn("well")])
    assert going(site, workflow(servers, retries=5)).response == "well"
    assert len(asked(servers[0])) == 1


def test_a_run_fails_with_the_reasons_of_all(
    site: Site, servers: tuple[ModelServer, ModelServer], wording: Wording
) -> None:
    play(servers, [DOWN], [Turn(status=401)])
    with pytest.raises(RunFailed) as failed:
        going(site, workflow(servers))
    wording([failed.value.message, failed.value.fix])


def test_an_answer_in_a_form_comes_from_the_other_model(site: Site, servers: tuple[ModelServer, ModelServer]) -> None:
    play(servers, [DOWN], [Turn('{"word": "well"}')])
    schema = ", output_schema: {type: object, properties: {word: {type: string}}, required: [word]}"
    assert going(site, workflow(servers, agent=schema)).response == '{"word": "well"}'


def candidates(*on: tuple[Any, ...]) -> list[Candidate]:
    models = [Script() for _ in on]
    return [
        Candidate(model, ModelSettings("openai", str(number)), kinds, model)
        for number, (model, kinds) in enumerate(zip(models, on, strict=True))
    ]


ERROR = ConnectionError("gone")
BOTH = ("down", "throttled")


def test_a_model_rests_longer_with_each_failure_and_one_attempt_shows_that_it_is_back() -> None:
    first, second = candidates((), BOTH)
    now, rests = 0.0, []
    for _ in range(6):
        line = Line([first, second])
        assert line.next(now) is first
        assert line.is_trial(first) is bool(rests)
        assert line.after(first, ERROR, None, now) is second
        begin = now
        while Line([first, second]).next(now) is second:
            now += REST_S / 2
        rests.append(now - begin)
    assert rests == [60, 120, 240, 480, 900, 900]
    assert rests[-1] == MOST_REST_S
    line.answered(first)
    assert not Line([first, second]).is_trial(first)


def test_a_model_rests_as_long_as_its_server_says() -> None:
    first, second = candidates((), BOTH)
    Line([first, second]).after(first, ERROR, 7.0, 0.0)
    assert Line([first, second]).next(6.9) is second
    assert Line([first, second]).next(7.0) is first


def test_one_that_rests_is_asked_when_all_others_have_failed() -> None:
    first, second = candidates((), BOTH)
    Line([first, second]).after(first, ERROR, None, 0.0)
    line = Line([first, second])
    assert line.next(1.0) is second
    assert line.after(second, ERROR, None, 1.0) is first
    assert line.after(first, ERROR, None, 1.0) is None


def test_a_model_for_other_failures_is_left_out() -> None:
    first, second, third = candidates((), ("context",), ("down",))
    line = Line([first, second, third])
    line.next(0.0)
    assert line.after(first, ERROR, None, 0.0) is third
    line = Line([first, second, third])
    assert line.next(1.0) is third
    line = Line(candidates((), ("context",), ("down",)))
    assert line.next(0.0) is line.candidates[0]
    overflow = ContextWindowOverflowException("long")
    assert line.after(line.candidates[0], overflow, None, 0.0) is line.candidates[1]
    # Only one request was too long: the next one is its own again.
    assert Line(line.candidates).next(0.0) is line.candidates[0]


def test_ids_of_calls_fit_each_service() -> None:
    use = {"toolUseId": "call:with/others", "name": "echo", "input": {}, "reasoningSignature": "s"}
    result = {"toolUseId": "call:with/others", "status": "success", "content": []}
    messages = [
        {"role": "assistant", "content": [{"toolUse": use}]},
        {"role": "user", "content": [{"toolResult": result}]},
    ]
    ids = []
    for provider in ("openai", "mistral"):
        sent = Thoughts().readable(messages, Candidate(Script(), ModelSettings(provider, "m")))
        assert "reasoningSignature" not in sent[0]["content"][0]["toolUse"]
        ids += [sent[0]["content"][0]["toolUse"]["toolUseId"], sent[1]["content"][0]["toolResult"]["toolUseId"]]
    assert len(set(ids)) == 1
    assert ids[0].isalnum()
    assert len(ids[0]) == 9
    plain = [{"role": "assistant", "content": [{"toolUse": {**use, "toolUseId": "call_1-a"}}]}]
    kept = Thoughts().readable(plain, Candidate(Script(), ModelSettings("openai", "m")))
    assert kept[0]["content"][0]["toolUse"]["toolUseId"] == "call_1-a"
