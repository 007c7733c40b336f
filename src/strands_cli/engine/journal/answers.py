"""Whether an answer is one that its question accepts."""

from __future__ import annotations

import dataclasses

from strands_cli.engine.journal.journal_rows import Question, Row
from strands_cli.texts.phrases import joined
from strands_cli.workflow.steps import meant_word
from strands_cli.workflow.templates.regular_expressions import SlowPattern, fullmatch

_STORED = {one.name for one in dataclasses.fields(Question)} - {"key", "call", "may_wait"}


def misfit(text: str, question: Question) -> str | None:
    """Return why an answer does not fit its question, or None; the default always fits."""
    if text == question.default:
        return None
    try:
        if question.pattern is not None and fullmatch(question.pattern, text) is None:
            return f"{text!r} does not match {question.pattern!r}"
    except SlowPattern as error:
        return str(error)
    if question.only_words and meant_word(text, question.words) is None:
        return f"{text!r} is none of {joined(question.words)}"
    return None


def stored_question(row: Row) -> Question:
    """Return the question of a row, without its call."""
    fields = {name: value for name, value in row.detail.items() if name in _STORED and value is not None}
    return Question(**{"key": row.key, "kind": "gate", "prompt": "", **fields, "words": tuple(fields.get("words", ()))})
