"""One request at its turn among those of the machine: it waits, and reports what its server says of its limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from strands_cli.agents.model.answer_faults import AnswerFault
from strands_cli.agents.model.checked_transport import HEADERS_HEARD
from strands_cli.agents.model.client_errors import is_spent
from strands_cli.agents.model.retry import is_throttled, retry_after
from strands_cli.engine.effects.shared_pace import RATES_NOT_SHARED, SharedPace
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.events import ModelWaits, RunWarning
from strands_cli.texts.phrases import duration


class HeldBack(AnswerFault):
    """A request that was not sent, since its server takes it too late and another model goes on.

    Attributes:
        held_s: How long it would have had to wait.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"its limit of requests is reached for {duration(seconds)}")
        self.held_s = seconds


@asynccontextmanager
async def paced(
    scope: StepScope, key: str, label: str, pace: SharedPace | None, tokens: Callable[[], int]
) -> AsyncIterator[PacedRequest]:
    """Wait for the turn of a request among those of the machine; not longer than the longest wait between tries.

    Args:
        key: The key of the call.
        label: The model, for people.
        tokens: Returns an estimate of its tokens.
    """
    if pace is None:
        yield PacedRequest()
        return

    waits: list[float] = []

    def say(seconds: float) -> None:
        waits.append(seconds)
        scope.emit(ModelWaits(scope.now(), key, scope.who, label, seconds))

    began, policy = scope.monotonic(), scope.limits.retries
    name, held_s = await pace.turn(tokens, policy.wait_max, say)
    if pace.fault is not None:
        scope.emit(RunWarning(scope.now(), pace.fault, RATES_NOT_SHARED, RATES_NOT_SHARED.remedy))
        pace.fault = None
    token = HEADERS_HEARD.set(partial(pace.hear, name))
    request = PacedRequest(scope.monotonic() - began if waits else 0.0, held_s)
    try:
        yield request
    finally:
        HEADERS_HEARD.reset(token)
        error, pause = request.error, policy.wait_min
        is_refused = error is not None and is_throttled(error) and not is_spent(error)
        pace.end(name, (retry_after(error, scope.now()) or pause) if is_refused and error is not None else None)


@dataclass(slots=True)
class PacedRequest:
    """A request whose turn has come.

    Attributes:
        waited: The seconds that it waited.
        held_s: The seconds that it would have to wait longer.
        error: Why it failed.
    """

    waited: float = 0.0
    held_s: float = 0.0
    error: BaseException | None = None
