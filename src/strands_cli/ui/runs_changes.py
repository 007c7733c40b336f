"""Whether the list of stored runs has changed since it was last looked at."""

from __future__ import annotations

from pathlib import Path


class ListChanges:
    """Looks at every run of a directory as the list of runs shows it."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir
        self._seen: object = None

    def changed(self) -> bool:
        """Return whether a run came, went, or has another status; true for the first call.

        Raises:
            RunRecordError: The directory cannot be read.
        """
        from strands_cli.engine.stored_runs import list_runs

        runs, problems = list_runs(self._runs_dir)
        found = ([(run.id, run.status, run.ended_at) for run in runs], problems)
        has_changed, self._seen = found != self._seen, found
        return has_changed
