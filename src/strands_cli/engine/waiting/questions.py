"""Questions of a stored run that wait for an answer, and the answers."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from strands_cli.config import user_data_dir
from strands_cli.engine.effects.asked_questions import EXPIRY, STAYS_UNTIL, answer_at_end, default_if_late
from strands_cli.engine.effects.budget import REUSED, worked_before
from strands_cli.engine.effects.effect import LOST, UNDECIDED, WITHOUT
from strands_cli.engine.journal.answers import checked, fitting, lacks_people, misfit, stored_question
from strands_cli.engine.journal.journal_rows import Answer, Clock, Journal, Question, Row, in_order_of_request
from strands_cli.engine.step_results import tool_of
from strands_cli.engine.store_port import StoredJournal
from strands_cli.errors import UsageError, WaitingForPerson, suggest
from strands_cli.events import DENY
from strands_cli.hooks.hook_values import WaitingQuestion
from strands_cli.store_place import StorePlace
from strands_cli.texts.canonical_json import canonical_json
from strands_cli.texts.phrases import duration, joined, shortened
from strands_cli.texts.unicode_safety import printable
from strands_cli.workflow.gate_answers import REFUSALS, UnfitAnswer
from strands_cli.workflow.steps import APPROVALS, is_approval, meant_word

# The person where there is none: questions wait, a default is taken after a short time, and calls may be denied.


# How long a gate with a default is waited for at most; a run with a longer one ends, and a later `resume` answers it.
MOST_WAIT_S = 30.0


class NoPerson:
    """Answers for a person who is absent, as the engine's port `Human`.

    Args:
        denies: Whether calls that would ask are denied; gates and the questions of tools wait still.
        stays: Whether the run waits here for the default of a gate whose time is short.
        tell: Takes a line about that.
    """

    def __init__(
        self,
        *,
        denies: bool = False,
        stays: bool = True,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._denies = denies
        self._stays = stays
        self._tell = tell

    async def ask(self, question: Question) -> Answer:
        """Return that the question waits, that the run stays for its default, or that its call is denied."""
        if question.kind == "approval" and self._denies:
            return Answer("nobody", by=DENY)
        if not question.may_wait:
            return Answer("nobody", by="")
        wait_s, at_end = question.timeout_s, answer_at_end(question)
        if not self._stays or at_end is None or at_end.by == EXPIRY or wait_s is None or wait_s > MOST_WAIT_S:
            return Answer("waiting")
        if self._tell is not None:
            self._tell(f"  waits {wait_s:g} s for {question.key}, where no person can answer; then: {at_end.text}")
        return Answer("stays")


# Answers that one process stores for another, which works on the run and waits for the default of a question.


# The fact of a run with the answer to the question whose key is behind it.
_OFFERED = "offered_answer:"


def stays_until(question: Row) -> float | None:
    """Return until when a process waits for the default of a question; None where none does."""
    until: float | None = question.detail.get(STAYS_UNTIL)
    return until


def offer_answer(journal: Any, question: Row, answer: Answer) -> bool:
    """Store an answer for the process that holds the run; return whether the journal's store can do that."""
    offer = getattr(journal, "offer", None)
    if offer is not None:
        offer(**{f"{_OFFERED}{question.key}": {"asked_at": question.started_at, "answer": answer.stored()}})
    return offer is not None


def offered_answer(journal: Journal, key: str) -> Answer | None:
    """Return the answer that another process has stored for a question since it waits."""
    stored, row = journal.get(f"{_OFFERED}{key}"), journal.row(key)
    if stored is None or row is None or row.status != "waiting" or row.started_at != stored["asked_at"]:
        return None
    return Answer("answered", **stored["answer"])


# A person's decisions about unfinished calls, or calls with a lost object: redo, skip, give up.


def open_decisions(journal: Journal) -> list[Row]:
    """Return the calls that only a person can decide on."""
    return [row for row in journal.rows("tool") if row.status == "started" and row.detail.get(UNDECIDED)]


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
    hint = f"these wait for a decision: {', '.join(cut_off)}" if cut_off else "no call of the run waits for a decision"
    return suggest(key, cut_off, hint)


