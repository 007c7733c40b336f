"""Questions of a stored run that wait for an answer, and the answers."""

from __future__ import annotations

import dataclasses

from strands_cli.engine.decisions.cut_off_calls import store_worked
from strands_cli.engine.effects import REUSED
from strands_cli.engine.journal import Answer, Clock, Journal, Question, Row, misfit, stored_question
from strands_cli.errors import UsageError, WaitingForPerson, suggest
from strands_cli.phrases import joined
from strands_cli.workflow.steps import APPROVALS, is_approval, meant_word

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
    listed = "\n".join(f"{row.key}  {row.detail.get('prompt', '')}" for row in waiting)
    if key is None:
        if len(waiting) == 1:
            return waiting[0]
        if not waiting:
            raise UsageError("no question of the run waits for an answer", fix=_instead(journal))
        raise UsageError(f"{len(waiting)} questions of the run wait", fix=f"name one of them:\n{listed}")
    for row in waiting:
        # The key of a call also names the question about it.
        if key in (row.key, row.key.rpartition("/")[0]):
            return row
    known = journal.row(key) or journal.row(f"{key}/approval")
    if known is not None and known.kind == "human" and known.status == "done":
        answer = known.output.get("text") or "rejected"
        raise UsageError(
            f"{key} has been answered by {known.output.get('by')}: {answer}",
            fix=f"an answer cannot be changed; to continue: strands resume {journal.get('id')}",
        )
    fix = suggest(key, [row.key for row in waiting], f"these wait:\n{listed}" if waiting else "no question waits")
    raise UsageError(f"{key} is not a question that waits", fix=fix)


def refused_gate(journal: Journal) -> Row | None:
    """Return the gate whose refusal has ended the run; it is final."""
    if journal.get("status") != "failed":
        return None
    gates = [row for row in journal.rows("human") if row.detail.get("kind") == "gate" and row.status == "done"]
    return next((row for row in reversed(gates) if "reason" in row.output), None)


def _instead(journal: Journal) -> str:
    run, refused = journal.get("id"), refused_gate(journal)
    if journal.get("status") == "completed":
        return f"it is complete; its result again: strands resume {run}; what it did: strands runs show {run}"
    first = f"to continue: strands resume {run}"
    if refused is not None:
        first = f"the refusal is final; to ask again in a new run: strands rerun {run} --from {refused.key}"
    return f"{first}; what it did: strands runs show {run}"


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
        raise UsageError(f"{question.key} needs {_needed(asked)}", fix="pass --answer TEXT")
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


def needs_terminal(question: Row) -> bool:
    """Return whether only a person at a terminal may approve a question: that of a managed policy file."""
    return bool((question.detail.get("call") or {}).get("needs_terminal"))


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
