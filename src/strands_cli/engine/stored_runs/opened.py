"""Opens the journal of a stored run, to read it or to continue the run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from strands_cli.engine.journal.journal_rows import Journal, command_of
from strands_cli.engine.store_port import RunStore, StoredJournal
from strands_cli.engine.stored_runs.described import require_begun
from strands_cli.errors import UsageError
from strands_cli.secrets.redactor import Redactor, hide_in_output
from strands_cli.secrets.secret_sources import SecretFault, SecretReference, read_secret
from strands_cli.user_files.stored_keys import with_taken_keys

# The secrets of a stored run, as far as they can be read without running a program.


def hide_secrets_of(journal: StoredJournal) -> None:
    """Hide a run's secrets in its journal and in this process's output, before an answer is written."""
    journal.redactor = stored_redactor(journal)
    hide_in_output(journal.redactor)


def stored_redactor(journal: Journal) -> Redactor:
    """Return the redactor of a stored run's secrets in variables and files, and of the keys of providers.

    The journal names them; it runs no program and reads no workflow. It hides personal data if the workflow, or a
    workflow among its tools, asks for that.
    """
    values = Redactor(_values(journal), personal=bool(journal.get("hides_personal_data")))
    return values.union(Redactor.of_environment(with_taken_keys(os.environ)))


def _values(journal: Journal) -> Iterator[str]:
    yield from (value for name in _texts(journal.get("secret_variables")) if (value := os.environ.get(name)))
    for path in _texts(journal.get("secret_files")):
        with contextlib.suppress(SecretFault):
            yield read_secret(SecretReference(path, "", "file", path, Path()), os.environ)


def _texts(value: Any) -> list[str]:
    """Return the texts of a list that a journal has, which may be damaged."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


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
            fix = f"strands runs rerun {run_id} --from KEY"
            raise UsageError(f"the run {run_id} was cancelled", fix=fix)
        if hold:
            hide_secrets_of(journal)
    except BaseException:
        journal.close()
        raise
    return journal
