"""What a store of runs is made of, for distributions that bring one by an entry point of `strands_cli.stores`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Journal as Journal
    from strands_cli.engine.journal.journal_rows import Row as Row
    from strands_cli.engine.journal.journal_rows import RowKind as RowKind
    from strands_cli.engine.journal.row_texts import json_text as json_text
    from strands_cli.engine.journal.row_texts import usage_text as usage_text
    from strands_cli.engine.journal.stored_columns import LARGE_OUTPUT_BYTES as LARGE_OUTPUT_BYTES
    from strands_cli.engine.journal.stored_columns import row_of as row_of
    from strands_cli.engine.journal.stored_columns import stored_texts as stored_texts
    from strands_cli.engine.ports.store_port import RunStore as RunStore
    from strands_cli.engine.ports.store_port import StoredJournal as StoredJournal
    from strands_cli.engine.ports.store_port import StoredRun as StoredRun
    from strands_cli.engine.ports.store_port import StoreOpener as StoreOpener
    from strands_cli.engine.stored_runs.described_run import named_run as named_run
    from strands_cli.secrets.redactor import HIDE_NOTHING as HIDE_NOTHING
    from strands_cli.secrets.redactor import Redactor as Redactor
    from strands_cli.store_place import StorePlace as StorePlace

# Imported on first use: a command that only lists runs needs no journal.
_PUBLIC = {
    "HIDE_NOTHING": "strands_cli.secrets.redactor",
    "Journal": "strands_cli.engine.journal.journal_rows",
    "LARGE_OUTPUT_BYTES": "strands_cli.engine.journal.stored_columns",
    "Redactor": "strands_cli.secrets.redactor",
    "Row": "strands_cli.engine.journal.journal_rows",
    "RowKind": "strands_cli.engine.journal.journal_rows",
    "RunStore": "strands_cli.engine.ports.store_port",
    "StoreOpener": "strands_cli.engine.ports.store_port",
    "StorePlace": "strands_cli.store_place",
    "StoredJournal": "strands_cli.engine.ports.store_port",
    "StoredRun": "strands_cli.engine.ports.store_port",
    "json_text": "strands_cli.engine.journal.row_texts",
    "named_run": "strands_cli.engine.stored_runs.described_run",
    "row_of": "strands_cli.engine.journal.stored_columns",
    "stored_texts": "strands_cli.engine.journal.stored_columns",
    "usage_text": "strands_cli.engine.journal.row_texts",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'strands_cli.stores' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)
