"""Whether an answer is one that its question accepts, wherever it comes in."""

from __future__ import annotations

import dataclasses

from strands_cli.engine.journal.journal_rows import Answer, Question, Row
from strands_cli.texts.phrases import joined
from strands_cli.workflow.gate_answers import UnfitAnswer, in_words, read_answer, yes_or_no
from strands_cli.workflow.steps import meant_word
from strands_cli.workflow.templates.regular_expressions import SlowPattern, fullmatch

_STORED = {one.name for one in dataclasses.fields(Question)} - {"key", "call", "may_wait"}
_LISTS = ("words", "answers", "delegated")


def checked(answer: Answer, question: Question) -> Answer:
    """Return an answer with its text as it is stored.

    Raises:
        UnfitAnswer: It does not fit, or this person cannot give it beside the answers so far.
    """
    if answer.note and question.kind == "interrupt":
        raise UnfitAnswer("the tool gets the answer alone, without a note")
    if answer.reason is not None:
        return answer
    text = fitting(answer.text, question)
    for other in question.answers:
        who = str(other.get("who") or other.get("by"))
        if _name(who) == _name(answer.by_whom):
            raise UnfitAnswer(f"{who} has answered already, and another person has to")
        if other["text"] != text:
            raise UnfitAnswer(f"{who} has answered {other['text']!r}: give the same answer, or reject")
    return dataclasses.replace(answer, text=text, answers=question.answers)


def lacks_people(answer: Answer, question: Question) -> bool:
    """Return whether further people must give the same answer; one alone can reject."""
    return answer.reason is None and len(question.answers) + 1 < question.approvers


def _name(who: str) -> str:
    """Return a name without the account behind it."""
    return who.partition(" (")[0].casefold()


def fitting(text: str, question: Question) -> str:
    """Return the text of an answer as it is stored.

    Raises:
        UnfitAnswer: It does not fit the question; the default of a gate without types always fits.
    """
    if question.kind == "approval":
        if (word := yes_or_no(text)) is None:
            raise UnfitAnswer(f"{text!r} is neither yes nor no")
        return word
    if question.schema is not None:
        text = read_answer(text, question.schema)[0]
    elif text == question.default:
        return text
    elif question.kind == "gate":
        text = in_words(text, question.words) or text
    try:
        if question.pattern is not None and fullmatch(question.pattern, text) is None:
            raise UnfitAnswer(f"{text!r} does not match {question.pattern!r}")
    except SlowPattern as error:
        raise UnfitAnswer(str(error)) from error
    if question.only_words and meant_word(text, question.words) is None:
        raise UnfitAnswer(f"{text!r} is none of {joined(question.words)}")
    return text


def misfit(text: str, question: Question) -> str | None:
    """Return why an answer does not fit its question, or None."""
    try:
        fitting(text, question)
    except UnfitAnswer as error:
        return str(error)
    return None


def stored_question(row: Row) -> Question:
    """Return the question of a row, without its call."""
    fields = {name: value for name, value in row.detail.items() if name in _STORED and value is not None}
    lists = {name: tuple(fields.get(name, ())) for name in _LISTS}
    return Question(**{"key": row.key, "kind": "gate", "prompt": "", **fields, **lists})
