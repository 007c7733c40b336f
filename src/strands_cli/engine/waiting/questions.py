"""Questions of a stored run that wait for an answer, and the answers."""

from __future__ import annotations

import dataclasses
import re
import shlex

from strands_cli.engine.effects.budget import REUSED
from strands_cli.engine.journal.answers import misfit, stored_question
from strands_cli.engine.journal.journal_rows import Answer, Clock, Journal, Question, Row
from strands_cli.engine.waiting.cut_off_calls import store_worked
from strands_cli.errors import UsageError, WaitingForPerson, suggest
from strands_cli.texts.phrases import joined, shortened
from strands_cli.workflow.steps.approvals import APPROVALS, is_approval, meant_word

# What a condition compares with to refuse; any other answer then approves.
REFUSALS = ("rejected", "reject", "no", "n", "denied", "deny", "refused", "refuse", "cancel", "stop", "abort")

# The reason of a run that waits, once every question is answered.
ANSWERED = "every question is answered; the run has not been continued"


def open_questions(journal: Journal) -> list[Row]:
    """Return the questions that wait for an answer, in the order in which they were asked."""
    return [row for row in journal.rows("human") if row.status == "waiting"]


def chosen_question(journal: Journal, key: str | None) -> Row:
    """Return the question with a key; without a key, the only one that waits.

    Raises:
        UsageError: There is none, there are several, or it has been answered.
    """
    waiting = open_questions(journal)
    listed = "\n        ".join(["answer each by itself:", *(line for row in waiting for line in _lines_of(row))])
    if key is None:
        if len(waiting) == 1:
            return waiting[0]
        if not waiting:
            raise UsageError("no question of the run waits for an answer", fix=_instead(journal))
        raise UsageError(f"{len(waiting)} questions of the run wait", fix=listed)
    for row in waiting:
        # The key of a call also names the question about it.
        if key in (row.key, row.key.rpartition("/")[0]):
            return row
    known = journal.row(key) or journal.row(f"{key}/approval")
    if known is not None and known.kind == "human" and known.status == "done":
        answer = known.output.get("text") or "rejected"
        message = f"{key} has been answered by {known.output.get('by')}: {answer}"
        raise UsageError(message, fix=f"an answer cannot be changed; {_instead(journal)}")
    fix = suggest(key, [row.key for row in waiting], listed if waiting else f"no question waits; {_instead(journal)}")
    raise UsageError(f"{key} is not a question that waits", fix=fix)


def final_refusal(journal: Journal) -> str | None:
    """Return the key of the step that a person has refused and that has ended the run; only a new run asks again.

    It is a gate, or a step that is one call of a tool. What an agent was refused, its model has answered.
    """
    if journal.get("status") != "failed":
        return None
    reason = str(journal.get("reason") or "")
    for row in reversed(list(journal.rows("human"))):
        if row.status != "done" or not ("reason" in row.output or _is_denied_call(row)):
            continue
        key = row.key if row.is_step else row.key.rpartition("/")[0].rpartition("/")[0]
        is_named = re.search(rf"(?<![\w.#/]){re.escape(key)}(?![\w.#/])", reason) is not None
        if is_named and (row.is_step or next(journal.rows("model", key), None) is None):
            return key
    return None


def _lines_of(question: Row) -> list[str]:
    """Return a question and the commands that answer it."""
    prompt = shortened(" ".join(str(question.detail.get("prompt", "")).split()), 200)
    ways = (shlex.join(["strands", *way]) for way in ways_to_answer("RUN", question))
    return [f"{question.key}  {prompt}", *(f"  {way}" for way in ways)]


def _is_denied_call(row: Row) -> bool:
    return row.detail.get("kind") == "approval" and row.output.get("text") == "no"


def _instead(journal: Journal) -> str:
    """Return how a run goes on in which nothing waits for an answer."""
    refused, status = final_refusal(journal), journal.get("status")
    first = "to continue: strands resume RUN"
    if status == "completed":
        first = "it is complete; its result again: strands resume RUN"
    elif status == "running":
        first = "it is at work; to follow it: strands runs show RUN --follow"
    elif refused is not None:
        first = f"the refusal is final; to ask again in a new run: strands rerun RUN --from {shlex.quote(refused)}"
    return f"{first}; what it did: strands runs show RUN"


