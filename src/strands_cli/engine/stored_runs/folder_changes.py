"""Whether a run in a folder has changed since it was last looked at, without reading it."""

from __future__ import annotations

import time
from pathlib import Path

from strands_cli.engine.folder_lock import is_run_held
from strands_cli.engine.journal.journal_files import DATABASE
from strands_cli.errors import RunRecordError

# Two writes within one step of a file system's clock have the same time; the coarsest of today has 10 ms.
_STEP_NS = 50_000_000


class FolderChanges:
    """Looks at the files of a run's journal, and at whether a process works on the run.

    Nothing stays open between two looks, so that the run can be deleted meanwhile on every system.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._seen: tuple[object, int] = ((), 0)
        self._is_worked_on = False

    def state(self) -> tuple[object, int, bool]:
        """Return what differs after each change, in any store: the files, and whether a process works on the run.

        What was written a moment before a look may count again at the next one, so such a look has its time too.
        Takes some 10 microseconds, and 100 while a process works on the run.

        Raises:
            RunRecordError: The run has been deleted.
        """
        files, newest = self._files()
        now = time.time_ns()
        found = files, now if now - newest < _STEP_NS else 0
        # A process that begins to work on a run writes at once; one that is killed writes nothing.
        if found != self._seen or self._is_worked_on:
            self._is_worked_on = is_run_held(self._directory, wait_s=0)
        self._seen = found
        return *found, self._is_worked_on

    def _files(self) -> tuple[tuple[object, ...], int]:
        """Return what tells one state of the journal's files from another, and when the newest was written."""
        try:
            database = (self._directory / DATABASE).stat()
        except OSError as error:
            is_gone = isinstance(error, FileNotFoundError)
            how = "does not exist any more" if is_gone else f"cannot be read any more: {error.strerror or error}"
            gone = f"the run {self._directory.name} {how}"
            raise RunRecordError(gone, fix="see what there is: strands runs list") from error
        try:
            log = (self._directory / f"{DATABASE}-wal").stat()
        except OSError:  # there is one only while a process has the journal open
            log = None
        states = [(one.st_ino, one.st_size, one.st_mtime_ns) for one in (database, log) if one]
        return tuple(states), max(written for _, _, written in states)
