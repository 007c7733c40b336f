"""The Python API: load or build a workflow, plan it, run it, follow its events, answer its questions, resume it."""

from __future__ import annotations

from strands_cli.api.choice_types import RunChoices as RunChoices
from strands_cli.api.choice_types import StoredRunChoices as StoredRunChoices
from strands_cli.api.text_checks import check_text as check_text
from strands_cli.api.workflows import Workflow as Workflow
from strands_cli.engine.journal.journal_rows import Answer as Answer
from strands_cli.engine.journal.journal_rows import Question as Question
from strands_cli.engine.plan_execution import RunResult as RunResult
from strands_cli.events import Event as Event
from strands_cli.run_views.files.fetched_artifacts import StoredArtifact as StoredArtifact
from strands_cli.secrets.process_streams import RedactedFormatter as RedactedFormatter

__all__ = [
    "Answer",
    "Event",
    "Question",
    "RedactedFormatter",
    "RunChoices",
    "RunResult",
    "StoredArtifact",
    "StoredRunChoices",
    "Workflow",
    "check_text",
]
