"""The sources of secrets: a variable, a file, the output of a program, the keyring, or a service."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from strands_cli.errors import Code, Finding, Where
from strands_cli.quick_dataclass import dataclass
from strands_cli.system.subprocesses import end_group

# Secrets too short to be searched for in texts, where they would be found by chance: those are named.


# A shorter text would be found by chance in unrelated texts.
MIN_LENGTH = 8
SHORT_SECRET = Code(
    "short-secret",
    "A secret has fewer than 8 characters; it is used, but not hidden in what a run shows and keeps.",
    "Give it a longer value at its source.",
)


def is_short(value: str) -> bool:
    """Return whether a value is too short to be hidden; white space around it, often removed, does not count."""
    return 0 < len(value.strip()) < MIN_LENGTH


def short_secret(named: str, where: Where | None = None) -> Finding:
    """Report a short secret; the message has neither its value nor its length."""
    message = f"{named} has fewer than {MIN_LENGTH} characters, so it is not hidden where it appears"
    return Finding(SHORT_SECRET, message, where, "replace it by a longer one at its source", "warning")


COMMAND_SECONDS = 20.0
MAX_BYTES = 64 * 1024
# A character has 4 bytes at most; a larger file holds white space, which counts for nothing, or enough.
_SMALL_FILE = 4 * MIN_LENGTH
# Sources that need the client of a service; `read_secret` receives it.
REMOTE = ("secrets_manager", "ssm")
# The keyring's service where the workflow names none.
SERVICE = "strands"


@dataclass(frozen=True, slots=True)
class SecretReference:
    """A secret as a workflow declares it.

    Attributes:
        name: The name that tools ask for.
        key: The name of the value in its source: of the variable, or of the entry in the keyring.
        source: The kind of source.
        path: The file, the command line, the keyring's service, or the name in the cloud service.
        folder: The directory of relative paths and of programs.
    """

    name: str
    key: str
    source: str
    path: str
    folder: Path


class SecretFault(Exception):
    """A secret has no value. Neither the message nor `fix` contains a part of a value."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.fix = fix


def require_source(secret: SecretReference, environ: Mapping[str, str]) -> None:
    """Check that a secret's source exists, without running a program or opening a file.

    Raises:
        SecretFault: The source does not exist.
    """
    if secret.source == "env" and not environ.get(secret.key):
        raise _not_set(secret)
    if secret.source == "file" and not os.access(_file_of(secret), os.R_OK):
        raise SecretFault(
            f"the file {_file_of(secret)} of the secret '{secret.name}' does not exist or cannot be read",
            "write the value into it, readable for you alone (chmod 600), or correct `path`",
        )
    if secret.source == "command":
        _require_program(secret, environ)
    if secret.source == "keyring":
        _require_package(secret, "keyring", "in the keyring")
    if secret.source in REMOTE:
        _require_package(secret, "boto3", "stored at Amazon Web Services")


def read_secret(
    secret: SecretReference, environ: Mapping[str, str], remote: Callable[[SecretReference], str] | None = None
) -> str:
    """Return a secret's value, without the line end that files and programs add to it.

    Raises:
        SecretFault: The secret has no value.
    """
    require_source(secret, environ)
    if secret.source == "env":
        return environ[secret.key]
    if secret.source == "file":
        value = _text(secret, _read_file(secret))
    elif secret.source == "command":
        value = _text(secret, _output_of(secret, environ))
    elif secret.source in REMOTE:
        value = remote(secret) if remote is not None else ""
    else:
        value = _from_keyring(secret)
    if not value:
        raise SecretFault(f"the secret '{secret.name}' is empty", f"give its {secret.source} a value")
    return value


def is_short_here(secret: SecretReference, environ: Mapping[str, str]) -> bool:
    """Return whether a secret is too short to be hidden, as far as a variable or a small plain file shows it."""
    if secret.source == "env":
        return is_short(environ.get(secret.key, ""))
    if secret.source != "file":
        return False
    try:
        about = _file_of(secret).stat()
        is_small = stat.S_ISREG(about.st_mode) and about.st_size <= _SMALL_FILE
        return is_small and is_short(_text(secret, _read_file(secret)))
    except (OSError, ValueError, SecretFault):
        return False


