"""Answers that one process stores for another, which works on the run and waits for the default of a question."""

from __future__ import annotations

from typing import Any

from strands_cli.engine.effects.asked_questions import STAYS_UNTIL
from strands_cli.engine.journal.journal_rows import Answer, Journal, Row

# The fact of a run that is the answer to the question with the key behind it.
_OFFERED = "offered_answer:"


def stays_until(question: Row) -> float | None:
    """Return until when a process waits for the default of a question; None where none does."""
    until: float | None = question.detail.get(STAYS_UNTIL)
    return until


def offer_answer(journal: Any, question: Row, answer: Answer) -> bool:
    """Store an answer for the process that holds the run; return whether the journal's store can do that."""
    offer = getattr(journal, "offer", None)
    if offer is not None:
        offer(**{f"{_OFFERED}{question.key}": {"asked_at": question.started_at, "answer": answer.stored()}})
    return offer is not None


def offered_answer(journal: Journal, key: str) -> Answer | None:
    """Return the answer that another process has stored for a question since it waits."""
    stored, row = journal.get(f"{_OFFERED}{key}"), journal.row(key)
    if stored is None or row is None or row.status != "waiting" or row.started_at != stored["asked_at"]:
        return None
    return Answer("answered", **stored["answer"])
