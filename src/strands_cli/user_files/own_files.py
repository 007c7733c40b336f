"""The small files of settings that commands write for this user: their folder, their safety, and writing them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from strands_cli.config import user_config_dir
from strands_cli.errors import UsageError
from strands_cli.system.atomic_file import own_users, who_else_writes, write_atomically


def own_file(name: str) -> Path | None:
    """Return the path of a file beside the policy; None for a user without a home directory."""
    folder = user_config_dir(os.environ)
    return folder / name if folder else None


def exposed_place(path: Path) -> tuple[Path, str] | None:
    """Return the file or its folder that other users can change, and how; None if they can change neither."""
    for place in (path, path.parent):
        if reason := who_else_writes(place, own_users()):
            return place, reason
    return None


# So long a command waits for another one that changes the same file.
LOCK_SECONDS = 10.0


@contextmanager
def held(path: Path | None) -> Iterator[None]:
    """Read and write a file while no other command does, so that none undoes the change of another.

    Raises:
        UsageError: The file cannot be locked.
    """
    if path is None:  # as `write_own_file` says
        yield
        return
    import sqlite3  # its locks end with the process on every system

    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = path.with_suffix(".lock")
    try:
        connection = sqlite3.connect(lock, timeout=LOCK_SECONDS, isolation_level=None)
        with closing(connection):
            connection.execute("BEGIN EXCLUSIVE")
            yield
    except sqlite3.Error as error:
        raise UsageError(f"{path} cannot be changed: {error}", fix="correct its permissions, or try again") from error


def write_own_file(path: Path | None, noun: str, content: Mapping[str, Any]) -> Path:
    """Write a JSON file for this user alone, and return its path.

    Args:
        noun: The kind of file in messages, such as `file of keys`.

    Raises:
        UsageError: It cannot be written, or the user has no home directory.
    """
    if path is None:
        raise UsageError(f"there is no home directory for the {noun}", fix="set HOME or XDG_CONFIG_HOME")
    text = json.dumps(content, indent=2, ensure_ascii=False)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path, f"{text}\n".encode(), force=True, mode=0o600)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise UsageError(message, fix="correct its permissions") from error
    return path
