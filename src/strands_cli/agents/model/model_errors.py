"""Why a model call failed, in words that say what to do."""

from __future__ import annotations

from strands.types.exceptions import (
    ContextWindowOverflowException,
    MaxTokensReachedException,
    ModelThrottledException,
)

from strands_cli.errors import RunFailed, StrandsCliError
from strands_cli.planning import PlannedAgent
from strands_cli.secrets import HIDE_NOTHING, Redactor
from strands_cli.tools import shortened

# A provider may answer with a whole page.
MAX_SAID = 1000

# What helps against the errors of the providers' clients, judged by the names of their types: importing all clients
# to ask `isinstance` would cost seconds. The first that fits counts.
_ADVICE: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset(
            {"AuthenticationError", "PermissionDeniedError", "NoCredentialsError", "UnrecognizedClientException"}
        ),
        "check the API key of provider '{provider}' in the environment",
    ),
    (
        frozenset({"RemoteProtocolError", "ReadError", "ReadTimeout", "IncompleteRead", "ResponseStreamingError"}),
        "run again: the connection broke off before the answer was complete",
    ),
    (
        frozenset({"APIConnectionError", "ConnectError", "ConnectionError", "EndpointConnectionError"}),
        "check that {host} can be reached{setting}",
    ),
    (frozenset({"NotFoundError"}), "check the model's name '{model}'{setting}"),
    (frozenset({"InternalServerError", "ServiceUnavailableError"}), "run again later: the provider's server failed"),
    (frozenset({"JSONDecodeError"}), "check that {host} speaks the interface of '{provider}'{setting}"),
)


def explain_error(error: BaseException, agent: PlannedAgent, redactor: Redactor = HIDE_NOTHING) -> StrandsCliError:
    """Return the reason of a failed model call, without secrets; our own errors as they are."""
    if isinstance(error, StrandsCliError):
        return error
    model = f"{agent.model.provider}/{agent.model.model_id}" if agent.model.model_id else agent.model.provider
    subject = f"the model {model} of agent '{agent.id}'"
    # Redacted before it is cut: half a secret at the edge would not be found.
    said = shortened(redactor.text(str(error)), MAX_SAID)
    if isinstance(error, MaxTokensReachedException):
        return RunFailed(f"{subject} reached its max_tokens before it finished", fix="raise max_tokens")
    if isinstance(error, ContextWindowOverflowException):
        return RunFailed(
            f"the request is too long for {subject}: {said}",
            fix="shorten the input or the tools' outputs; context_policy.compaction sums up what came before, "
            "context_policy.window leaves it out",
        )
    if isinstance(error, ModelThrottledException):
        return RunFailed(f"{subject} is throttled: {said}", fix="run again later, or lower runtime.max_parallel")
    return RunFailed(f"{subject} failed: {type(error).__name__}: {said}", fix=_advice(error, agent))


def _advice(error: BaseException, agent: PlannedAgent) -> str | None:
    chain = (error, error.__cause__) if error.__cause__ is not None else (error,)
    names = {kind.__name__ for one in chain for kind in type(one).__mro__}
    found = next((advice for known, advice in _ADVICE if names & known), None)
    if found is None:
        return None
    model = agent.model
    setting = ", and runtime.host" if model.host else ""
    return found.format(
        provider=model.provider, model=model.model_id, host=model.host or "the provider", setting=setting
    )
