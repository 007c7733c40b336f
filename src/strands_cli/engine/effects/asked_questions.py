"""A question to a person in the journal: its answer, its default, and the time left for it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from strands_cli.engine.journal.answers import misfit
from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.errors import RunFailed
from strands_cli.texts.phrases import duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strands_cli.engine.effects.effect import Effect
    from strands_cli.engine.effects.run_context import RunContext

# In the detail of a question that waits: until when the process that works on the run waits for its default.
STAYS_UNTIL = "stays_until"
# How often a run that waits for a default looks whether another process has stored an answer.
_LOOK_EACH_S = 0.25
# Fields of a question that its row has only where they are set.
_OPTIONAL = ("schema", "problem", "tried", "approvers", "answers", "on_expiry", "delegated")
# The answerer of a question whose time is over.
EXPIRY = "expiry"


async def answer_or_default(question: Question, run: RunContext) -> Answer:
    """Wait as long as a question may wait; return the answer that another process stores meanwhile, or the default."""
    until = run.clock.monotonic() + (question.timeout_s or 0.0)
    while (left := until - run.clock.monotonic()) > 0:
        await run.clock.sleep(min(left, _LOOK_EACH_S))
        answer = run.offered_answer(question.key)
        if answer is not None and (answer.reason is not None or misfit(answer.text, question) is None):
            return answer
    return Answer("answered", question.default or "", by="default")


def answer_at_end(question: Question) -> Answer | None:
    """Return the answer of a question whose time is over without one of a person; None where it waits on."""
    if question.timeout_s is None:
        return None
    if question.on_expiry in ("reject", "fail"):
        return Answer("answered", by=EXPIRY, reason=f"no answer within {duration(question.timeout_s)}")
    return None if question.default is None else Answer("answered", question.default, by="default")


async def require_unexpired(effect: Effect, question: Question, answer: Answer) -> None:
    """Let the step fail, so that a resumed run asks again, where no person has answered and the gate says so.

    Raises:
        RunFailed: It does.
    """
    if answer.by == EXPIRY and question.on_expiry == "fail":
        await effect.fail(str(answer.reason))
        raise RunFailed(f"{question.key}: {answer.reason}", fix="strands resume RUN asks again")


def recorded_answer(question: Question, answer: Answer) -> Answer:
    """Return a recorded answer; a rejected gate fails its step."""
    if question.kind == "gate" and answer.reason is not None:
        raise RunFailed(f"{question.key} was rejected by {answer.by}" + (f": {answer.reason}" if answer.reason else ""))
    return answer


def default_if_late(question: Question, waiting_since: float | None, now: float) -> Answer | None:
    """Return the answer of a question whose time to wait is over."""
    if waiting_since is None or now - waiting_since < (question.timeout_s or 0.0):
        return None
    return answer_at_end(question)


def with_time_left(question: Question, waiting_since: float | None, now: float) -> Question:
    """Return a question with the time left until it ends by itself."""
    if waiting_since is None or question.timeout_s is None or answer_at_end(question) is None:
        return question
    left = round(question.timeout_s - max(0.0, now - waiting_since), 3)
    return dataclasses.replace(question, timeout_s=max(left, 0.0))


def as_it_waits(question: Question, detail: Mapping[str, Any]) -> Question:
    """Return a question that is asked again, with what people have added while it waited."""
    added = {name: detail[name] for name in ("problem", "tried", "answers", "delegated") if name in detail}
    if question.problem is not None or not added:
        return question
    lists = {name: tuple(value) for name, value in added.items() if isinstance(value, list)}
    return dataclasses.replace(question, **{**added, **lists})


def detail_of(question: Question) -> dict[str, Any]:
    """Return the fields of a question for the journal, for a later answer."""
    names = ("kind", "prompt", "context", "pattern", "default", "timeout_s")
    call = {"call": dataclasses.asdict(question.call)} if question.call is not None else {}
    more = {name: value for name in _OPTIONAL if (value := getattr(question, name)) not in (None, "", (), 1)}
    words = {"words": list(question.words), "only_words": question.only_words} if question.words else {}
    return {name: getattr(question, name) for name in names} | words | call | more