async def redo_call(journal: Journal, call: Row) -> None:
    """Record that a call is made again when the run is resumed."""
    store_worked_time(journal)
    detail = {**_facts(call), "error": "cut off; a person decided to do it again"}
    if LOST in call.detail:
        detail |= {
            WITHOUT: call.detail[LOST],
            "error": "its object is lost; a person decided to make it with a new one",
        }
    await journal.write(dataclasses.replace(call, status="failed", detail=detail))


async def skip_call(journal: Journal, clock: Clock, call: Row, result: Any) -> None:
    """Record the result of a call: a whole tool result, a text, or JSON."""
    store_worked_time(journal)
    whole = isinstance(result, dict) and result.get("status") in ("success", "error") and _is_content(result)
    block = {"text": result} if isinstance(result, str) else {"json": result}
    output = (
        {name: result[name] for name in ("status", "content")} if whole else {"status": "success", "content": [block]}
    )
    detail = {**_facts(call), "decision": "skip", "rule": "given by a person"}
    await journal.write(dataclasses.replace(call, status="done", output=output, detail=detail, ended_at=clock.now()))


def _facts(call: Row) -> dict[str, Any]:
    """Return the details of the call in its row for those who look at the run."""
    return {name: value for name, value in call.detail.items() if name not in (UNDECIDED, LOST)}


def _is_content(result: dict[str, Any]) -> bool:
    content = result.get("content")
    return isinstance(content, list) and all(isinstance(block, dict) for block in content)


def give_up(journal: Journal, clock: Clock, calls: Iterable[Row]) -> str:
    """Record that the run has failed with these interrupted calls; return the reason."""
    reason = f"a person gave up on {', '.join(call.key for call in calls)}"
    store_worked_time(journal)
    journal.put(status="failed", reason=reason, ended_at=clock.now())
    return reason


async def decide_calls(journal: Journal, clock: Clock, decisions: Mapping[str, tuple[Any, ...]]) -> list[str]:
    """Store the decisions about the cut-off calls of some tools; return the tool of each cut-off call of the run.

    Args:
        decisions: `redo`, `skip` with the result, or `fail`, by the name of the tool.
    """
    calls, given_up = open_decisions(journal), []
    for call in calls:
        decision, *details = decisions.get(tool_of(call.key), ("",))
        if decision == "redo":
            await redo_call(journal, call)
        elif decision == "skip":
            await skip_call(journal, clock, call, *details)
        elif decision == "fail":
            given_up.append(call)
    if given_up:
        give_up(journal, clock, given_up)
    return [tool_of(call.key) for call in calls]


def store_worked_time(journal: Journal) -> None:
    """Store how long a killed process worked, before a new row makes the time until now look like work."""
    journal.put(worked_s=worked_before(journal), session_started_at=None)


def rows_before(journal: Journal, key: str, steps: Collection[str] = ()) -> list[Row]:
    """Return the rows that a new run from `key` on takes over: those finished earlier, without the steps around it.

    The rows are marked as reused, since the other run has paid for them. A step that failed before its first effect has
    no row; every finished one is before it.

    Args:
        steps: The keys of the workflow's steps.

    Raises:
        UsageError: The run does not have the key.
    """
    rows = in_order_of_request(journal.rows())
    places = [position for position, row in enumerate(rows) if row.key == key]
    if not places and key.partition("#")[0] in steps:
        places = [len(rows)]
    if not places:
        keys = [row.key for row in rows]
        steps = ", ".join(key for key in keys if "/" not in key)
        raise UsageError(f"the run has no {key}", fix=suggest(key, keys, f"its steps are: {steps}"))
    before = [row for row in rows[: places[0]] if row.status == "done" and not key.startswith(f"{row.key}/")]
    return [dataclasses.replace(row, detail={**row.detail, REUSED: True}) for row in before]


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
    answered_row = journal.row(key) or journal.row(f"{key}/approval")
    if answered_row is not None and answered_row.kind == "human" and answered_row.status == "done":
        answer = answered_row.output.get("text") or "rejected"
        who = answered_row.output.get("who") or answered_row.output.get("by")
        message = f"{key} has been answered by {who}: {answer}"
        raise UsageError(message, fix=f"an answer cannot be changed; {_instead(journal)}")
    fix = suggest(key, [row.key for row in waiting], listed if waiting else f"no question waits; {_instead(journal)}")
    raise UsageError(f"{key} is not a question that waits", fix=fix)


