"""Whether a stored run, or the list of runs, has changed since it was last looked at."""

from __future__ import annotations

from strands_cli.api import RunStore


class RunsChanges:
    """Looks at one run of a store, or at every run as the list of runs shows it.

    Args:
        run: The id of a run; empty for the list.
    """

    def __init__(self, store: RunStore, run: str) -> None:
        self._store, self._run = store, run or None
        self._seen: object = None

    def changed(self) -> bool:
        """Return whether the run has changed, or a run came, went, or has another status; true for the first call.

        Raises:
            RunRecordError: The run does not exist any more, or the store cannot be read.
        """
        found = self._store.state(self._run)
        has_changed, self._seen = found != self._seen, found
        return has_changed
