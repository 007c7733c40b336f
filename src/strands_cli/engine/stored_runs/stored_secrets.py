"""The secrets of a stored run, as far as they can be read without running a program."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

from strands_cli.engine.ports.store_port import StoredJournal
from strands_cli.engine.run_start.run_facts import snapshot_of
from strands_cli.errors import StrandsCliError
from strands_cli.planning.data_flow.secret_values import local_secret_values
from strands_cli.secrets.process_streams import hide_in_output
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document_reader import read_document
from strands_cli.yaml_files.file_source import FileSnapshot


def hide_secrets_of(journal: StoredJournal) -> None:
    """Hide a run's secrets in its journal and in this process's output, before an answer is written."""
    journal.redactor = stored_redactor(journal)
    hide_in_output(journal.redactor)


def stored_redactor(journal: StoredJournal) -> Redactor:
    """Return the redactor of a stored run's secrets that are in variables and files, and of the keys of providers.

    It runs no program, and hides personal data if the workflow, or a workflow that is a tool of it, asks for that.
    """
    snapshot = snapshot_of(journal)
    files = [(journal.get("file"), journal.get("text"), snapshot.folder or Path.cwd())]
    files += [(file, text, Path(file).parent) for file, text in snapshot.texts.items()]
    # Also of those that the files do not name.
    variables = Redactor(filter(None, map(os.environ.get, journal.get("secret_variables") or ())))
    return variables.union(Redactor.of_environment(os.environ), *(_redactor_of(*one, snapshot) for one in files))


def _redactor_of(file: str, text: Any, folder: Path, snapshot: FileSnapshot) -> Redactor:
    """Return what hides the secrets that one file of a run names; a file that is not a workflow names none."""
    if not isinstance(text, str) or ("secrets" not in text and "pii_redaction" not in text):
        return HIDE_NOTHING
    try:
        spec = load_spec(read_document(file, text), dataclasses.replace(snapshot, folder=folder)).spec
    except StrandsCliError:
        return HIDE_NOTHING
    if spec is None:
        return HIDE_NOTHING
    personal = spec.security.guardrails.pii_redaction
    return Redactor(local_secret_values(spec, folder, os.environ), personal=personal)
