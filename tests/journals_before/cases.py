"""The stored runs, what continues each of them, and what two programs must answer alike."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent
# Where the old program made the runs; their journals have this path, and a copy of them has its own instead.
OLD_ROOT = "/srv/before"
NEW = "NEW"  # the id of a run that a rerun makes
SECRET = "correct-horse-battery"
CUT = "steps.1/tool.0.send"


@dataclass(frozen=True)
class Stored:
    """How one run was started, and the commands that continue copies of it; `RUN` is replaced by its id."""

    name: str
    begin: tuple[str, ...] = ()
    continuations: tuple[tuple[str, ...], ...] = (("resume", "RUN"),)
    killed: bool = False


STORED = (
    Stored(
        "chain",
        continuations=(
            ("resume", "RUN"),
            ("rerun", "RUN", "--from", "steps.1", "--force"),
            ("rerun", "RUN", "--from", "steps.2", "--var", "place=wall", "--force"),
            ("rerun", "RUN", "--from", "steps.1", "--var", "topic=snow", "--force"),
        ),
    ),
    Stored(
        "gate",
        ("--detach",),
        (
            ("approve", "RUN", "--answer", "yes"),
            ("reject", "RUN", "--reason", "too short"),
        ),
    ),
    Stored(
        "approval",
        ("--detach",),
        (("resume", "RUN"), ("approve", "RUN"), ("reject", "RUN", "--reason", "not now")),
    ),
    Stored(
        "cut",
        ("--yes",),
        (
            ("resume", "RUN"),
            ("resume", "RUN", "--redo", CUT),
            ("resume", "RUN", "--skip", CUT, "--result", '"by hand"'),
            ("resume", "RUN", "--fail", CUT),
        ),
        killed=True,
    ),
    Stored("killed", ("--yes",), killed=True),
    Stored("budget", (), (("resume", "RUN", "--budget", "max_model_calls=3"),)),
    Stored("graph", (), (("rerun", "RUN", "--from", "nodes.review#2"),)),
    Stored("parallel", (), (("rerun", "RUN", "--from", "reduce"),)),
    Stored("branches", ("--detach",), (("approve", "RUN", "--answer", "go"),)),
    Stored("routing", (), (("rerun", "RUN", "--from", "routes.billing.steps.0"),)),
    Stored("workflow", (), (("rerun", "RUN", "--from", "tasks.article", "--force"),)),
    Stored("evaluator_optimizer"),
    Stored("orchestrator_workers"),
    Stored("nested", ("--detach", "--yes"), (("approve", "RUN"),)),
    Stored("secret", ("--detach",), (("approve", "RUN", "--answer", "after"),)),
)
_TIMES = ("started_at", "ended_at", "seconds")
# Wordings may improve; codes, keys, answers and commands may not change.
_SENTENCES = ("message", "fix", "findings", "prompt")
# What later versions store besides.
_LATER = ("call",)


def lasting(document: Any, names: Mapping[str, str]) -> Any:
    """Return a document without times and sentences of errors, with other names for what differs."""
    if isinstance(document, dict):
        dropped = (*_TIMES, *_SENTENCES, *_LATER)
        return {name: lasting(value, names) for name, value in document.items() if name not in dropped}
    if isinstance(document, list):
        return [lasting(entry, names) for entry in document]
    if isinstance(document, str):
        for name, other in names.items():
            document = document.replace(name, other)
    return document


def shown_by_key(shown: dict[str, Any]) -> dict[str, Any]:
    """Return what `runs show` says, with its effects in the order of their keys: some start side by side."""
    return {**shown, "effects": sorted(shown["effects"], key=lambda effect: effect["key"])}


def rows_of(run: Path) -> dict[str, tuple[Any, ...]]:
    """Return the finished effects of a run by key, as its database has them."""
    with closing(sqlite3.connect(run / "journal.sqlite")) as database:
        found = database.execute("SELECT * FROM effects WHERE status = 'done'").fetchall()
    return {row[0]: row for row in found}


def effects_of(run: Path) -> dict[str, Any]:
    """Return every effect by key: kind, status, attempt, the names of its details, and what came of it."""
    with closing(sqlite3.connect(run / "journal.sqlite")) as database:
        query = "SELECT key, kind, status, attempt, detail, output FROM effects ORDER BY key"
        return {
            # What a model has answered is as its recording and the SDK have it.
            key: [
                kind,
                status,
                attempt,
                sorted(json.loads(detail).keys() - set(_LATER)),
                json.loads(output or "null") if kind != "model" else None,
            ]
            for key, kind, status, attempt, detail, output in database.execute(query)
        }