def ways_to_answer(run_id: str, row: Row) -> list[list[str]]:
    """Return the arguments of the commands that answer what a row waits for: one for each word that a gate knows."""
    if row.kind == "tool":
        choices = (["--redo", row.key], ["--skip", row.key, "--result", "JSON"], ["--fail", row.key])
        return [["resume", run_id, *choice] for choice in choices]
    answers: list[list[str]] = [[]]
    if natural_answer(row) is None:
        words = row.detail.get("words") or [row.detail.get("default") or "ANSWER"]
        answers = [["--answer", str(word)] for word in words]
    return [*(["approve", run_id, row.key, *answer] for answer in answers), ["reject", run_id, row.key]]


def natural_answer(question: Row) -> str | None:
    """Return the answer with which a person approves a question, or None where only a text can answer it."""
    if question.detail.get("kind") == "approval":
        return "yes"
    if question.detail.get("kind") == "interrupt":  # only the tool knows what a yes means there
        return None
    asked = stored_question(question)
    known = [word for word in asked.words if is_approval(word)]
    if not known and not all(word.strip().lower() in REFUSALS for word in asked.words):
        return None  # the workflow would take an approval for another answer than it waits for
    return next((word for word in known or APPROVALS if misfit(word, asked) is None), None)


def approving_text(question: Row, answer: str | None) -> str:
    """Return the text that approves a question.

    Raises:
        UsageError: It is not one that the question accepts, or none is known.
    """
    if question.detail.get("kind") == "approval" and answer not in (None, "yes", "y"):
        raise UsageError(f"{question.key} asks for a yes or a no", fix="use `strands reject` for a no")
    text = natural_answer(question) if answer is None or question.detail.get("kind") == "approval" else answer
    asked = stored_question(question)
    if text is None:
        raise UsageError(
            f"{question.key} needs {_needed(asked)}", fix="\n      ".join(_lines_of(question)[1:-1]).strip()
        )
    if asked.kind != "approval" and (problem := misfit(text, asked)) is not None:
        raise UsageError(f"the answer to {question.key}: {problem}", fix="pass --answer with one that does")
    return text


def unknown_answer(question: Row, text: str) -> str | None:
    """Return what to say of an answer that the workflow accepts but compares with no word, or None."""
    asked = stored_question(question)
    if not asked.words or asked.only_words or meant_word(text, (*asked.words, asked.default or "")) is not None:
        return None
    return f"none of {joined(asked.words)}: the workflow gets {text!r} as it is"


def _needed(asked: Question) -> str:
    if asked.words:
        return f"one of the answers that the workflow knows: {joined(asked.words)}"
    return (
        "a text, which the tool gets as it is" if asked.pattern is None else f"an answer that matches {asked.pattern}"
    )


def granted_tools(journal: Journal) -> set[str]:
    """Return what answers in this run allow for all of its calls; rows of the run that it reruns do not count."""
    answers = (row for row in journal.rows("human") if row.status == "done" and not row.detail.get(REUSED))
    return {row.output["grants"] for row in answers if "grants" in row.output}


async def give_answer(
    journal: Journal, clock: Clock, question: Row, text: str, reason: str | None = None, *, typed: Answer | None = None
) -> None:
    """Record an answer to a waiting question; with a `reason` it is a rejection.

    `typed` is the yes of a person at a terminal to this answer, which may be for further calls too.
    """
    store_worked(journal)
    answer = dataclasses.replace(typed or Answer("answered"), text=text, reason=reason)
    output = answer.stored()
    await journal.write(dataclasses.replace(question, status="done", output=output, ended_at=clock.now()))
    if journal.get("status") == "waiting":  # what lists runs must not name a question that is answered
        asked = ((row.key, str(row.detail.get("prompt", ""))) for row in open_questions(journal))
        left = [WaitingForPerson.for_answer(*one).message for one in asked]
        journal.put(reason="; ".join(left) or ANSWERED)
