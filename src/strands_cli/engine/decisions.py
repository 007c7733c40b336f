"""What a person decides about a stored run: answers to its questions, and what becomes of a call that was cut off."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from strands_cli.engine.budget import REUSED, worked_before
from strands_cli.engine.effects import UNDECIDED
from strands_cli.engine.journal_rows import in_order_of_request
from strands_cli.engine.ports import Clock, Journal, Row
from strands_cli.engine.scope import mismatch
from strands_cli.errors import UsageError, did_you_mean, suggest

# What `approve` says at a gate where no answer is given: the first that fits.
_APPROVALS = ("approved", "approve", "yes", "y", "ok")


def open_questions(journal: Journal) -> list[Row]:
    """Return the questions that wait for an answer, in the order in which they were asked."""
    return [row for row in journal.rows("human") if row.status == "waiting"]


def open_decisions(journal: Journal) -> list[Row]:
    """Return the calls of which only a person can say what happened to them."""
    return [row for row in journal.rows("tool") if row.status == "started" and row.detail.get(UNDECIDED)]


def chosen_question(journal: Journal, key: str | None) -> Row:
    """Return the question that is meant; without a key the only one that waits.

    Raises:
        UsageError: there is none, there are several, or it has been answered.
    """
    waiting = open_questions(journal)
    listed = "\n".join(f"{row.key}  {row.detail.get('prompt', '')}" for row in waiting)
    if key is None:
        if len(waiting) == 1:
            return waiting[0]
        if not waiting:
            raise UsageError("no question of the run waits for an answer", fix="see `strands runs show`")
        raise UsageError(f"{len(waiting)} questions of the run wait", fix=f"name one of them:\n{listed}")
    for row in waiting:
        # A question about a call, or of one, is meant by the call's key too.
        if key in (row.key, row.key.rpartition("/")[0]):
            return row
    known = journal.row(key) or journal.row(f"{key}/approval")
    if known is not None and known.kind == "human" and known.status == "done":
        answer = known.output.get("text") or "rejected"
        raise UsageError(
            f"{key} has been answered by {known.output.get('by')}: {answer}",
            fix=f"an answer stands; to go on: strands resume {journal.get('id')}",
        )
    fix = suggest(key, [row.key for row in waiting], f"these wait:\n{listed}" if waiting else "no question waits")
    raise UsageError(f"{key} is no question that waits", fix=fix)


def natural_answer(question: Row) -> str | None:
    """Return what approving a question says where no words are given, or None where it needs some."""
    if question.detail.get("kind") == "approval":
        return "yes"
    if question.detail.get("kind") == "interrupt":  # what a yes means there only the tool knows
        return None
    pattern = question.detail.get("pattern")
    return next((word for word in _APPROVALS if pattern is None or mismatch(word, pattern) is None), None)


def approving_text(question: Row, answer: str | None) -> str:
    """Return the text that answers a question with a yes.

    Raises:
        UsageError: it does not match what the question accepts.
    """
    if question.detail.get("kind") == "approval" and answer not in (None, "yes", "y"):
        raise UsageError(f"{question.key} asks for a yes or a no", fix="use `strands reject` for a no")
    text = natural_answer(question) if answer is None or question.detail.get("kind") == "approval" else answer
    pattern, default = question.detail.get("pattern"), question.detail.get("default")
    if text is None:
        needed = "words, which the tool gets as they are" if pattern is None else f"an answer that matches {pattern}"
        raise UsageError(f"{question.key} needs {needed}", fix="pass --answer TEXT")
    if pattern is not None and text != default and mismatch(text, pattern) is not None:
        raise UsageError(f"the answer {text!r} to {question.key} does not match {pattern}", fix="pass one that does")
    return text


async def give_answer(journal: Journal, clock: Clock, question: Row, text: str, reason: str | None = None) -> None:
    """Record an answer as if it had been given while the run asked; with a `reason` it is a refusal."""
    _settle(journal)
    output = {"text": text, "by": "person"} | ({"reason": reason} if reason is not None else {})
    await journal.write(dataclasses.replace(question, status="done", output=output, ended_at=clock.now()))


def cut_off_call(journal: Journal, key: str) -> Row:
    """Return a call that began and did not end.

    Raises:
        UsageError: it is none of those.
    """
    row = journal.row(key)
    if row is not None and row.kind == "tool" and row.status == "started":
        return row
    cut_off = [row.key for row in journal.rows("tool") if row.status == "started"]
    if row is not None:
        raise UsageError(f"{key} is {row.status}; there is nothing to decide", fix=_among(key, cut_off))
    raise UsageError(f"the run has no {key}", fix=_among(key, cut_off))


def _among(key: str, cut_off: list[str]) -> str:
    guess = did_you_mean(key, cut_off)
    if guess:
        return f"did you mean '{guess}'?"
    return f"to be decided: {', '.join(cut_off)}" if cut_off else "no call of the run is to be decided"


async def redo_call(journal: Journal, call: Row) -> None:
    """Let a call be made again when the run goes on."""
    _settle(journal)
    detail = {"error": "cut off; a person decided to do it again"}
    await journal.write(dataclasses.replace(call, status="failed", detail=detail))


async def skip_call(journal: Journal, clock: Clock, call: Row, result: Any) -> None:
    """Take a given value as the result of a call: a whole tool result, a text, or JSON."""
    _settle(journal)
    whole = isinstance(result, dict) and result.get("status") in ("success", "error") and _is_content(result)
    block = {"text": result} if isinstance(result, str) else {"json": result}
    output = (
        {name: result[name] for name in ("status", "content")} if whole else {"status": "success", "content": [block]}
    )
    detail = {"decision": "skip", "rule": "given by a person"}
    await journal.write(dataclasses.replace(call, status="done", output=output, detail=detail, ended_at=clock.now()))


def _is_content(result: dict[str, Any]) -> bool:
    content = result.get("content")
    return isinstance(content, list) and all(isinstance(block, dict) for block in content)


def give_up(journal: Journal, clock: Clock, calls: Iterable[Row]) -> str:
    """Record that the run has failed with calls whose outcome nobody will settle; return the reason."""
    reason = f"a person gave up on {', '.join(call.key for call in calls)}"
    _settle(journal)
    journal.put(status="failed", reason=reason, ended_at=clock.now())
    return reason


def _settle(journal: Journal) -> None:
    """Count what a killed process has worked, before a new row makes the time until now look like work."""
    journal.put(worked_s=worked_before(journal), session_started_at=None)


def rows_before(journal: Journal, key: str) -> list[Row]:
    """Return what a new run from `key` on takes over: what was done before it began, not the steps it is part of.

    The rows are marked as reused: the other run has paid for them.

    Raises:
        UsageError: the run has no such key.
    """
    rows = in_order_of_request(journal.rows())
    places = [place for place, row in enumerate(rows) if row.key == key]
    if not places:
        keys = [row.key for row in rows]
        guess = did_you_mean(key, keys)
        steps = ", ".join(one for one in keys if "/" not in one)
        raise UsageError(
            f"the run has no {key}", fix=f"did you mean '{guess}'?" if guess else f"its steps are: {steps}"
        )
    before = [row for row in rows[: places[0]] if row.status == "done" and not key.startswith(f"{row.key}/")]
    return [dataclasses.replace(row, detail={**row.detail, REUSED: True}) for row in before]
