"""Opens the journal of a stored run, to read it or to continue the run."""

from __future__ import annotations

from strands_cli.engine.journal.batch_ids import is_batch
from strands_cli.engine.ports.store_port import RunStore, StoredJournal
from strands_cli.engine.stored_runs.described import require_begun
from strands_cli.engine.stored_runs.stored_secrets import hide_secrets_of
from strands_cli.errors import UsageError


def opened_run(store: RunStore, run_id: str, *, hold: bool) -> StoredJournal:
    """Open the journal of a run; with `hold` no other process can continue the run meanwhile.

    Raises:
        RunRecordError: The journal is not usable, or another process holds it.
        UsageError: The run was cancelled, or it is a batch.
    """
    journal = store.open(run_id, hold=hold)
    try:
        require_begun(journal)
        if is_batch(journal):
            fix = f"strands batch resume {run_id}; its rows, each a run: strands runs list --rows {run_id}"
            raise UsageError(f"{run_id} is a batch, not a run", fix=fix)
        if hold and journal.get("status") == "cancelled":
            fix = f"strands rerun {run_id} --from KEY"
            raise UsageError(f"the run {run_id} was cancelled", fix=fix)
        if hold:
            hide_secrets_of(journal)
    except BaseException:
        journal.close()
        raise
    return journal
