"""A question to a person in the journal: its answer, its default, and the time left for it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from strands_cli.engine.journal.answers import misfit
from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.errors import RunFailed

if TYPE_CHECKING:
    from strands_cli.engine.effects.run_context import RunContext

# In the detail of a question that waits: until when the process that works on the run waits for its default.
STAYS_UNTIL = "stays_until"
# How often a run that waits for a default looks whether another process has stored an answer.
_LOOK_EACH_S = 0.25
# Fields of a question that its row has only where they are set.
_OPTIONAL = ("schema", "problem", "tried")


async def answer_or_default(question: Question, run: RunContext) -> Answer:
    """Wait as long as a question may wait; return the answer that another process stores meanwhile, or the default."""
    until = run.clock.monotonic() + (question.timeout_s or 0.0)
    while (left := until - run.clock.monotonic()) > 0:
        await run.clock.sleep(min(left, _LOOK_EACH_S))
        answer = run.offered_answer(question.key)
        if answer is not None and (answer.reason is not None or misfit(answer.text, question) is None):
            return answer
    return Answer("answered", question.default or "", by="default")


def recorded_answer(question: Question, answer: Answer) -> Answer:
    """Return a recorded answer; a rejected gate fails its step."""
    if question.kind == "gate" and answer.reason is not None:
        raise RunFailed(f"{question.key} was rejected by {answer.by}" + (f": {answer.reason}" if answer.reason else ""))
    return answer


def default_if_late(question: Question, waiting_since: float | None, now: float) -> Answer | None:
    """Return the default of a question whose time to wait is over."""
    if waiting_since is None or question.timeout_s is None or question.default is None:
        return None
    late = now - waiting_since >= question.timeout_s
    return Answer("answered", question.default, by="default") if late else None


def with_time_left(question: Question, waiting_since: float | None, now: float) -> Question:
    """Return a question with a default, with the time left until it is taken."""
    if waiting_since is None or question.timeout_s is None or question.default is None:
        return question
    left = round(question.timeout_s - max(0.0, now - waiting_since), 3)
    return dataclasses.replace(question, timeout_s=max(left, 0.0))


def detail_of(question: Question) -> dict[str, Any]:
    """Return the fields of a question for the journal, for a later answer."""
    names = ("kind", "prompt", "context", "pattern", "default", "timeout_s")
    call = {"call": dataclasses.asdict(question.call)} if question.call is not None else {}
    more = {name: value for name in _OPTIONAL if (value := getattr(question, name)) is not None}
    words = {"words": list(question.words), "only_words": question.only_words} if question.words else {}
    return {name: getattr(question, name) for name in names} | words | call | more
