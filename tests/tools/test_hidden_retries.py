"""No client repeats a request by itself: the server counts what each of them sends, and the policy alone decides."""

from __future__ import annotations

import gc
import os
import time
import warnings
from importlib.util import find_spec
from typing import Any

import pytest

from strands_cli.agents.model.journaled_model import JournaledModel
from strands_cli.agents.model.models import build_model, close_model
from strands_cli.provider_table import PROVIDERS
from strands_cli.providers import ModelSettings
from strands_cli.workflow.sections import FailurePolicy
from tests.agents.kit import run
from tests.agents.test_retry import Asked, collect
from tests.fakes.model_server import ModelServer, Turn

LIMIT_S = 120
# Long enough to send a request on a loaded machine; only the answer is not waited for.
PATIENCE = 0.5
# How each client is configured not to wait long for an answer.
TIMEOUTS: dict[str, dict[str, Any]] = {
    "openai": {"client_args": {"timeout": PATIENCE}},
    "openai_responses": {"client_args": {"timeout": PATIENCE}},
    "llamacpp": {"timeout": (LIMIT_S, 0.1, LIMIT_S, LIMIT_S)},
    "anthropic": {"client_args": {"timeout": PATIENCE}},
    "ollama": {"ollama_client_args": {"timeout": PATIENCE}},
}
# The client's exception has the status and no headers.
DEAF = {"ollama"}
# The SDK's class makes a client for each request and closes none.
LEAKING = {"ollama"}
FAILING = {
    "429": Turn(status=429),
    "500": Turn(status=500),
    "503": Turn(status=503),
    "529": Turn(status=529),
    "timeout": Turn("late", delay_s=30),
    "dropped": Turn("lost", drop_after_chunks=0),
}
# A call that times out waits for seconds, and two of the statuses are as 500: `nox -s hostile` has the time.
APART = {name: [pytest.mark.hostile] for name in ("503", "529", "timeout")}
FAILING_WAYS = [pytest.param(name, marks=APART.get(name, ())) for name in FAILING]


@pytest.fixture(scope="module", autouse=True)
def collections_are_quick() -> None:
    """Let each collection look at what a call has left, and not at everything that was imported before."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(params=TIMEOUTS)
def provider(request: pytest.FixtureRequest) -> str:
    """Return each provider whose client is installed here."""
    name = str(request.param)
    if any(find_spec(module) is None for module in PROVIDERS[name].modules):
        pytest.skip(f"the client of {name} is not installed")
    return name


def asked(provider: str, turn: Turn, policy: FailurePolicy, options: dict[str, Any] | None = None) -> tuple[Asked, int]:
    """Send one model call that always fails; return what it left and how many requests the server received."""
    call = Asked(policy)
    with ModelServer([turn], repeat=True, elsewhere=turn) as server:
        host = server.url if provider.startswith("openai") else server.host
        settings = ModelSettings(provider, "m", host=host, max_tokens=9, options=options or {})

        async def work() -> bool:
            inner = build_model(settings)
            try:
                await collect(JournaledModel(inner, settings, call.scope()))
            except Exception:  # each client has its own; it holds the client, so it is let go here
                return True
            finally:
                await close_model(inner)
            return False

        with warnings.catch_warnings():
            if provider in LEAKING:
                warnings.simplefilter("ignore", ResourceWarning)
            assert run(work())
            gc.collect()
        # A client that does not wait may be gone before the server has read what it sent.
        until = time.monotonic() + LIMIT_S
        while len(server.requests) < call.row.attempt and time.monotonic() < until:
            time.sleep(0.005)
        return call, len(server.requests)


@pytest.mark.parametrize("failing", FAILING_WAYS)
@pytest.mark.parametrize("retries", [0, 2])
def test_a_failing_call_is_sent_as_often_as_the_policy_says(provider: str, failing: str, retries: int) -> None:
    options = TIMEOUTS[provider] if failing == "timeout" else None
    call, requests = asked(provider, FAILING[failing], FailurePolicy(retries=retries), options)
    assert requests == retries + 1
    assert call.clock.waits == [1.0, 2.0][:retries]
    assert (call.row.status, call.row.attempt) == ("failed", retries + 1)


@pytest.mark.parametrize(("said", "waited"), [("7", 7.0), ("3600", 60)])
@pytest.mark.parametrize("status", [429, pytest.param(503, marks=pytest.mark.hostile)])
def test_the_servers_wait_is_kept_to_within_bounds(provider: str, status: int, said: str, waited: float) -> None:
    call, _ = asked(provider, Turn(status=status, headers={"retry-after": said}), FailurePolicy(retries=1))
    assert call.clock.waits == [1.0 if provider in DEAF else waited]


@pytest.mark.parametrize("status", [400, 401, 404, 501])
def test_what_would_fail_again_is_sent_once(provider: str, status: int) -> None:
    assert asked(provider, Turn(status=status), FailurePolicy(retries=3))[1] == 1
