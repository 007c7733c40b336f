"""Decide which failures of a model's client are temporary, and how long to wait before the next attempt."""

from __future__ import annotations

import email.utils
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from strands.types.exceptions import ContextWindowOverflowException, ModelThrottledException

from strands_cli.canonical_json import json_object
from strands_cli.errors import StrandsCliError
from strands_cli.workflow.sections import FailurePolicy

# The clients of OpenAI and Anthropic themselves retry 408, 409, 429 and 5xx by default; 425 means "too early"
# (RFC 8470). 501 is permanent.
_STATUSES = frozenset({408, 409, 425, 429})
_NOT_IMPLEMENTED = 501
# An account without credit gets 429 until it is paid. https://platform.openai.com/docs/guides/error-codes
_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
# Codes and types of temporary failures without a status: in a stream that began with 200, and in AWS event streams.
# https://platform.claude.com/docs/en/api/errors
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
_TEMPORARY_CODES = frozenset(
    {
        "rate_limit_error",
        "rate_limit_exceeded",
        "overloaded_error",
        "api_error",
        "server_error",
        "timeout_error",
        "service_unavailable",
        "throttlingexception",
        "toomanyrequestsexception",
        "serviceunavailableexception",
        "internalserverexception",
        "modelnotreadyexception",
        "modeltimeoutexception",
        "modelstreamerrorexception",
    }
)
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

    def wait_after(self, error: BaseException, now: float) -> float | None:
        """Return the seconds to wait after a failed attempt, or None if there is no further attempt.

        The server's `Retry-After` replaces our own wait, within `wait_min` and `wait_max`.

        Args:
            now: Seconds since the epoch, for a `Retry-After` that is a date.
        """
        self.failed += 1
        if self.failed > self._policy.retries or not is_temporary(error):
            return None
        asked = retry_after(error, now)
        wait = self._backoff() if asked is None else max(asked, self._policy.wait_min)
        return min(wait, self._policy.wait_max)

    def _backoff(self) -> float:
        policy = self._policy
        if policy.backoff == "constant":
            return policy.wait_min
        # 2 ** 1024 does not fit into a float; 2 ** 40 seconds are more than any wait_max.
        longest = min(policy.wait_min * 2.0 ** min(self.failed - 1, 40), policy.wait_max)
        return self._uniform(policy.wait_min, longest) if policy.backoff == "jittered" else longest


def is_temporary(error: BaseException) -> bool:
    """Return whether the same request may soon succeed: throttling, 5xx, timeouts, lost connections."""
    chain = list(_causes(error))
    names = {kind.__name__ for one in chain for kind in type(one).__mro__}
    codes = {code for one in chain for code in _codes_of(one)}
    if isinstance(error, (StrandsCliError, ContextWindowOverflowException)) or names & _PERMANENT_TYPES:
        return False
    if codes & _SPENT:
        return False
    # The status takes precedence over the SDK's classification: two of its classes treat any message with "rate" in it
    # ("temperature") as throttling.
    status = next((status for one in chain if (status := status_of(one)) is not None and status >= 400), None)
    if status is not None:
        return status in _STATUSES or (status >= 500 and status != _NOT_IMPLEMENTED)
    return (
        isinstance(error, ModelThrottledException) or bool(codes & _TEMPORARY_CODES) or bool(names & _TEMPORARY_TYPES)
    )


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of a client's exception, or None."""
    response = getattr(error, "response", None)
    places = [
        getattr(error, "status_code", None),  # openai, anthropic, writer, ollama, mistral, litellm
        getattr(response, "status_code", None),  # httpx
        getattr(error, "code", None),  # google-genai
        _aws(response, "ResponseMetadata", "HTTPStatusCode"),  # botocore
    ]
    return next((place for place in places if isinstance(place, int) and not isinstance(place, bool)), None)


def retry_after(error: BaseException, now: float) -> float | None:
    """Return the seconds of a server's Retry-After, or None (RFC 9110, 10.2.3; `retry-after-ms` is OpenAI's)."""
    for one in _causes(error):
        response = getattr(one, "response", None)
        found = getattr(response, "headers", None) or getattr(one, "headers", None)
        found = found or _aws(response, "ResponseMetadata", "HTTPHeaders")
        if found is None or not hasattr(found, "items"):
            continue
        headers = {str(name).lower(): str(value).strip() for name, value in found.items()}
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


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception and its causes, each once."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)


def _codes_of(error: BaseException) -> Iterator[str]:
    """Yield the codes and types in a client's exception, in lower case."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    inner = json_object(inner)
    response = getattr(error, "response", None)
    codes = (getattr(error, "code", None), getattr(error, "type", None))
    found = (*codes, inner.get("code"), inner.get("type"), _aws(response, "Error", "Code"))
    yield from (code.lower() for code in found if isinstance(code, str))


def _aws(response: Any, section: str, name: str) -> Any:
    part = response.get(section) if isinstance(response, dict) else None
    return part.get(name) if isinstance(part, dict) else None
