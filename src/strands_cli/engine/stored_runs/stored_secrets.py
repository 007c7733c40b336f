"""The secrets of a stored run, as far as they can be read without running a program."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from strands_cli.engine.journal.journal_rows import Journal
from strands_cli.engine.ports.store_port import StoredJournal
from strands_cli.secrets.process_streams import hide_in_output
from strands_cli.secrets.redactor import Redactor
from strands_cli.secrets.secret_sources import SecretFault, SecretReference, read_secret


def hide_secrets_of(journal: StoredJournal) -> None:
    """Hide a run's secrets in its journal and in this process's output, before an answer is written."""
    journal.redactor = stored_redactor(journal)
    hide_in_output(journal.redactor)


def stored_redactor(journal: Journal) -> Redactor:
    """Return the redactor of a stored run's secrets that are in variables and files, and of the keys of providers.

    The journal names them; it runs no program and reads no workflow. It hides personal data if the workflow, or a
    workflow that is a tool of it, asks for that.
    """
    values = Redactor(_values(journal), personal=bool(journal.get("hides_personal_data")))
    return values.union(Redactor.of_environment(os.environ))


def _values(journal: Journal) -> Iterator[str]:
    yield from (value for name in _texts(journal.get("secret_variables")) if (value := os.environ.get(name)))
    for path in _texts(journal.get("secret_files")):
        with contextlib.suppress(SecretFault):
            yield read_secret(SecretReference(path, "", "file", path, Path()), os.environ)


def _texts(value: Any) -> list[str]:
    """Return the texts of a list that a journal has, which may be damaged."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
