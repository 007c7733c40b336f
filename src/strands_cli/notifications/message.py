"""The message about a run that waits or has ended, as JSON without secrets."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from strands_cli.engine.journal.batch_ids import BATCH
from strands_cli.engine.ports.store_port import StoredJournal, StoredRun
from strands_cli.engine.stored_runs.stored_secrets import stored_redactor
from strands_cli.engine.stored_runs.summary import summary_of
from strands_cli.engine.waiting.sendable_questions import portable_command, sendable, waiting_questions
from strands_cli.notifications.targets import occasion_of
from strands_cli.secrets.redactor import Redactor
from strands_cli.texts.phrases import counted

FORMAT = 1
MOST_QUESTIONS = 20


@dataclass(frozen=True, slots=True)
class Message:
    """One message to all targets.

    Attributes:
        id: The same for every attempt to send it, and for no other message.
        document: What is sent, as JSON.
    """

    id: str
    document: dict[str, Any]

    @property
    def body(self) -> bytes:
        """The JSON as ASCII: no character of it can act on a terminal."""
        return json.dumps(self.document).encode()

    @property
    def facts(self) -> dict[str, str]:
        """The variables of a command; none of them can have a text of a model, a tool or a workflow."""
        data = self.document["data"]
        return {
            "STRANDS_RUN_EVENT": self.document["type"],
            "STRANDS_RUN_ID": data["run"],
            "STRANDS_RUN_STATUS": data["status"],
            "STRANDS_RUN_QUESTIONS": str(len(data["questions"]) + data["more_questions"]),
            "STRANDS_MESSAGE_ID": self.id,
        }


def message_of(journal: StoredJournal) -> tuple[StoredRun, Message]:
    """Return a run as it is stored now, and the message about it."""
    summary = summary_of(journal)
    run, spent = summary.run, summary.spent
    redact = stored_redactor(journal).union(Redactor.of_environment(os.environ)).text
    questions = waiting_questions(journal, redact) if occasion_of(run.status) == "waiting" else ()
    data = {
        **_facts_of(run, redact),
        "usage": spent.usage.counts(),
        "model_calls": spent.model_calls,
        "tool_calls": spent.tool_calls,
        "cost_usd": spent.cost,
        "denials": [
            {**asdict(one), "rule": sendable(one.rule, redact), "fix": one.fix and sendable(one.fix, redact)}
            for one in summary.denials
        ],
        "questions": [{**asdict(one), "commands": list(one.commands)} for one in questions[:MOST_QUESTIONS]],
        "more_questions": len(questions[MOST_QUESTIONS:]),
        "commands": [redact(portable_command(*words, store=journal.place)) for words in _next_steps(run)],
    }
    text = _line_of(data, len(questions))
    return run, _message(f"run.{occasion_of(run.status)}", text, data, f"{run.id} {run.status} {run.ended_at}")


def trial_message() -> Message:
    """Return a message that only shows whether messages arrive; it has the fields of a run that has ended."""
    now, nothing = time.time(), {"input_tokens": 0, "output_tokens": 0}
    run = StoredRun("test", "", "test", "", "", "completed", now, now, "a test of strands doctor --notify", 0.0)
    data = {**_facts_of(run, str), "usage": nothing, "model_calls": 0, "tool_calls": 0, "cost_usd": 0.0}
    data |= {"denials": [], "questions": [], "more_questions": 0, "commands": []}
    return _message("test", "a test of strands doctor --notify", data, f"test {now} {os.getpid()}")


def _facts_of(run: StoredRun, redact: Callable[[str], str]) -> dict[str, Any]:
    return {
        "run": run.id,
        "workflow": sendable(run.workflow, redact),
        "status": run.status,
        "reason": None if run.reason is None else sendable(run.reason, redact),
        "host": platform.node(),
        "started_at": _moment(run.started_at),
        "ended_at": None if run.ended_at is None else _moment(run.ended_at),
        "seconds": None if run.worked_s is None else round(run.worked_s, 3),
    }


def _next_steps(run: StoredRun) -> list[list[str]]:
    """Return the commands that show the run, and that continue one which nothing prevents from it."""
    show, resume = ["runs", "show", run.id], ["resume", run.id]
    if run.pattern == BATCH:
        show, resume = ["batch", "status", run.id], ["batch", "resume", run.id]
    return [show, resume] if run.status == "interrupted" else [show]


def _line_of(data: dict[str, Any], questions: int) -> str:
    """Return one line that tells a person enough to decide whether to look."""
    name = " ".join(data["workflow"].split())
    if questions:
        return f"{name} waits for {counted(questions, 'answer')}"
    # A batch that waits has no question itself.
    has_reason = data["reason"] and data["status"] in ("failed", "waiting")
    why = f": {' '.join(data['reason'].split())}" if has_reason else ""
    denied = ", ".join(dict.fromkeys(one["tool"] for one in data["denials"]))
    # Its work may not be done.
    but = f"; denied: {denied}" if denied and data["status"] == "completed" else ""
    return f"{name} {'was ' if data['status'] == 'interrupted' else ''}{data['status']}{why}{but}"


def _message(kind: str, text: str, data: dict[str, Any], identity: str) -> Message:
    name = f"msg_{hashlib.sha256(f'{platform.node()} {identity}'.encode()).hexdigest()[:32]}"
    document = {"format": FORMAT, "type": kind, "timestamp": _moment(time.time()), "text": text, "data": data}
    return Message(name, document)


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