def _not_set(secret: SecretReference) -> SecretFault:
    message = f"the secret '{secret.name}' has no value: the environment variable {secret.key} is not set"
    return SecretFault(message, f"set it: export {secret.key}=..., or choose another `source`")


def _file_of(secret: SecretReference) -> Path:
    return secret.folder / Path(secret.path).expanduser()


def _read_file(secret: SecretReference) -> bytes:
    try:
        with _file_of(secret).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise SecretFault(
            f"the file {_file_of(secret)} of the secret '{secret.name}' cannot be read: {error.strerror or error}",
            "correct `path`, or its permissions",
        ) from None


def _text(secret: SecretReference, raw: bytes) -> str:
    fix = f"store the value and nothing else in its {secret.source}"
    if len(raw) > MAX_BYTES:
        raise SecretFault(f"the secret '{secret.name}' is longer than {MAX_BYTES} bytes", fix)
    try:
        return raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise SecretFault(f"the secret '{secret.name}' is not UTF-8 text", fix) from None


def _words_of(secret: SecretReference) -> list[str]:
    """Return the program and its arguments; no shell reads the line."""
    try:
        words = shlex.split(secret.path)
    except ValueError as error:
        raise SecretFault(
            f"the command of the secret '{secret.name}' cannot be read: {error}", "close its quotes"
        ) from None
    if not words:
        raise SecretFault(f"the command of the secret '{secret.name}' is empty", "write program and arguments")
    return words


def _require_program(secret: SecretReference, environ: Mapping[str, str]) -> None:
    import shutil

    program = _words_of(secret)[0]
    # The program runs in the folder, so relative paths start there.
    named = str(secret.folder / program) if os.sep in program else program
    if shutil.which(named, path=environ.get("PATH")) is None:
        raise SecretFault(
            f"the secret '{secret.name}' comes from the program '{program}', which is not found",
            "install it, or correct `path`; no shell reads the line, so aliases and pipes do not work",
        )


def _output_of(secret: SecretReference, environ: Mapping[str, str]) -> bytes:
    """Run the program in its own session and return its standard output.

    Its error output is discarded, because it may contain the value.
    """
    import shutil
    import subprocess

    program, *arguments = _words_of(secret)
    named = str(secret.folder / program) if os.sep in program else program
    program_path = shutil.which(named, path=environ.get("PATH")) or program
    fix = f"try it by hand: {secret.path}"
    try:
        process = subprocess.Popen(  # noqa: S603 - the workflow names the program
            [program_path, *arguments],
            cwd=secret.folder,
            env=dict(environ),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        reason = error.strerror or error
        raise SecretFault(f"the program of the secret '{secret.name}' cannot be run: {reason}", fix) from None
    with process:
        try:
            printed, _ = process.communicate(timeout=COMMAND_SECONDS)
        except BaseException as error:
            end_group(process.pid)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            message = f"the program of the secret '{secret.name}' took longer than {COMMAND_SECONDS:g} s"
            raise SecretFault(message, f"{fix}; it gets no input and no terminal") from None
    if process.returncode != 0:
        raise SecretFault(f"the program of the secret '{secret.name}' ended with {process.returncode}", fix)
    return printed


def _require_package(secret: SecretReference, package: str, origin: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise SecretFault(
            f"the secret '{secret.name}' is {origin}, and the Python package {package} is not installed",
            f"install it beside strands-cli: pip install {package}",
        )


def _from_keyring(secret: SecretReference) -> str:
    import importlib

    service = secret.path or SERVICE
    fix = f"store it: keyring set {shlex.quote(service)} {shlex.quote(secret.key)}"
    try:
        value = importlib.import_module("keyring").get_password(service, secret.key)
    except Exception as error:  # noqa: BLE001 - each back end raises other errors
        message = f"the keyring does not return the secret '{secret.name}': {type(error).__name__}"
        raise SecretFault(message, f"{fix}; a keyring that is locked must be unlocked first") from None
    if value is None:
        raise SecretFault(f"the keyring has no '{secret.key}' of the service '{service}'", fix)
    return str(value)
