"""Explain why a model call failed, with a fix."""

from __future__ import annotations

from strands.types.exceptions import ContextWindowOverflowException, MaxTokensReachedException, ModelThrottledException

from strands_cli.agents.model.retry import status_of
from strands_cli.errors import RunFailed, StrandsCliError
from strands_cli.phrases import shortened
from strands_cli.planning.plan import PlannedAgent
from strands_cli.secrets import HIDE_NOTHING, Redactor

# A provider may answer with a whole page.
MAX_MESSAGE = 1000

# The fixes for errors of the providers' clients, by the names of their types: importing all clients for `isinstance`
# would take seconds. The first match counts.
_ADVICE: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"AuthenticationError", "PermissionDeniedError"}),
        "check the API key of provider '{provider}' in the environment",
    ),
    (
        frozenset({"NoCredentialsError", "PartialCredentialsError", "UnrecognizedClientException"}),
        "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, for provider '{provider}'",
    ),
    (
        frozenset({"RemoteProtocolError", "ReadError", "ReadTimeout", "IncompleteRead", "ResponseStreamingError"}),
        "run again: the connection ended before the answer was complete",
    ),
    (
        frozenset({"APIConnectionError", "ConnectError", "ConnectionError", "EndpointConnectionError"}),
        "check that {host} can be reached{setting}",
    ),
    (frozenset({"NotFoundError"}), "check the model's name '{model}'{setting}"),
    (frozenset({"InternalServerError", "ServiceUnavailableError"}), "run again later: the provider's server failed"),
    (frozenset({"JSONDecodeError"}), "check that {host} has the interface of '{provider}'{setting}"),
)
# HTTP statuses with which a provider refuses what a request has in it.
_REFUSED = frozenset({400, 422})
_ADVICE_IF_REFUSED = "check model_id, the model's options and the names of the tools: strands plan SPEC shows them"


def explain_error(error: BaseException, agent: PlannedAgent, redactor: Redactor = HIDE_NOTHING) -> StrandsCliError:
    """Return the error for a failed model call, without secrets; a `StrandsCliError` is returned unchanged."""
    if isinstance(error, StrandsCliError):
        return error
    model = f"{agent.model.provider}/{agent.model.model_id}" if agent.model.model_id else agent.model.provider
    subject = f"the model {model} of agent '{agent.id}'"
    # Redacted before it is shortened, because a partial secret at the end would not be found.
    reason = shortened(redactor.text(str(_first_of_its_kind(error))), MAX_MESSAGE)
    if isinstance(error, MaxTokensReachedException):
        return RunFailed(f"{subject} reached its max_tokens before it finished", fix="raise max_tokens")
    if isinstance(error, ContextWindowOverflowException):
        return RunFailed(
            f"the request is too long for {subject}: {reason}",
            fix="shorten the input or the tools' outputs; context_policy.compaction summarizes earlier messages, "
            "context_policy.window leaves them out",
        )
    if isinstance(error, ModelThrottledException):
        return RunFailed(f"{subject} is throttled: {reason}", fix="run again later, or lower runtime.max_parallel")
    return RunFailed(f"{subject} failed: {type(error).__name__}: {reason}", fix=_advice(error, agent))


def _first_of_its_kind(error: BaseException) -> BaseException:
    """Return the provider's error where the SDK replaced it by one that only says that it could not shorten."""
    cause = error.__cause__
    return cause if isinstance(error, ContextWindowOverflowException) and type(cause) is type(error) else error


def _advice(error: BaseException, agent: PlannedAgent) -> str | None:
    chain = (error, error.__cause__) if error.__cause__ is not None else (error,)
    names = {kind.__name__ for one in chain for kind in type(one).__mro__}
    found = next((advice for known, advice in _ADVICE if names & known), None)
    if found is None:
        return _ADVICE_IF_REFUSED if any(status_of(one) in _REFUSED for one in chain) else None
    model = agent.model
    setting = ", and runtime.host" if model.host else ""
    return found.format(
        provider=model.provider, model=model.model_id, host=model.host or "the provider", setting=setting
    )
