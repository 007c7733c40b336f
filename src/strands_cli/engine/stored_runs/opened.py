"""Opens the journal of a stored run, to read it or to continue the run."""

from __future__ import annotations

from strands_cli.engine.journal.run_parts import command_of
from strands_cli.engine.ports.store_port import RunStore, StoredJournal
from strands_cli.engine.stored_runs.described import require_begun
from strands_cli.engine.stored_runs.stored_secrets import hide_secrets_of
from strands_cli.errors import UsageError


def opened_run(store: RunStore, run_id: str, *, hold: bool) -> StoredJournal:
    """Open the journal of a run; with `hold` no other process can continue the run meanwhile.

    Raises:
        RunRecordError: The journal is not usable, or another process holds it.
        UsageError: The run was cancelled, or it consists of other runs.
    """
    journal = store.open(run_id, hold=hold)
    try:
        require_begun(journal)
        if (command := command_of(journal.get("pattern"))) is not None:
            fix = f"strands {command} resume {run_id}; the runs: strands runs list --parts {run_id}"
            raise UsageError(f"{run_id} consists of other runs", fix=fix)
        if hold and journal.get("status") == "cancelled":
            fix = f"strands rerun {run_id} --from KEY"
            raise UsageError(f"the run {run_id} was cancelled", fix=fix)
        if hold:
            hide_secrets_of(journal)
    except BaseException:
        journal.close()
        raise
    return journal
