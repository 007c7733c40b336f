"""Secrets from Amazon Web Services: a value of Secrets Manager, or a parameter of Systems Manager."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any

from strands_cli.planning.data_flow.secret_values import read_secrets
from strands_cli.planning.plan_values import Plan
from strands_cli.secrets.secret_sources import MAX_BYTES, SecretFault, SecretReference

_CONNECT_S, _READ_S, _ATTEMPTS = 5, 10, 3
_SERVICES = {"secrets_manager": "secretsmanager", "ssm": "ssm"}
_NOT_THERE = ("ResourceNotFoundException", "ParameterNotFound", "ParameterVersionNotFound")
_DENIED = (
    "AccessDeniedException",
    "AccessDenied",
    "UnrecognizedClientException",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "InvalidSignatureException",
)


class RemoteSecrets:
    """Reads the secrets of one run; it connects to a service with its first secret.

    Args:
        region: The region if neither the environment, the profile nor the secret's own name has one.
    """

    def __init__(self, region: str | None = None) -> None:
        self._region = region
        self._clients: dict[tuple[str, str | None], Any] = {}

    def read(self, secret: SecretReference) -> str:
        """Return a secret's value.

        Raises:
            SecretFault: It cannot be read. The message contains neither a part of a value nor the service's own text.
        """
        name = secret.path or secret.key
        # The clients raise errors of many packages: botocore, urllib3, ssl, and ValueError for an endpoint.
        try:
            client = self._client(secret.source, name)
            value = _ASK[secret.source](client, name)
        except SecretFault:
            raise
        except Exception as error:  # noqa: BLE001
            raise _explained(secret, name, error) from None
        if value is None:
            raise SecretFault(f"the secret '{secret.name}' of {name} is not text", "store it as a text")
        if len(value.encode()) > MAX_BYTES:
            fix = "store only the value"
            raise SecretFault(f"the secret '{secret.name}' is longer than {MAX_BYTES} bytes", fix)
        return _field(secret, name, value)

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _client(self, source: str, name: str) -> Any:
        boto3, config = importlib.import_module("boto3"), importlib.import_module("botocore.config")
        key = _SERVICES[source], _region_of(name)
        if key not in self._clients:
            session = boto3.Session(region_name=key[1])
            if session.region_name is None:
                session = boto3.Session(region_name=self._region)
            retries = {"total_max_attempts": _ATTEMPTS, "mode": "standard"}
            limits = config.Config(connect_timeout=_CONNECT_S, read_timeout=_READ_S, retries=retries)
            self._clients[key] = session.client(key[0], config=limits)
        return self._clients[key]


def _from_secrets_manager(client: Any, name: str) -> str | None:
    answer = client.get_secret_value(SecretId=name)
    if answer.get("SecretString") is not None:
        return str(answer["SecretString"])
    try:
        return bytes(answer.get("SecretBinary") or b"").decode()
    except UnicodeDecodeError:
        return None


def _from_ssm(client: Any, name: str) -> str | None:
    return str(client.get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])


_ASK: dict[str, Callable[[Any, str], str | None]] = {
    "secrets_manager": _from_secrets_manager,
    "ssm": _from_ssm,
}


def _field(secret: SecretReference, name: str, value: str) -> str:
    """Return the field `key` of a JSON object at `path`, else the whole value.

    Secrets Manager stores several values of one service as an object; without `path` the value is the object itself.
    """
    if secret.source != "secrets_manager" or not secret.path:
        return value
    try:
        fields = json.loads(value)
    except (ValueError, RecursionError):
        return value
    if not isinstance(fields, dict):
        return value
    field = fields.get(secret.key)
    if isinstance(field, bool) or not isinstance(field, (str, int, float)):
        message = f"the secret '{secret.name}' is missing: {name} is a JSON object without a text '{secret.key}'"
        raise SecretFault(message, "set `key` to one of its fields")
    return str(field)


def _region_of(name: str) -> str | None:
    """Return the region in an Amazon resource name (arn:aws:ssm:REGION:...)."""
    parts = name.split(":")
    return parts[3] or None if len(parts) > 4 and parts[0] == "arn" else None


def _explained(secret: SecretReference, name: str, error: Exception) -> SecretFault:
    response = getattr(error, "response", None)
    code = str((response or {}).get("Error", {}).get("Code", "")) or type(error).__name__
    subject = f"the secret '{secret.name}' cannot be read from {secret.source} ({name})"
    if code in _NOT_THERE:
        fix = "correct `path` (or `key`, without a `path`), or the region: AWS_REGION"
        return SecretFault(f"{subject}: no secret has this name", fix)
    if code in _DENIED or code in ("NoCredentialsError", "PartialCredentialsError", "TokenRetrievalError"):
        fix = "check with: aws sts get-caller-identity; set AWS_PROFILE or the keys of a user who may read it"
        return SecretFault(f"{subject}: {code}", fix)
    if code == "NoRegionError":
        return SecretFault(f"{subject}: the region is unknown", "set AWS_REGION, or runtime.region")
    return SecretFault(f"{subject}: {code}", "try it by hand with the aws command line")


def all_secrets(plan: Plan) -> dict[str, str]:
    """Return the value of every secret of a run, also those from services; it raises like `read_secrets`."""
    remote = RemoteSecrets(plan.spec.runtime.region)
    try:
        return read_secrets(plan, remote=remote.read)
    finally:
        remote.close()
