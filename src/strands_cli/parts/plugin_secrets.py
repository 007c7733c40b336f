"""Secrets of every source: those of the core, and those that installed distributions bring."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from strands_cli.default_parts import DEFAULTS, SECRETS
from strands_cli.errors import StrandsCliError
from strands_cli.parts.named_parts import NamedIn, Part, imported_part, names_in, part_named, require_admitted
from strands_cli.secrets.secret_sources import SecretFault, SecretReference, read_secret, require_source


def require_any_source(secret: SecretReference, environ: Mapping[str, str], lock: NamedIn | None = None) -> None:
    """Check that a secret's source exists, without running a program, opening a file or importing a plugin.

    Args:
        lock: The workflow that names it; by default the lock of the current directory is asked.

    Raises:
        SecretFault: The source does not exist.
        Denied: It is of a distribution that may not be imported.
    """
    if secret.source in DEFAULTS[SECRETS]:
        require_source(secret, environ)
    else:
        require_admitted(_part_of(secret), lock=lock)


def read_any_secret(
    secret: SecretReference,
    environ: Mapping[str, str],
    remote: Callable[[SecretReference], str] | None = None,
    lock: NamedIn | None = None,
) -> str:
    """Return a secret's value.

    Args:
        remote: Reads those that a cloud service keeps.
        lock: The workflow that names it; by default the lock of the current directory is asked.

    Raises:
        SecretFault: The secret has no value; the message has no part of one.
        Denied: Its source is of a distribution that may not be imported.
        NotEquipped: Its source cannot be imported.
    """
    if secret.source in DEFAULTS[SECRETS]:
        return read_secret(secret, environ, remote)
    part = _part_of(secret)
    fix = f"ask the authors of {part.distribution}, or choose another `source`"
    read = imported_part(part, lock=lock)
    try:
        value = read(secret)
    except (StrandsCliError, SecretFault):
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin may raise anything, with the value in its message
        message = f"the secret '{secret.name}' cannot be read: {part} of {part.distribution} raised "
        raise SecretFault(f"{message}{type(error).__name__}", fix) from None
    if not isinstance(value, str) or not value:
        problem = "is empty" if value == "" else f"is {type(value).__name__}, not a text"
        raise SecretFault(f"the secret '{secret.name}' of {part.distribution} {problem}", fix)
    return value


def _part_of(secret: SecretReference) -> Part:
    part = part_named(SECRETS, secret.source)
    if part is None:
        message = f"the secret '{secret.name}' has the source '{secret.source}', which is not installed"
        raise SecretFault(message, f"one of {', '.join(names_in(SECRETS))}")
    return part
