"""Opens the journal of a stored run, to read it or to continue the run."""

from __future__ import annotations

from pathlib import Path

from strands_cli.engine.journal import SqliteJournal
from strands_cli.engine.stored_runs.folder_store import require_begun
from strands_cli.engine.stored_runs.stored_secrets import hide_secrets_of
from strands_cli.errors import UsageError


def opened_run(directory: Path, *, hold: bool) -> SqliteJournal:
    """Open the journal in a run's directory; with `hold` no other process can continue the run meanwhile.

    Raises:
        RunRecordError: The journal is not usable, or another process holds it.
        UsageError: The run was cancelled.
    """
    journal = SqliteJournal.open(directory, hold=hold)
    try:
        require_begun(directory, journal)
        if hold and journal.get("status") == "cancelled":
            fix = f"strands rerun {directory.name} --from KEY"
            raise UsageError(f"the run {directory.name} was cancelled", fix=fix)
        if hold:
            hide_secrets_of(journal)
    except BaseException:
        journal.close()
        raise
    return journal
