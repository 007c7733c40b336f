"""The keys of model providers that this user has stored: `keys.json` beside the policy, or the keyring.

A variable of the environment beats a stored key of its name. This process takes a key when a plan needs it. The
environment does not get it: the code of tools, and whatever this process starts, would find it there.
"""

from __future__ import annotations

import importlib
import os
import stat
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from strands_cli.errors import UsageError, suggest
from strands_cli.texts.canonical_json import json_object, strict_json
from strands_cli.user_files.own_files import exposed_place, held, own_file, write_own_file

FILE = "keys.json"
VERSION = 1
SERVICE = "strands-cli"
MAX_BYTES = 1_000_000
# A keyring may wait for a password while no person is here, and must not hold up a run.
KEYRING_SECONDS = 10.0
# The value in the file of a key that the keyring has.
IN_KEYRING = True


def stored_keys() -> dict[str, str | bool]:
    """Return the stored keys by their variables: the key, or `IN_KEYRING`; nothing without the file.

    Raises:
        UsageError: The file cannot be read, is not of this program, or others can read or change it.
    """
    path = own_file(FILE)
    if path is None or not os.path.lexists(path):
        return {}
    if fault := _exposed(path):
        raise UsageError(f"the file of keys {path} is not safe: {fault}", fix=f"chmod 600 {path}, and make new keys")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES:,} bytes")
        value = json_object(strict_json(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"the file of keys {path} cannot be read: {reason}", fix=_REMOVE.format(path)) from None
    keys = value.get("keys")
    if value.get("version") != VERSION or not isinstance(keys, dict) or not all(map(_is_key, keys.values())):
        raise UsageError(f"{path} is not a file of keys of this version", fix=_REMOVE.format(path))
    return keys


_REMOVE = "remove {}, and store the keys again: strands keys set PROVIDER"


def _is_key(value: object) -> bool:
    return value is IN_KEYRING or (isinstance(value, str) and bool(value))


def _exposed(path: Path) -> str | None:
    """Return how others can read or change the file; None where they cannot."""
    if exposed := exposed_place(path):
        return exposed[1]
    if sys.platform != "win32" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        return "other users may read it"
    return None


def write_stored_keys(keys: Mapping[str, str | bool]) -> Path:
    """Write the file, for this user alone, and return its path.

    Raises:
        UsageError: It cannot be written.
    """
    return write_own_file(own_file(FILE), "file of keys", {"version": VERSION, "keys": dict(sorted(keys.items()))})


# The keys that plans of this process need, by their variables.
_taken: dict[str, str] = {}


def with_taken_keys(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment of this process with the stored keys that it has taken; any other as it is."""
    if environ is not os.environ or not _taken:
        return environ
    return {**environ, **{name: key for name, key in _taken.items() if not environ.get(name, "").strip()}}


def take_stored_key(variables: Sequence[str]) -> str | None:
    """Take the first stored key of these variables; return why that is not possible.

    Returns:
        The fault of the file or the keyring in words; None where there is none, also where nothing is stored.
    """
    for name in variables:
        _taken.pop(name, None)
    try:
        keys = stored_keys()
    except UsageError as error:
        return f"{error.message} ({error.fix})"
    variable = next((name for name in variables if name in keys), None)
    if variable is None:
        return None
    key = keys[variable]
    if isinstance(key, bool):
        try:
            key = keyring_call("get_password", SERVICE, variable)
        except UsageError as error:
            return error.message
        if not key:
            return f"the keyring has no {variable} of the service '{SERVICE}'"
    _taken[variable] = key
    return None


def store_key(variable: str, key: str, *, in_file: bool) -> tuple[str, str | None]:
    """Store a key; return its place, and why an earlier one stays in the keyring, if it does.

    Args:
        in_file: Whether the file is taken although there is a keyring.

    Raises:
        UsageError: The keyring or the file refuses it.
    """
    with held(own_file(FILE)):
        keys = stored_keys()
        if not in_file and has_keyring():
            keyring_call("set_password", SERVICE, variable, key)
            write_stored_keys({**keys, variable: IN_KEYRING})
            return "the keyring", None
        place = str(write_stored_keys({**keys, variable: key}))
        try:
            if isinstance(keys.get(variable), bool):
                _remove_from_keyring(variable)
        except UsageError as error:
            return place, error.message
        return place, None


def remove_stored_key(variable: str) -> None:
    """Remove a stored key.

    Raises:
        UsageError: It is not stored, it stays in the keyring, or the file cannot be written.
    """
    with held(own_file(FILE)):
        keys = stored_keys()
        if variable not in keys:
            raise UsageError(f"no key {variable} is stored", fix=suggest(variable, keys, "see: strands keys list"))
        if isinstance(keys[variable], bool):
            _remove_from_keyring(variable)
        write_stored_keys({name: key for name, key in keys.items() if name != variable})


def _remove_from_keyring(variable: str) -> None:
    """Remove a key from the keyring; nothing is wrong where it has gone."""
    try:
        keyring_call("delete_password", SERVICE, variable)
    except UsageError:
        if keyring_call("get_password", SERVICE, variable) is not None:
            raise


def has_keyring() -> bool:
    """Return whether the package `keyring` is installed, and finds a keyring that works here."""
    try:
        return float(keyring_call("get_keyring").priority) > 0
    except (UsageError, AttributeError, TypeError, ValueError):
        return False


def keyring_call(name: str, *arguments: str) -> Any:
    """Call a function of the package `keyring`, and wait a few seconds for its answer.

    Raises:
        UsageError: It is not installed, does not answer, or has no key store on this machine.
    """
    answers: list[Any] = []
    faults: list[BaseException] = []

    def call() -> None:
        try:
            answers.append(getattr(importlib.import_module("keyring"), name)(*arguments))
        except BaseException as error:  # noqa: BLE001 - a backend raises anything; its thread must end
            faults.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(KEYRING_SECONDS)
    if answers:
        return answers[0]
    if not faults:
        raise UsageError(f"the keyring did not answer in {KEYRING_SECONDS:g} s", fix="unlock it, and try again")
    if isinstance(faults[0], ImportError):
        raise UsageError("the package keyring is not installed", fix="pip install keyring")
    raise UsageError(f"the keyring failed: {type(faults[0]).__name__}", fix="strands keys set PROVIDER --file")
