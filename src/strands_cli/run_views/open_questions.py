"""The questions of a stored run, and the commands that answer them or continue the run."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Journal
    from strands_cli.engine.store_port import StoredJournal
    from strands_cli.store_place import StorePlace

_WITHOUT_RUN = re.compile(r"\bstrands (resume|runs rerun|approve|reject|runs show) RUN\b")
# The facts of each question, and those that some have.
_FACTS = ("kind", "prompt", "context", "pattern", "default", "timeout_s", "words", "only_words")
_FURTHER = ("schema", "problem", "tried", "approvers", "answers", "on_expiry", "delegated")


def answer_commands(journal: StoredJournal) -> list[str]:
    """Return the commands that answer the questions of a run, two for each."""
    from strands_cli.engine.waiting.questions import open_decisions, open_questions, ways_to_answer

    readable = journal.tolerant()
    rows = [*open_questions(readable), *open_decisions(readable)]
    ways = [way for row in rows for way in ways_to_answer(journal.run_id, row)]
    return [command(verb, *words, store=journal.place) for verb, *words in ways]


def questions_of(journal: Journal) -> list[dict[str, Any]]:
    """Return the questions that wait for a person, as JSON."""
    from strands_cli.engine.waiting.questions import natural_answer, open_decisions, open_questions, prompt_of

    questions, journal = [], _readable(journal)
    for row in open_questions(journal):
        call = {"call": row.detail["call"]} if "call" in row.detail else {}
        facts = {name: row.detail.get(name) for name in _FACTS + _FURTHER}
        questions.append({"key": row.key, **facts, "approve_answers": natural_answer(row), **call})
    decided = [{"key": row.key, "kind": "decision", "prompt": prompt_of(row)} for row in open_decisions(journal)]
    return [*questions, *decided]


def _readable(journal: Journal) -> Journal:
    """Return a journal whose damaged rows are no error."""
    return cast("StoredJournal", journal).tolerant() if hasattr(journal, "tolerant") else journal


def command(verb: str, *words: str, store: StorePlace) -> str:
    """Return a command line for a shell, with the option that names the store unless it is the default."""
    from strands_cli.planning.run_request import chosen_place

    place_words = [] if chosen_place() == store else store.words
    return shlex.join(["strands", verb, *words, *place_words])


def with_run(fix: str | None, run_id: str, place: StorePlace) -> str | None:
    """Return the advice on a run with the run's own name in its commands, where the engine could only write RUN."""
    if fix is None:
        return None
    return _WITHOUT_RUN.sub(lambda match: command(*match[1].split(), run_id, store=place), fix)
