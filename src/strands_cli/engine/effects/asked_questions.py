"""A question to a person as the journal has it: its answer, its default, and the time that is left for it."""

from __future__ import annotations

import dataclasses
from typing import Any

from strands_cli.engine.journal import Answer, Question
from strands_cli.errors import RunFailed


def recorded_answer(question: Question, answer: Answer) -> Answer:
    """Return a recorded answer; a rejected gate fails its step."""
    if question.kind == "gate" and answer.reason is not None:
        raise RunFailed(f"{question.key} was rejected by {answer.by}" + (f": {answer.reason}" if answer.reason else ""))
    return answer


def default_if_late(question: Question, waiting_since: float | None, now: float) -> Answer | None:
    """Return the default of a question that has waited longer than it may."""
    if waiting_since is None or question.timeout_s is None or question.default is None:
        return None
    late = now - waiting_since >= question.timeout_s
    return Answer("answered", question.default, by="default") if late else None


def with_time_left(question: Question, waiting_since: float | None, now: float) -> Question:
    """Return a question with a default, with the time that is left until it is taken."""
    if waiting_since is None or question.timeout_s is None or question.default is None:
        return question
    left = round(question.timeout_s - max(0.0, now - waiting_since), 3)
    return dataclasses.replace(question, timeout_s=max(left, 0.0))


def detail_of(question: Question) -> dict[str, Any]:
    """Return what the journal stores of a question, for a later answer."""
    names = ("kind", "prompt", "context", "pattern", "default", "timeout_s")
    call = {"call": dataclasses.asdict(question.call)} if question.call is not None else {}
    words = {"words": list(question.words), "only_words": question.only_words} if question.words else {}
    return {name: getattr(question, name) for name in names} | words | call
