"""Errors of a journal's database and files as errors of its run."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from strands_cli.errors import CannotStore, RunRecordError


class StorageErrors:
    """Turns errors of a damaged row or database into `RunRecordError`, and those of the disk into `CannotStore`.

    A class, since a generator would cost more than the reading of a row.
    """

    __slots__ = ("_directory",)

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (sqlite3.Error, OSError, ValueError, TypeError, RecursionError)):
            # Of the others, the journal is damaged, or a row cannot be stored.
            is_storage = isinstance(error, (sqlite3.OperationalError, OSError))
            raise (CannotStore if is_storage else RunRecordError)(
                f"the journal in {self._directory} cannot be used: {error}",
                fix="check the disk (space, permissions); where the journal is damaged, remove it: "
                f"strands runs delete {self._directory.name}",
            ) from error
