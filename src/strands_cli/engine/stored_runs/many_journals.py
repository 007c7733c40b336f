"""Opens the journals of many runs to read them, each in turn: at once where the store can, or run by run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from strands_cli.errors import RunRecordError

if TYPE_CHECKING:
    from strands_cli.engine.store_port import RunStore, StoredJournal, StoredRun


def journals_of(store: RunStore, run_ids: Iterable[str]) -> Iterator[StoredJournal | RunRecordError]:
    """Yield the journal of each run, in this order, or why it cannot be opened; see `RunStore.journals`.

    A store that was made before there was this method is read run by run.
    """
    many = getattr(store, "journals", None)
    return journals_one_by_one(store, run_ids) if many is None else many(run_ids)


def runs_since(store: RunStore, moment: float) -> list[StoredRun]:
    """Return the runs that have not ended, or did so after a moment, the newest first; see `RunStore.runs_since`.

    A store that was made before there was this method lists all runs.
    """
    since = getattr(store, "runs_since", None)
    if since is not None:
        return list(since(moment))
    return [run for run in store.runs()[0] if run.ended_at is None or run.ended_at >= moment]


def journals_one_by_one(store: RunStore, run_ids: Iterable[str]) -> Iterator[StoredJournal | RunRecordError]:
    """Yield the journal of each run as `open` returns it: as fast as anything where runs are files of this machine."""
    for run_id in run_ids:
        try:
            yield store.open(run_id, hold=False)
        except RunRecordError as error:
            yield error
