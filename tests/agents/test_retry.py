"""A failing model call is tried again where that can help: exact requests at a real server, no real waiting."""

from __future__ import annotations

import asyncio
import email.utils
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strands.types.exceptions import ContextWindowOverflowException, ModelThrottledException

from strands_cli.agents.model.journaled_model import JournaledModel
from strands_cli.agents.model.models import build_model, close_model
from strands_cli.agents.model.retry import Retries, is_temporary, retry_after
from strands_cli.engine.effects.budget import StepLimits
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.errors import RunFailed
from strands_cli.events import ModelCallFinished, ModelRetried, ModelText, Usage
from strands_cli.planning.prices import Price, PriceTable
from strands_cli.providers import ModelSettings
from strands_cli.secrets.redactor import Redactor
from strands_cli.workflow.agent_sections import AgentLimits
from strands_cli.workflow.sections import Budgets, FailurePolicy
from tests.agents.kit import RunContext, Script, run, turn_events
from tests.fakes.model_server import ModelServer, Turn
from tests.fakes.ports import FakeClock

MESSAGES = [{"role": "user", "content": [{"text": "go"}]}]
POLICY = FailurePolicy()
PRICES = PriceTable({"openai/m": Price(1.0, 2.0)}, "here")


class WaitingClock(FakeClock):
    """A clock whose waits take no time and are written down."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.advance(seconds)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")


class Asked:
    """One model call over the real client, and what it left."""

    def __init__(self, policy: FailurePolicy = POLICY, budgets: Budgets | None = None) -> None:
        self.clock = WaitingClock()
        self.host = RunContext(budgets=budgets)
        self.host.clock = self.clock  # type: ignore[assignment]
        self.limits = StepLimits(AgentLimits(), policy, PRICES)

    def scope(self) -> StepScope:
        return StepScope(self.host, "steps.0", "writer", self.limits)

    def call(self, host: str, provider: str = "openai") -> list[Any]:
        settings = ModelSettings(provider, "m", host=host)

        async def work() -> list[Any]:
            inner = build_model(settings)
            try:
                return await collect(JournaledModel(inner, settings, self.scope(), Redactor(["sk-secret-0123456789"])))
            finally:
                await close_model(inner)

        return run(work())

    @property
    def retried(self) -> list[ModelRetried]:
        return self.host.of(ModelRetried)

    @property
    def row(self) -> Row:
        (row,) = self.host.rows("model").values()
        return row


async def collect(model: JournaledModel) -> list[Any]:
    return [event async for event in model.stream(MESSAGES, [], None)]


def text_of(events: Sequence[Any]) -> str:
    return "".join(event.get("contentBlockDelta", {}).get("delta", {}).get("text", "") for event in events)


def asked(turns: Sequence[Turn], *, policy: FailurePolicy = POLICY) -> tuple[Asked, ModelServer, list[Any]]:
    call = Asked(policy)
    with ModelServer(turns) as server:
        events = call.call(server.url)
    return call, server, events


PASSING = [
    Turn(status=429),
    Turn(status=500),
    Turn(status=502),
    Turn(status=503),
    Turn(status=529),
    Turn(status=408),
    Turn("lost " * 20, drop_after_chunks=0),
    Turn("lost " * 20, drop_after_chunks=3),
]


@pytest.mark.parametrize("failing", PASSING, ids=str)
def test_what_passes_by_itself_is_tried_again_and_both_attempts_are_seen(failing: Turn) -> None:
    call, server, events = asked([failing, Turn("well", usage=(3, 1))])
    assert text_of(events) == "well", "nothing of the failed attempt"
    assert len(server.requests) == 2
    assert call.clock.waits == [1.0]
    (retried,) = call.retried
    assert (retried.key, retried.agent, retried.model, retried.attempt, retried.wait_s) == (
        "steps.0/model.0",
        "writer",
        "openai/m",
        1,
        1.0,
    )
    assert (call.row.status, call.row.attempt, call.row.detail["failures"]) == ("done", 2, [retried.reason])
    assert len(call.host.of(ModelCallFinished)) == 1
    assert (call.host.budget.model_calls, call.host.budget.usage) == (1, Usage(3, 1))


def test_after_the_last_attempt_the_error_counts_and_the_row_says_how_often() -> None:
    call = Asked()
    with ModelServer([Turn(status=503)], repeat=True) as server, pytest.raises(openai.InternalServerError):
        call.call(server.url)
    assert len(server.requests) == 3
    assert call.clock.waits == [1.0, 2.0]
    assert [event.attempt for event in call.retried] == [1, 2]
    assert (call.row.status, call.row.attempt) == ("failed", 3)
    assert "failed: Service Unavailable (503)" in call.row.detail["error"]
    assert call.host.budget.model_calls == 0, "none was answered"
    kept = [call.row.detail.get(name) for name in ("agent", "model", "request")]
    assert kept == ["writer", "openai/m", "go"], "whoever asks which model fails must find it"


@pytest.mark.parametrize(
    "turn",
    [
        Turn(status=400),
        Turn(status=401),
        Turn(status=403),
        Turn(status=404),
        Turn(status=422),
        Turn(status=501),
        Turn(status=429, body={"error": {"message": "no money", "type": "x", "code": "insufficient_quota"}}),
        Turn("half", malformed=True),
    ],
    ids=str,
)
def test_what_would_fail_again_is_asked_once(turn: Turn) -> None:
    call = Asked()
    with ModelServer([turn], repeat=True) as server, pytest.raises(Exception, match=r".") as raised:
        call.call(server.url)
    assert not isinstance(raised.value, AssertionError)
    assert len(server.requests) == 1
    assert (call.clock.waits, call.retried, call.row.attempt) == ([], [], 1)


def test_a_server_that_is_not_there_is_asked_as_often_as_the_policy_says() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        call = Asked(FailurePolicy(retries=4, backoff="constant", wait_min=0.5))
        with pytest.raises(openai.APIConnectionError):
            call.call(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
    assert call.clock.waits == [0.5] * 4
    assert call.row.attempt == 5


def test_no_retries_means_one_request() -> None:
    call = Asked(FailurePolicy(retries=0))
    with ModelServer([Turn(status=503)], repeat=True) as server, pytest.raises(openai.InternalServerError):
        call.call(server.url)
    assert len(server.requests) == 1


def test_llamacpp_in_the_base_install_is_retried_too() -> None:
    call = Asked()
    with ModelServer([Turn(status=503), Turn(status=500), Turn("well")]) as server:
        assert text_of(call.call(server.host, "llamacpp")) == "well"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("headers", "waited"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 1.0),
        ({"retry-after": "3600"}, 60.0),
        ({"retry-after-ms": "2500", "retry-after": "9"}, 2.5),
        ({"retry-after": "soon"}, 1.0),
    ],
)
def test_the_servers_wait_takes_the_place_of_ours_within_the_policys_bounds(
    headers: dict[str, str], waited: float
) -> None:
    call, _, _ = asked([Turn(status=429, headers=headers), Turn("well")])
    assert call.clock.waits == [waited]


def test_a_retry_after_may_be_a_date() -> None:
    response = httpx.Response(503, headers={"retry-after": email.utils.formatdate(1000.0 + 30, usegmt=True)})
    error = httpx.HTTPStatusError("x", request=httpx.Request("POST", "http://x"), response=response)
    assert retry_after(error, 1000.0) == 30.0
    assert retry_after(error, 5000.0) == 0.0


def test_a_secret_is_in_no_event_and_no_row_of_a_failed_attempt() -> None:
    body = {"error": {"message": "overloaded by sk-secret-0123456789", "type": "x", "code": "y"}}
    call, _, _ = asked([Turn(status=500, body=body), Turn("well")])
    assert "sk-secret" not in json.dumps([*call.row.detail["failures"], *(event.reason for event in call.retried)])


def test_a_listener_hears_the_text_of_both_attempts_with_the_retry_between_and_the_sdk_only_the_whole_turn() -> None:
    call, _, events = asked([Turn("lost " * 20, drop_after_chunks=3), Turn("well")])
    heard = [type(event).__name__ for event in call.host.events if isinstance(event, (ModelText, ModelRetried))]
    assert heard[0] == "ModelText"
    assert heard[-2:] == ["ModelRetried", "ModelText"]
    assert text_of(events) == "well"
    assert sum("messageStart" in event for event in events) == 1


def test_a_resumed_run_plays_the_turn_that_came_in_the_end() -> None:
    call, server, events = asked([Turn(status=500), Turn("well")])
    again = RunContext(journal=call.host.journal)

    async def replay() -> list[Any]:
        settings = ModelSettings("openai", "m", host=server.url)
        return await collect(JournaledModel(Script(), settings, again.scope()))

    assert run(replay()) == events


def test_a_call_that_waits_for_its_next_attempt_can_be_cancelled_and_gives_its_place_back() -> None:
    call = Asked(budgets=Budgets(max_model_calls=1))
    waiting = asyncio.Event()

    async def forever(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    call.clock.sleep = forever  # type: ignore[method-assign]

    async def work() -> None:
        model = JournaledModel(Failing(ConnectionError("x")), ModelSettings("openai", "m"), call.scope())
        task = asyncio.ensure_future(collect(model))
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(work())
    assert call.row.status == "started"
    call.host.budget.require("model")


class Failing(Script):
    """Raises before or after some events, then answers."""

    def __init__(self, *errors: BaseException, then: str = "well") -> None:
        super().__init__(*[then] * 9)
        self.errors = list(errors)

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        if isinstance(state := kwargs.get("model_state"), dict):
            state["seen"] = state.get("seen", 0) + 1
        if self.errors:
            yield turn_events("lost", 1)[0]
            raise self.errors.pop(0)
        async for event in super().stream(*args, **kwargs):
            yield event


def test_a_broken_attempt_leaves_a_models_state_as_it_was() -> None:
    call = Asked()
    state = {"response_id": "r"}
    model = JournaledModel(Failing(TimeoutError()), ModelSettings("openai", "m"), call.scope())

    async def work() -> None:
        async for _ in model.stream(MESSAGES, [], None, model_state=state):
            pass

    run(work())
    assert state == {"response_id": "r", "seen": 1}


# -- which errors pass

REQUEST = httpx.Request("POST", "http://x")


def chained(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def status(code: int) -> httpx.HTTPStatusError:
    return httpx.HTTPStatusError("x", request=REQUEST, response=httpx.Response(code))


def client_error(code: str, http: int | None = None) -> BaseException:
    from botocore.exceptions import ClientError

    metadata = {"ResponseMetadata": {"HTTPStatusCode": http}} if http else {}
    return ClientError({"Error": {"Code": code}, **metadata}, "ConverseStream")  # type: ignore[arg-type]


def api_error(**body: str) -> BaseException:
    return openai.APIError("x", REQUEST, body=body)


class GoogleError(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


def boto(name: str, **given: Any) -> BaseException:
    import botocore.exceptions

    error: BaseException = getattr(botocore.exceptions, name)(**given)
    return error


@pytest.mark.parametrize(
    "error",
    [
        ModelThrottledException("slow down"),
        chained(ModelThrottledException("x"), status(429)),
        status(500),
        status(503),
        GoogleError(503),
        TimeoutError(),
        ConnectionResetError(),
        httpx.ReadTimeout("x"),
        httpx.ConnectError("x"),
        httpx.RemoteProtocolError("x"),
        httpx.PoolTimeout("x"),
        openai.APITimeoutError(REQUEST),
        api_error(type="server_error"),
        api_error(code="rate_limit_exceeded"),
        client_error("ServiceUnavailableException", 503),
        client_error("modelStreamErrorException"),
        client_error("ThrottlingException", 429),
        boto("EndpointConnectionError", endpoint_url="x"),
        boto("ReadTimeoutError", endpoint_url="x"),
        boto("ConnectionClosedError", endpoint_url="x"),
        boto("ResponseStreamingError", error="x"),
    ],
    ids=repr,
)
def test_errors_of_the_real_clients_that_pass(error: BaseException) -> None:
    assert is_temporary(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        RunFailed("x"),
        ContextWindowOverflowException("x"),
        status(400),
        GoogleError(400),
        # Two of the SDK's classes see "rate" in "temperature" and call it throttling.
        chained(ModelThrottledException("temperature is out of range"), status(400)),
        chained(ModelThrottledException("x"), api_error(code="insufficient_quota")),
        client_error("ValidationException", 400),
        client_error("AccessDeniedException", 403),
        httpx.UnsupportedProtocol("x"),
        httpx.LocalProtocolError("x"),
        boto("NoCredentialsError"),
        chained(openai.APIConnectionError(request=REQUEST), __import__("ssl").SSLCertVerificationError("x")),
    ],
    ids=repr,
)
def test_errors_of_the_real_clients_that_last(error: BaseException) -> None:
    assert not is_temporary(error)


def test_errors_that_lead_to_each_other_end() -> None:
    one, two = ValueError(), ValueError()
    one.__cause__, two.__cause__ = two, one
    assert not is_temporary(one)
    assert retry_after(one, 0.0) is None


# -- how long to wait


def waits(policy: FailurePolicy, uniform: Callable[[float, float], float] = max) -> list[float | None]:
    retries = Retries(policy, uniform)
    return [retries.wait_after(TimeoutError(), 0.0) for _ in range(policy.retries + 1)]


def test_waits_grow_as_the_policy_says() -> None:
    def policy(backoff: Any) -> FailurePolicy:
        return FailurePolicy(retries=5, backoff=backoff, wait_min=2, wait_max=20)

    assert waits(policy("constant")) == [2, 2, 2, 2, 2, None]
    assert waits(policy("exponential")) == [2, 4, 8, 16, 20, None]
    assert waits(policy("jittered")) == [2, 4, 8, 16, 20, None]
    assert waits(policy("jittered"), min) == [2, 2, 2, 2, 2, None]
    assert waits(FailurePolicy(retries=0)) == [None]


@given(
    st.sampled_from(["constant", "exponential", "jittered"]),
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.integers(0, 60),
)
def test_no_wait_is_shorter_or_longer_than_the_policy_allows(backoff: Any, low: float, more: float, tries: int) -> None:
    policy = FailurePolicy(retries=tries, backoff=backoff, wait_min=low, wait_max=low + more)
    *between, last = waits(policy, lambda a, b: (a + b) / 2)
    assert last is None
    assert len(between) == tries
    assert all(wait is not None and low <= wait <= low + more for wait in between)


# -- what it cost


def test_a_call_that_was_answered_is_paid_for_once_by_the_table() -> None:
    call, _, _ = asked([Turn(status=500), Turn("well", usage=(1000, 500))])
    assert call.row.cost == pytest.approx(0.002)
    assert call.host.budget.cost == pytest.approx(0.002)


def test_an_unpriced_model_has_an_unknown_cost() -> None:
    call = Asked()
    call.limits = StepLimits(retries=POLICY)
    with ModelServer([Turn("well", usage=(1000, 500))]) as server:
        call.call(server.url)
    assert (call.row.cost, call.host.budget.cost) == (None, None)
