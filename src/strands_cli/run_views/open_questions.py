"""What a stored run waits for, and the commands that answer it or continue the run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.engine.journal import SqliteJournal

if TYPE_CHECKING:
    from strands_cli.engine.journal import Journal


def answer_commands(journal: Journal, run_id: str, runs_dir: Path) -> list[str]:
    """Return the commands that answer what a run waits for, two for each question."""
    from strands_cli.engine.decisions import open_decisions, open_questions
    from strands_cli.engine.waiting import ways_to_answer

    journal = _readable(journal)
    rows = [*open_questions(journal), *open_decisions(journal)]
    ways = [way for row in rows for way in ways_to_answer(run_id, row)]
    return [command(verb, *words, runs_dir=runs_dir) for verb, *words in ways]


def questions_of(journal: Journal) -> list[dict[str, Any]]:
    """Return what waits for a person, as JSON."""
    from strands_cli.engine.decisions import natural_answer, open_decisions, open_questions
    from strands_cli.engine.waiting import CUT_OFF

    names = ("kind", "prompt", "context", "pattern", "default", "timeout_s", "words", "only_words")
    asked, journal = [], _readable(journal)
    for row in open_questions(journal):
        call = {"call": row.detail["call"]} if "call" in row.detail else {}
        known = {name: row.detail.get(name) for name in names}
        asked.append({"key": row.key, **known, "approve_answers": natural_answer(row), **call})
    cut_off = [{"key": row.key, "kind": "decision", "prompt": CUT_OFF} for row in open_decisions(journal)]
    return [*asked, *cut_off]


def _readable(journal: Journal) -> Journal:
    """Return a journal whose damaged rows are no error."""
    return journal.tolerant() if isinstance(journal, SqliteJournal) else journal


def command(verb: str, *words: str, runs_dir: Path) -> str:
    """Return a command line for a shell, with `--runs-dir` unless it is the default."""
    from strands_cli.config import load_settings

    place = [] if load_settings().runs_dir == runs_dir else ["--runs-dir", str(runs_dir)]
    return shlex.join(["strands", verb, *words, *place])