def final_refusal(journal: Journal) -> str | None:
    """Return the key of the step whose refusal by a person ended the run; only a new run asks again.

    It is a gate, or a step of one tool call. The model of an agent has answered a refusal.
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
        first = f"the refusal is final; to ask again in a new run: strands runs rerun RUN --from {shlex.quote(refused)}"
    return f"{first}; what it did: strands runs show RUN"


def ways_to_answer(run_id: str, row: Row) -> list[list[str]]:
    """Return the arguments of the commands that answer a row's question: one for each word that a gate knows."""
    if row.kind == "tool":
        choices = (["--redo", row.key], ["--skip", row.key, "--result", "JSON"], ["--fail", row.key])
        return [["resume", run_id, *choice] for choice in choices]
    answers: list[list[str]] = [[]]
    if natural_answer(row) is None or (row.detail.get("schema") and row.detail.get("kind") != "approval"):
        words = row.detail.get("words") or [row.detail.get("default") or "ANSWER"]
        answers = [["--answer", str(word)] for word in words]
    return [*(["approve", run_id, row.key, *answer] for answer in answers), ["reject", run_id, row.key]]


def natural_answer(question: Row) -> str | None:
    """Return the answer with which a person approves a question, or None where only a text can answer it."""
    if question.detail.get("kind") == "approval":
        return "yes"
    if question.detail.get("kind") == "interrupt":  # only the tool knows the meaning of a yes there
        return None
    stored = stored_question(question)
    approving_words = [word for word in stored.words if is_approval(word)]
    if not approving_words and not all(word.strip().lower() in REFUSALS for word in stored.words):
        return None  # the workflow would take an approval for another answer than it waits for
    return next((word for word in approving_words or APPROVALS if misfit(word, stored) is None), None)


def approving_text(question: Row, answer: str | None) -> str:
    """Return the text that approves a question.

    Raises:
        UsageError: It is not one that the question accepts, or none is known.
    """
    text, stored = natural_answer(question) if answer is None else answer, stored_question(question)
    if text is None:
        raise UsageError(
            f"{question.key} needs {_needed(stored)}", fix="\n      ".join(_lines_of(question)[1:-1]).strip()
        )
    try:
        return fitting(text, stored)
    except UnfitAnswer as error:
        raise UsageError(f"the answer to {question.key}: {error}", fix="pass --answer with one that does") from error


def require_accepted(question: Row, answer: Answer, now: float) -> Answer:
    """Return an answer as it is stored.

    Raises:
        UsageError: It does not fit, another person has to give it, or it comes too late.
    """
    stored = stored_question(question)
    if stored.on_expiry and default_if_late(stored, question.started_at, now) is not None:
        fix = f"to go on without it: strands resume RUN{'' if stored.on_expiry != 'fail' else ', which asks again'}"
        raise UsageError(f"{question.key} expired {duration(stored.timeout_s or 0.0)} after it was asked", fix=fix)
    try:
        return checked(answer, stored)
    except UnfitAnswer as error:
        raise UsageError(f"the answer to {question.key}: {error}", fix="look at it: strands runs show RUN") from error


async def delegate_question(journal: Journal, question: Row, to: str, who: str) -> None:
    """Record that another person should answer a question that waits."""
    delegated = [*question.detail.get("delegated", ()), {"to": to, "by": who}]
    await journal.write(dataclasses.replace(question, detail={**question.detail, "delegated": delegated}))


def unknown_answer(question: Row, text: str) -> str | None:
    """Return a note on an answer that the workflow accepts but compares with no word, or None."""
    stored = stored_question(question)
    if not stored.words or stored.only_words or meant_word(text, (*stored.words, stored.default or "")) is not None:
        return None
    return f"none of {joined(stored.words)}: the workflow gets {text!r} as it is"


