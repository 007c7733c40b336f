"""The files of the rows of a batch: each row is a run, whose files have a folder with its id."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strands_cli.engine.journal.batch_ids import batch_of
from strands_cli.engine.stored_runs.many_journals import journals_of
from strands_cli.errors import ArtifactError, RunRecordError
from strands_cli.run_views.fetched_artifacts import RunArtifacts, artifacts_of
from strands_cli.run_views.open_questions import command

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore


@dataclass(frozen=True, slots=True)
class BatchArtifacts:
    """The rows of a batch whose files can be fetched.

    Attributes:
        run_id: The id of the batch.
        rows: The ids of its complete rows, the first one first.
        incomplete: How many rows have begun and are not complete.
    """

    store: RunStore
    run_id: str
    rows: tuple[str, ...]
    incomplete: int

    def each(self, *, with_texts: bool) -> Iterator[RunArtifacts]:
        """Yield the files of each complete row that has some, one row in memory at a time.

        Raises:
            RunRecordError: The journal of a row cannot be read.
        """
        for journal in journals_of(self.store, self.rows):
            if isinstance(journal, RunRecordError):
                raise journal
            with contextlib.closing(journal):
                found = artifacts_of(journal, with_texts=with_texts)
            if found.files:
                yield found


def batch_artifacts(store: RunStore, batch: str) -> BatchArtifacts:
    """Return the rows of a batch whose files can be fetched.

    Raises:
        ArtifactError: None of its rows is complete.
    """
    rows = sorted((run for run in store.runs()[0] if batch_of(run.id) == batch), key=lambda run: run.started_at)
    complete = tuple(run.id for run in rows if run.status == "completed")
    if not complete:
        fix = f"see what becomes of them: {command('batch', 'status', batch, store=store.place)}"
        raise ArtifactError(f"no row of the batch {batch} is complete: artifacts are written at the end", fix=fix)
    return BatchArtifacts(store, batch, complete, len(rows) - len(complete))
