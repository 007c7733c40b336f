"""The message about a run that waits or has ended, as JSON without secrets."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from strands_cli.api import counted
from strands_cli.hooks import RunEnded, WaitingQuestion
from strands_cli_notify.targets import occasion_of

FORMAT = 1
MOST_QUESTIONS = 20
_TEST = "a test of strands runs notify --test"


@dataclass(frozen=True, slots=True)
class Message:
    """One message to all targets.

    Attributes:
        id: The same for every attempt to send it, and for no other message.
        document: The sent JSON.
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


def message_of(run: RunEnded, questions: Sequence[WaitingQuestion]) -> Message:
    """Return the message about a run; `questions` are those that it waits for."""
    data = _data_of(run, questions)
    text = _line_of(data, len(questions))
    # A person who is asked in place of another has not had the message.
    people = "".join(f" {question.key} {question.delegate}" for question in questions if question.delegate)
    return _message(f"run.{occasion_of(run.status)}", text, data, f"{run.id} {run.status} {run.ended_at}{people}")


def trial_message() -> Message:
    """Return a message that only shows whether messages arrive; it has the fields of an ended run."""
    now = time.time()
    usage = {"input_tokens": 0, "output_tokens": 0}
    run = RunEnded("test", "test", "completed", "", _TEST, cost_usd=0.0, usage=usage)
    data = _data_of(run, ()) | {"started_at": _moment(now), "ended_at": _moment(now), "seconds": 0.0}
    return _message("test", _TEST, data, f"test {now} {os.getpid()}")


def _data_of(run: RunEnded, questions: Sequence[WaitingQuestion]) -> dict[str, Any]:
    return {
        "run": run.id,
        "workflow": run.name,
        "status": run.status,
        "reason": run.error,
        "host": platform.node(),
        "started_at": _moment(run.started_at),
        "ended_at": None if run.ended_at is None else _moment(run.ended_at),
        "seconds": None if run.worked_s is None else round(run.worked_s, 3),
        "usage": dict(run.usage),
        "model_calls": run.model_calls,
        "tool_calls": run.tool_calls,
        "cost_usd": run.cost_usd,
        "denials": [asdict(denial) for denial in run.denials],
        "questions": [
            {**asdict(question), "commands": list(question.commands)} for question in questions[:MOST_QUESTIONS]
        ],
        "more_questions": len(questions[MOST_QUESTIONS:]),
        "commands": list(run.commands),
    }


def _line_of(data: dict[str, Any], questions: int) -> str:
    """Return one line that tells a person enough to decide whether to look."""
    name = " ".join(data["workflow"].split())
    if questions:
        return f"{name} waits for {counted(questions, 'answer')}"
    # A batch that waits has no question itself.
    has_reason = data["reason"] and data["status"] in ("failed", "waiting")
    why = f": {' '.join(data['reason'].split())}" if has_reason else ""
    denied = ", ".join(dict.fromkeys(denial["tool"] for denial in data["denials"]))
    # Its work may not be done.
    but = f"; denied: {denied}" if denied and data["status"] == "completed" else ""
    return f"{name} {'was ' if data['status'] == 'interrupted' else ''}{data['status']}{why}{but}"


def _message(kind: str, text: str, data: dict[str, Any], identity: str) -> Message:
    name = f"msg_{hashlib.sha256(f'{platform.node()} {identity}'.encode()).hexdigest()[:32]}"
    document = {"format": FORMAT, "type": kind, "timestamp": _moment(time.time()), "text": text, "data": data}
    return Message(name, document)


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
