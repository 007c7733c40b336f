"""What a person decides about a stored run: answers to its questions, and what to do with interrupted calls."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from strands_cli.engine.budget import REUSED, worked_before
from strands_cli.engine.effects import UNDECIDED
from strands_cli.engine.journal_rows import in_order_of_request
from strands_cli.engine.ports import Clock, Journal, Row
from strands_cli.engine.scope import mismatch
from strands_cli.errors import UsageError, suggest

# What `approve` answers at a gate without --answer: the first that matches.
_APPROVALS = ("approved", "approve", "yes", "y", "ok")


def open_questions(journal: Journal) -> list[Row]:
    """Return the questions that wait for an answer, in the order in which they were asked."""
    return [row for row in journal.rows("human") if row.status == "waiting"]


def open_decisions(journal: Journal) -> list[Row]:
    """Return the interrupted calls that only a person can decide on."""
    return [row for row in journal.rows("tool") if row.status == "started" and row.detail.get(UNDECIDED)]


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
            raise UsageError("no question of the run waits for an answer", fix="see `strands runs show`")
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


def natural_answer(question: Row) -> str | None:
    """Return the answer with which a person approves a question, or None where only a text can answer it."""
    if question.detail.get("kind") == "approval":
        return "yes"
    if question.detail.get("kind") == "interrupt":  # only the tool knows what a yes means there
        return None
    pattern = question.detail.get("pattern")
    return next((word for word in _APPROVALS if pattern is None or mismatch(word, pattern) is None), None)


def approving_text(question: Row, answer: str | None) -> str:
    """Return the text that approves a question.

    Raises:
        UsageError: It does not match what the question accepts.
    """
    if question.detail.get("kind") == "approval" and answer not in (None, "yes", "y"):
        raise UsageError(f"{question.key} asks for a yes or a no", fix="use `strands reject` for a no")
    text = natural_answer(question) if answer is None or question.detail.get("kind") == "approval" else answer
    pattern, default = question.detail.get("pattern"), question.detail.get("default")
    if text is None:
        needed = "a text, which the tool gets as it is" if pattern is None else f"an answer that matches {pattern}"
        raise UsageError(f"{question.key} needs {needed}", fix="pass --answer TEXT")
    if pattern is not None and text != default and mismatch(text, pattern) is not None:
        raise UsageError(f"the answer {text!r} to {question.key} does not match {pattern}", fix="pass one that does")
    return text


async def give_answer(journal: Journal, clock: Clock, question: Row, text: str, reason: str | None = None) -> None:
    """Record an answer to a waiting question; with a `reason` it is a rejection."""
    _store_worked(journal)
    output = {"text": text, "by": "person"} | ({"reason": reason} if reason is not None else {})
    await journal.write(dataclasses.replace(question, status="done", output=output, ended_at=clock.now()))


def cut_off_call(journal: Journal, key: str) -> Row:
    """Return a call that began and did not end.

    Raises:
        UsageError: The key does not name such a call.
    """
    row = journal.row(key)
    if row is not None and row.kind == "tool" and row.status == "started":
        return row
    cut_off = [row.key for row in journal.rows("tool") if row.status == "started"]
    if row is not None:
        raise UsageError(f"{key} is {row.status}; there is nothing to decide", fix=_among(key, cut_off))
    raise UsageError(f"the run has no {key}", fix=_among(key, cut_off))


def _among(key: str, cut_off: list[str]) -> str | None:
    known = f"these wait for a decision: {', '.join(cut_off)}" if cut_off else "no call of the run waits for a decision"
    return suggest(key, cut_off, known)


async def redo_call(journal: Journal, call: Row) -> None:
    """Record that a call is made again when the run is resumed."""
    _store_worked(journal)
    detail = {"error": "cut off; a person decided to do it again"}
    await journal.write(dataclasses.replace(call, status="failed", detail=detail))


async def skip_call(journal: Journal, clock: Clock, call: Row, result: Any) -> None:
    """Record the result of a call: a whole tool result, a text, or JSON."""
    _store_worked(journal)
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
    """Record that the run has failed with these interrupted calls; return the reason."""
    reason = f"a person gave up on {', '.join(call.key for call in calls)}"
    _store_worked(journal)
    journal.put(status="failed", reason=reason, ended_at=clock.now())
    return reason


def _store_worked(journal: Journal) -> None:
    """Store how long a killed process worked, before a new row makes the time until now look like work."""
    journal.put(worked_s=worked_before(journal), session_started_at=None)


def rows_before(journal: Journal, key: str) -> list[Row]:
    """Return the rows that a new run from `key` on takes over: those finished earlier, without the steps around it.

    The rows are marked as reused, since the other run has paid for them.

    Raises:
        UsageError: The run does not have the key.
    """
    rows = in_order_of_request(journal.rows())
    places = [place for place, row in enumerate(rows) if row.key == key]
    if not places:
        keys = [row.key for row in rows]
        steps = ", ".join(one for one in keys if "/" not in one)
        raise UsageError(f"the run has no {key}", fix=suggest(key, keys, f"its steps are: {steps}"))
    before = [row for row in rows[: places[0]] if row.status == "done" and not key.startswith(f"{row.key}/")]
    return [dataclasses.replace(row, detail={**row.detail, REUSED: True}) for row in before]