def _needed(question: Question) -> str:
    if question.words:
        return f"one of the answers that the workflow knows: {joined(question.words)}"
    if question.pattern is not None:
        return f"an answer that matches {question.pattern}"
    if question.schema is not None:
        return f"an answer that fits {canonical_json(question.schema)}"
    return "a text, which the tool gets as it is"


def granted_tools(journal: Journal) -> set[str]:
    """Return the tools that answers in this run allow; rows of the run that it reruns do not count."""
    answers = (row for row in journal.rows("human") if row.status == "done" and not row.detail.get(REUSED))
    return {row.output["grants"] for row in answers if "grants" in row.output}


async def give_answer(
    journal: Journal, clock: Clock, question: Row, text: str, reason: str | None = None, *, typed: Answer | None = None
) -> None:
    """Record an answer to a waiting question; with a `reason` it is a rejection.

    `typed` is the yes of a person at a terminal to this answer, which may be for further calls too.
    """
    answer = dataclasses.replace(typed or Answer("answered"), text=text, reason=reason)
    answer, stored = require_accepted(question, answer, clock.now()), stored_question(question)
    store_worked_time(journal)
    if lacks_people(answer, stored):
        detail = {**question.detail, "answers": [*stored.answers, answer.stored()]}
        await journal.write(dataclasses.replace(question, detail=detail))
        return
    await journal.write(dataclasses.replace(question, status="done", output=answer.stored(), ended_at=clock.now()))
    if journal.get("status") == "waiting":  # lists of runs must not name an answered question
        questions = ((row.key, str(row.detail.get("prompt", ""))) for row in open_questions(journal))
        left = [WaitingForPerson.for_answer(*question_and_prompt).message for question_and_prompt in questions]
        journal.put(reason="; ".join(left) or ANSWERED)


# The open questions of a stored run, for a person who is elsewhere: with the commands that answer.


_CUT_OFF = "it was running when the process ended: redo, skip or fail?"
_LOST = "the state of its object is lost, which was in a process that has ended: redo it with a new one, skip or fail?"
MOST_CHARACTERS = 1000


def prompt_of(call: Row) -> str:
    """Return the question about a call that only a person can decide on; its row has none."""
    return _LOST if LOST in call.detail else _CUT_OFF


def waiting_questions(journal: StoredJournal, redact: Callable[[str], str]) -> tuple[WaitingQuestion, ...]:
    """Return the open questions of a run; their texts are redacted, escaped and cut, to be shown anywhere."""
    rows = [*open_questions(journal), *open_decisions(journal)]
    return tuple(_question(row, journal, redact) for row in rows)


def _question(row: Row, journal: StoredJournal, redact: Callable[[str], str]) -> WaitingQuestion:
    kind = "decision" if row.kind == "tool" else str(row.detail.get("kind"))
    prompt = prompt_of(row) if row.kind == "tool" else str(row.detail.get("prompt") or "")
    ways = ways_to_answer(journal.run_id, row)
    if row.detail.get("call") and row.kind == "human":
        ways = [*ways, ["approve", journal.run_id, row.key, "--edit"]]
    commands = tuple(redact(portable_command(*words, store=journal.place)) for words in ways)
    answer = None if row.kind == "tool" else natural_answer(row)
    delegate = "" if row.kind == "tool" else sendable(stored_question(row).delegate, redact)
    return WaitingQuestion(
        row.key, kind, sendable(prompt, redact), answer and sendable(answer, redact), commands, delegate
    )


def sendable(text: str, redact: Callable[[str], str]) -> str:
    """Return a text as it may be sent: without secrets, hidden characters escaped, and cut."""
    return shortened(printable(redact(text)), MOST_CHARACTERS)


def portable_command(*words: str, store: StorePlace) -> str:
    """Return a command line that works in any folder, and without the variables of this process."""
    try:
        is_default = StorePlace(user_data_dir({}) / "runs") == store
    except UsageError:
        is_default = False
    return shlex.join(["strands", *words, *([] if is_default else store.words)])
