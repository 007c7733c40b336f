"""Explain why a model call failed, with a fix."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from strands.types.exceptions import ContextWindowOverflowException, MaxTokensReachedException

from strands_cli.agents.model.answer_faults import DESCRIBE, AnswerFault
from strands_cli.agents.model.client_errors import (
    address_in,
    causes_of,
    failed_status_of,
    host_in,
    is_spent,
    types_of,
    words_of,
)
from strands_cli.agents.model.plugin_models import MARKED
from strands_cli.agents.model.read_answer import proxy_for
from strands_cli.agents.model.retry import is_throttled
from strands_cli.errors import RunFailed, StrandsCliError, UnusableAnswer
from strands_cli.planning.plan_values import PlannedAgent
from strands_cli.provider_table import known_provider
from strands_cli.providers import ModelSettings, host_of, key_variables
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.texts.phrases import shortened
from strands_cli.user_files.stored_keys import with_taken_keys

# A provider may answer with a whole page.
MAX_MESSAGE = 1000

_OF_AWS = frozenset({"NoCredentialsError", "PartialCredentialsError", "UnrecognizedClientException"})
_LOST = frozenset(
    {"RemoteProtocolError", "ReadError", "IncompleteRead", "ResponseStreamingError", "ClientPayloadError"}
)
_LATE = frozenset({"TimeoutException", "APITimeoutError", "ReadTimeoutError", "ConnectTimeoutError", "TimeoutError"})
_UNREACHED = frozenset(
    {"APIConnectionError", "ConnectError", "ConnectionError", "EndpointConnectionError", "ClientConnectorError"}
)
_UNREADABLE = frozenset(
    {"JSONDecodeError", "ResponseParserError", "ChecksumMismatch", "InvalidHeadersLength", "InvalidPayloadLength"}
)
# Exceptions of clients for an error after the status of success, and for an answer of an odd form.
_REPORTED = frozenset({"APIError", "ResponseError", "_OpenAIResponsesStreamError"})
_UNREAD = frozenset(
    {"AttributeError", "IndexError", "KeyError", "TypeError", "ResponseValidationError", "APIResponseValidationError"}
)
# Words of a service that takes no marks for its cache.
_OF_CACHES = ("cache_control", "cachePoint", "prompt caching")
_UNAUTHORIZED = frozenset({401, 403})
_NOT_FOUND = 404
_TOO_LARGE = 413
_REQUEST_FIX = "check model_id, the model's options and the names of the tools: strands plan SPEC shows them"


def explain_error(
    error: BaseException,
    agent: PlannedAgent,
    redactor: Redactor = HIDE_NOTHING,
    limit: str = "max_tokens",
    attached: Sequence[str] = (),
) -> StrandsCliError:
    """Return the error for a failed model call, without secrets; a `StrandsCliError` is returned unchanged.

    Args:
        limit: Where the length of answers is limited.
        attached: The types of the attachments in the request.
    """
    if isinstance(error, StrandsCliError):
        return error
    settings = agent.model
    subject = f"the model {settings.label} of agent '{agent.id}'"
    if isinstance(error, MaxTokensReachedException):
        return UnusableAnswer(f"{subject} reached its max_tokens before it finished", fix=f"raise {limit}")
    reason, fix = _reason_and_fix(error, settings)
    if attached and fix == _REQUEST_FIX:
        fix = f"choose a model that reads {', '.join(dict.fromkeys(attached))}; or {fix}"
    # Redacted before it is shortened, because a partial secret at the end would not be found.
    reason = shortened(redactor.text(reason), MAX_MESSAGE)
    if isinstance(error, ContextWindowOverflowException):
        return RunFailed(
            f"the request is too long for {subject}: {reason}",
            fix="shorten the input or the tools' outputs; context_policy.compaction summarizes earlier messages, "
            "context_policy.window leaves them out",
        )
    return RunFailed(f"{subject} failed: {reason}", fix=redactor.text(fix) if fix else None)


def all_failed(
    error: BaseException, failures: Sequence[str], who: str, settings: ModelSettings, redactor: Redactor
) -> RunFailed:
    """Return the error of an agent whose models failed one after the other.

    Args:
        error: That of the last one, whose fix it has.
        failures: The redacted reasons of all, each with its model.
        settings: The settings of the last one.
    """
    fix = _reason_and_fix(error, settings)[1]
    reasons = shortened("; ".join(dict.fromkeys(failures)), MAX_MESSAGE)
    return RunFailed(f"the models of agent '{who}' failed: {reasons}", fix=redactor.text(fix) if fix else None)


def reason_of(error: BaseException, settings: ModelSettings) -> str:
    """Return why one attempt failed, as a sentence; it may hold secrets."""
    return _reason_and_fix(error, settings)[0]


def _reason_and_fix(error: BaseException, settings: ModelSettings) -> tuple[str, str | None]:
    """Return why a request failed, as a sentence, and the remedy."""
    error = _first_of_its_kind(error)
    if (fault := next((cause for cause in causes_of(error) if isinstance(cause, AnswerFault)), None)) is not None:
        return fault.message, fault.fix
    if isinstance(error, ContextWindowOverflowException):
        return words_of(error), None
    host, proxy = _host_and_proxy(error, settings)
    status, names, words = failed_status_of(error), types_of(error), words_of(error)
    if is_spent(error):
        key = " or ".join(_variables(settings)) or "the key"
        fix = f"add credit to the account that {key} belongs to, or set the key of another account"
        return f"the account at {host} has no credit: {_with_status(words, status)}", fix
    if is_throttled(error):
        text = _with_status(words, status)
        return f"{host} is over its rate limit: {text}", "run again later, or lower runtime.max_parallel"
    if names & _OF_AWS:
        fix = f"set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, for provider '{settings.provider}'"
        return words, fix
    if status is not None:
        return _of_status(status, words, host + proxy, settings)
    connection = _of_connection(names, words, host, proxy, settings) or _of_answer(error, words, host + proxy, settings)
    return connection or (f"{type(error).__name__}: {words}", None)


def _of_status(status: int, words: str, host: str, settings: ModelSettings) -> tuple[str, str | None]:
    text = _with_status(words, status)
    if status in _UNAUTHORIZED:
        names = " or ".join(_variables(settings))
        key_source = f": {names} holds it" if names else ""
        return f"{host} refused the key: {text}", f"check the API key of provider '{settings.provider}'{key_source}"
    if status == _NOT_FOUND:
        fix = f"check the model's name '{settings.model_id}', and runtime.host{v1_hint(settings)}"
        return f"{host} does not have the model, or the address is wrong: {text}", fix
    if status >= 500:
        return f"{host} failed: {text}", "run again later: the provider's server failed"
    if status == _TOO_LARGE:
        return f"{host} refused the request: {text}", "shorten the input or the tools' outputs"
    if settings.provider in MARKED and any(word in words for word in _OF_CACHES):
        return f"{host} refused the request: {text}", "write `cache_config: off` among the model's `options`"
    return f"{host} refused the request: {text}", _REQUEST_FIX


def _of_connection(
    names: frozenset[str], words: str, host: str, proxy: str, settings: ModelSettings
) -> tuple[str, str | None] | None:
    """Return the reason and the fix of a failure without a status, or None for another kind."""
    setting = f", and check runtime.host{' and the proxy' if proxy else ''}" if settings.host or proxy else ""
    written = address_of(settings, os.environ)
    address = written if written and "@" not in written else host
    if names & _UNREADABLE:
        fix = f"check that {address} has the interface of '{settings.provider}'{setting}{v1_hint(settings)}"
        return f"{host}{proxy} did not answer as {settings.provider} does: {words}", fix
    if names & _LOST:
        fix = "run again: the connection ended before the answer was complete"
        return f"the connection to {host}{proxy} ended before the answer was complete: {words}", fix
    if names & _LATE:
        return f"{host}{proxy} did not answer in time: {words}", f"run again later{setting}"
    if names & _UNREACHED or names & {"ProxyError", "HTTPClientError"}:
        return f"{host}{proxy} cannot be reached: {words}", f"check that {address} can be reached{setting}"
    return None


def _of_answer(error: BaseException, words: str, host: str, settings: ModelSettings) -> tuple[str, str | None] | None:
    """Return the reason and the fix of an error in the middle of an answer, or of one that a client cannot read."""
    names = types_of(error)
    if type(error) is RuntimeError and "continuations" in words:  # the SDK goes on with a turn that its server pauses
        return f"the model at {host} paused its answer again and again (pause_turn)", DESCRIBE
    if names & _REPORTED:
        return f"{host} answered with an error: {words}", "correct what the server names, or run again later"
    # A client called with a wrong option raises a TypeError about an argument.
    if names & _UNREAD and "argument" not in words:
        fix = f"check that {host} has the interface of '{settings.provider}'{v1_hint(settings)}, or run again"
        # A KeyError has only the key as its words.
        return f"the answer of {host} cannot be read: {type(error).__name__}: {words}", fix
    return None


def _with_status(words: str, status: int | None) -> str:
    words = words.rstrip(".")
    return words if status is None or str(status) in words else f"{words} ({status})" if words else f"status {status}"


def _variables(settings: ModelSettings) -> tuple[str, ...]:
    provider = known_provider(settings.provider)
    environ = with_taken_keys(os.environ)
    return tuple(name for name in key_variables(provider, settings) if name in environ) if provider else ()


def _host_and_proxy(error: BaseException, settings: ModelSettings) -> tuple[str, str]:
    """Return the host that a request went to, and in words through which proxy."""
    address = address_in(error) or address_of(settings, os.environ)
    if address is None:
        return f"the provider '{settings.provider}'", ""
    proxy = proxy_for(address, os.environ)
    return host_in(address), f" (through the proxy {proxy.shown} of {proxy.variable})" if proxy else ""


def address_of(settings: ModelSettings, environ: Mapping[str, str]) -> str | None:
    """Return the address to which a model's requests go, or None where only its client knows."""
    provider = known_provider(settings.provider)
    if provider is None:
        return settings.host
    host = host_of(provider, settings, environ) or provider.default_host
    if host is None and provider.name == "bedrock":
        region = settings.region or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-west-2"
        return f"https://bedrock-runtime.{region}.amazonaws.com"
    return host


def v1_hint(settings: ModelSettings) -> str:
    """Return a hint on the version that the base address of a server of OpenAI's kind lacks, or nothing."""
    provider = known_provider(settings.provider)
    if provider is None or not provider.name.startswith("openai"):
        return ""
    address = host_of(provider, settings, os.environ)
    if address is None or urlsplit(address).path.strip("/"):
        return ""
    return f": its address usually ends with /v1, {address.rstrip('/')}/v1"


def _first_of_its_kind(error: BaseException) -> BaseException:
    """Return the provider's error where the SDK replaced it by one that only says that it could not shorten."""
    cause = error.__cause__
    return cause if isinstance(error, ContextWindowOverflowException) and type(cause) is type(error) else error
