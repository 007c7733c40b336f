"""A program that runs a workflow, as the person who is asked: its function gives the answers."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from strands_cli.engine.effects.asked_questions import answer_at_end
from strands_cli.engine.journal.journal_rows import Answer, Question, unanswered
from strands_cli.engine.waiting.questions import NoPerson
from strands_cli.errors import UsageError

# The answers of a program: the text; yes or no; JSON for a gate with a schema; None for "not now"; or an `Answer`.
Reply = str | bool | float | Mapping[str, Any] | list[Any] | Answer | None
AnswerQuestion = Callable[[Question], Reply | Awaitable[Reply]]
# How many answers that do not match the question's pattern are accepted before an error.
MAX_MISFITS = 3


class ProgramHuman:
    """The program that runs a workflow, as the engine's port `Human`."""

    def __init__(self, answer: AnswerQuestion | None, *, denies: bool = False) -> None:
        self._answer = answer
        self._denies = denies
        self._misfits: dict[str, int] = {}

    async def ask(self, question: Question) -> Answer:
        """Call the program's function with the question.

        Raises:
            UsageError: The function raises, returns an unknown type, or repeatedly returns answers that do not fit.
        """
        if self._answer is None or (self._denies and question.kind == "approval"):
            return await NoPerson(denies=self._denies).ask(question)
        if question.problem is not None:
            self._require_progress(question)
        try:
            async with asyncio.timeout(question.timeout_s):
                reply = self._answer(question)
                reply = await reply if inspect.isawaitable(reply) else reply
        except TimeoutError as error:
            if question.timeout_s is None:
                raise _failed(question, error) from error
            return answer_at_end(question) or unanswered(question)
        except Exception as error:
            raise _failed(question, error) from error
        return _answer_of(question, reply)

    def _require_progress(self, question: Question) -> None:
        misfits = self._misfits[question.key] = self._misfits.get(question.key, 0) + 1
        if misfits >= MAX_MISFITS:
            raise UsageError(
                f"the answer to {question.key} was wrong {misfits} times: {question.problem}",
                fix="check question.pattern and question.words, or return None if there is no answer",
            )


def _answer_of(question: Question, reply: Any) -> Answer:
    """Convert a program's reply to an answer."""
    if reply is None:
        return unanswered(question)
    if isinstance(reply, Answer):
        return reply
    if isinstance(reply, bool):
        return Answer("answered", "yes" if reply else "no", by="program")
    if question.kind != "approval" and question.schema is not None and not isinstance(reply, str):
        reply = json.dumps(reply, default=str)
    if not isinstance(reply, str):
        raise UsageError(
            f"the answer to {question.key} is a {type(reply).__name__}", fix="return text, True, False, None or Answer"
        )
    return Answer("answered", reply, by="program")


def _failed(question: Question, error: Exception) -> UsageError:
    message = f"the function that answers failed at {question.key}: {type(error).__name__}: {error}"
    return UsageError(message, fix="correct the function; Workflow.resume continues the run")
