"""What programs and other distributions may import of the core: the Python API, runs, stores, queues, checks, errors.

These names are stable. Everything else that can be imported belongs to the core and may change with any version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.api.choice_types import RunChoices as RunChoices
    from strands_cli.api.choice_types import StoredRunChoices as StoredRunChoices
    from strands_cli.api.read_runs import OpenedRun as OpenedRun
    from strands_cli.api.read_runs import Runs as Runs
    from strands_cli.api.text_checks import check_text as check_text
    from strands_cli.api.workflows import Workflow as Workflow
    from strands_cli.engine.journal.journal_rows import Answer as Answer
    from strands_cli.engine.journal.journal_rows import Journal as Journal
    from strands_cli.engine.journal.journal_rows import Question as Question
    from strands_cli.engine.journal.journal_rows import Row as Row
    from strands_cli.engine.journal.journal_rows import RowKind as RowKind
    from strands_cli.engine.journal.row_texts import json_text as json_text
    from strands_cli.engine.journal.row_texts import usage_text as usage_text
    from strands_cli.engine.journal.stored_columns import LARGE_OUTPUT_BYTES as LARGE_OUTPUT_BYTES
    from strands_cli.engine.journal.stored_columns import row_of as row_of
    from strands_cli.engine.journal.stored_columns import stored_texts as stored_texts
    from strands_cli.engine.plan_execution import RunResult as RunResult
    from strands_cli.engine.ports.store_port import RunStore as RunStore
    from strands_cli.engine.ports.store_port import StoredJournal as StoredJournal
    from strands_cli.engine.ports.store_port import StoredRun as StoredRun
    from strands_cli.engine.ports.store_port import StoreOpener as StoreOpener
    from strands_cli.engine.stored_runs.described_run import named_run as named_run
    from strands_cli.errors import ExitCode as ExitCode
    from strands_cli.errors import Finding as Finding
    from strands_cli.errors import InvalidInput as InvalidInput
    from strands_cli.errors import NotEquipped as NotEquipped
    from strands_cli.errors import RunRecordError as RunRecordError
    from strands_cli.errors import Unreachable as Unreachable
    from strands_cli.errors import UsageError as UsageError
    from strands_cli.events import Event as Event
    from strands_cli.events import Usage as Usage
    from strands_cli.plugins.check.build_manifest import BuildManifest as BuildManifest
    from strands_cli.plugins.check.build_manifest import build_manifests as build_manifests
    from strands_cli.provider_table import Provider as Provider
    from strands_cli.queues.queue_port import Engine as Engine
    from strands_cli.queues.queue_port import Handler as Handler
    from strands_cli.queues.queue_port import QueueLimits as QueueLimits
    from strands_cli.queues.queue_port import QueueState as QueueState
    from strands_cli.queues.queue_port import RunQueue as RunQueue
    from strands_cli.queues.queue_port import Schedule as Schedule
    from strands_cli.queues.queue_port import Station as Station
    from strands_cli.queues.queue_port import Ticket as Ticket
    from strands_cli.queues.queue_port import WorkerState as WorkerState
    from strands_cli.run_views.files.fetched_artifacts import StoredArtifact as StoredArtifact
    from strands_cli.secrets.process_streams import RedactedFormatter as RedactedFormatter
    from strands_cli.secrets.redactor import HIDE_NOTHING as HIDE_NOTHING
    from strands_cli.secrets.redactor import Redactor as Redactor
    from strands_cli.store_place import StorePlace as StorePlace

# Imported on first use: a program that only lists runs needs no model, and a build no store.
_PUBLIC = {
    "Answer": "strands_cli.engine.journal.journal_rows",
    "BuildManifest": "strands_cli.plugins.check.build_manifest",
    "Engine": "strands_cli.queues.queue_port",
    "Event": "strands_cli.events",
    "ExitCode": "strands_cli.errors",
    "Finding": "strands_cli.errors",
    "HIDE_NOTHING": "strands_cli.secrets.redactor",
    "Handler": "strands_cli.queues.queue_port",
    "InvalidInput": "strands_cli.errors",
    "Journal": "strands_cli.engine.journal.journal_rows",
    "LARGE_OUTPUT_BYTES": "strands_cli.engine.journal.stored_columns",
    "NotEquipped": "strands_cli.errors",
    "OpenedRun": "strands_cli.api.read_runs",
    "Provider": "strands_cli.provider_table",
    "Question": "strands_cli.engine.journal.journal_rows",
    "QueueLimits": "strands_cli.queues.queue_port",
    "QueueState": "strands_cli.queues.queue_port",
    "RedactedFormatter": "strands_cli.secrets.process_streams",
    "Redactor": "strands_cli.secrets.redactor",
    "Row": "strands_cli.engine.journal.journal_rows",
    "RowKind": "strands_cli.engine.journal.journal_rows",
    "RunChoices": "strands_cli.api.choice_types",
    "RunQueue": "strands_cli.queues.queue_port",
    "RunRecordError": "strands_cli.errors",
    "RunResult": "strands_cli.engine.plan_execution",
    "RunStore": "strands_cli.engine.ports.store_port",
    "Runs": "strands_cli.api.read_runs",
    "Schedule": "strands_cli.queues.queue_port",
    "Station": "strands_cli.queues.queue_port",
    "StoreOpener": "strands_cli.engine.ports.store_port",
    "StorePlace": "strands_cli.store_place",
    "StoredArtifact": "strands_cli.run_views.files.fetched_artifacts",
    "StoredJournal": "strands_cli.engine.ports.store_port",
    "StoredRun": "strands_cli.engine.ports.store_port",
    "StoredRunChoices": "strands_cli.api.choice_types",
    "Ticket": "strands_cli.queues.queue_port",
    "Unreachable": "strands_cli.errors",
    "Usage": "strands_cli.events",
    "UsageError": "strands_cli.errors",
    "WorkerState": "strands_cli.queues.queue_port",
    "Workflow": "strands_cli.api.workflows",
    "build_manifests": "strands_cli.plugins.check.build_manifest",
    "check_text": "strands_cli.api.text_checks",
    "json_text": "strands_cli.engine.journal.row_texts",
    "named_run": "strands_cli.engine.stored_runs.described_run",
    "row_of": "strands_cli.engine.journal.stored_columns",
    "stored_texts": "strands_cli.engine.journal.stored_columns",
    "usage_text": "strands_cli.engine.journal.row_texts",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'strands_cli.api' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)
