"""The workflow that a run has stored, for those who draw it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strands_cli.errors import StrandsCliError

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import StoredJournal
    from strands_cli.workflow.model import WorkflowSpec


def stored_spec_of(journal: StoredJournal) -> WorkflowSpec | None:
    """Return the workflow of a run; None where it has none, or has one that this version does not read."""
    from strands_cli.engine.run_start.run_facts import snapshot_of
    from strands_cli.workflow.loader import load_spec
    from strands_cli.yaml_files.document_reader import read_document

    file, text = journal.get("file"), journal.get("text")
    if not isinstance(file, str) or not isinstance(text, str):
        return None
    try:
        return load_spec(read_document(file, text), snapshot_of(journal)).spec
    except StrandsCliError:
        return None
