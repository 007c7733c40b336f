"""Decide which failures of a model's client are temporary, and how long to wait before the next attempt."""

from __future__ import annotations

import email.utils
import random
from collections.abc import Callable

from strands.types.exceptions import ContextWindowOverflowException, ModelThrottledException

from strands_cli.agents.model.answer_faults import AnswerFault
from strands_cli.agents.model.client_errors import (
    TEMPORARY_CODES,
    THROTTLING_CODES,
    TOO_MANY_REQUESTS,
    causes_of,
    codes_of,
    failed_status_of,
    in_response_of_aws,
    is_spent,
    is_temporary_status,
    types_of,
)
from strands_cli.errors import StrandsCliError
from strands_cli.workflow.sections import FailurePolicy

# Connection errors by the names of their types (openai, anthropic, httpx, botocore, aiohttp, urllib3, Python itself):
# importing all clients for `isinstance` would take seconds.
_TEMPORARY_TYPES = frozenset(
    {
        "APIConnectionError",
        "APITimeoutError",
        "NetworkError",
        "TimeoutException",
        "RemoteProtocolError",
        "HTTPClientError",
        "ConnectionClosedError",
        "EndpointConnectionError",
        "ReadTimeoutError",
        "ConnectTimeoutError",
        "ResponseStreamingError",
        "ClientConnectionError",
        "ClientPayloadError",
        "ProtocolError",
        "IncompleteRead",
        "ConnectionError",
        "TimeoutError",
    }
)
# A wrong certificate, host or proxy does not correct itself.
_PERMANENT_TYPES = frozenset(
    {"SSLCertVerificationError", "SSLError", "ProxyError", "UnsupportedProtocol", "LocalProtocolError"}
)


class Retries:
    """Counts the attempts of one model call and computes the wait before the next.

    Args:
        policy: The number of retries and the waits.
        uniform: Returns a random number between two limits; for `jittered`.
    """

    def __init__(self, policy: FailurePolicy, uniform: Callable[[float, float], float] = random.uniform) -> None:
        self._policy = policy
        self._uniform = uniform
        self.failed = 0

    @property
    def is_last(self) -> bool:
        """Whether no attempt follows the present one."""
        return self.failed >= self._policy.retries

    def wait_after(self, error: BaseException, now: float) -> float | None:
        """Return the seconds to wait after a failed attempt, or None if there is no further attempt.

        The server's `Retry-After` replaces our own wait, within `wait_min` and `wait_max`.

        Args:
            now: Seconds since the epoch, for a `Retry-After` with a date.
        """
        self.failed += 1
        if self.failed > self._policy.retries or not is_temporary(error):
            return None
        delay = retry_after(error, now)
        wait = self._backoff() if delay is None else max(delay, self._policy.wait_min)
        return min(wait, self._policy.wait_max)

    def is_refused_longer(self, error: BaseException, now: float) -> bool:
        """Return whether the server's `Retry-After` is longer than the longest wait."""
        delay = retry_after(error, now)
        return delay is not None and delay > self._policy.wait_max

    def _backoff(self) -> float:
        policy = self._policy
        if policy.backoff == "constant":
            return policy.wait_min
        # 2 ** 1024 does not fit into a float; 2 ** 40 seconds are more than any wait_max.
        longest = min(policy.wait_min * 2.0 ** min(self.failed - 1, 40), policy.wait_max)
        return self._uniform(policy.wait_min, longest) if policy.backoff == "jittered" else longest


def is_temporary(error: BaseException) -> bool:
    """Return whether the same request may soon succeed: throttling, 5xx, timeouts, lost connections."""
    fault = next((cause for cause in causes_of(error) if isinstance(cause, AnswerFault)), None)
    if fault is not None:
        return fault.is_temporary
    names, codes = types_of(error), codes_of(error)
    if isinstance(error, (StrandsCliError, ContextWindowOverflowException)) or names & _PERMANENT_TYPES:
        return False
    if is_spent(error):
        return False
    # The status takes precedence over the SDK's classification: two of its classes treat any message with "rate" in it
    # ("temperature") as throttling.
    status = failed_status_of(error)
    if status is not None:
        return is_temporary_status(status)
    return isinstance(error, ModelThrottledException) or bool(codes & TEMPORARY_CODES) or bool(names & _TEMPORARY_TYPES)


def is_throttled(error: BaseException) -> bool:
    """Return whether a provider refuses requests for a while, since there were too many."""
    status = failed_status_of(error)
    if status is not None:
        return status == TOO_MANY_REQUESTS
    return isinstance(error, ModelThrottledException) or bool(codes_of(error) & THROTTLING_CODES)


def retry_after(error: BaseException, now: float) -> float | None:
    """Return the seconds of a server's Retry-After, or None (RFC 9110, 10.2.3; `retry-after-ms` is OpenAI's)."""
    for cause in causes_of(error):
        if (held_s := getattr(cause, "held_s", None)) is not None:
            return float(held_s)
        response = getattr(cause, "response", None)
        raw_headers = getattr(response, "headers", None) or getattr(cause, "headers", None)
        raw_headers = raw_headers or in_response_of_aws(cause, "ResponseMetadata", "HTTPHeaders")
        if raw_headers is None or not hasattr(raw_headers, "items"):
            continue
        headers = {str(name).lower(): str(value).strip() for name, value in raw_headers.items()}
        milliseconds, seconds = _number(headers.get("retry-after-ms")), _number(headers.get("retry-after"))
        if milliseconds is not None:
            return milliseconds / 1000
        if seconds is not None:
            return seconds
        if "retry-after" in headers:
            return _seconds_until(headers["retry-after"], now)
    return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < float("inf") else None


def _seconds_until(date: str, now: float) -> float | None:
    try:
        return max(0.0, email.utils.parsedate_to_datetime(date).timestamp() - now)
    except (ValueError, OverflowError):
        return None
