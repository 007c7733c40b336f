"""An answer for a run that another process works on, and that waits there for the default of a question."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json
from strands_cli.cli.question_layout import question_lines
from strands_cli.cli.terminal_text import one_line
from strands_cli.errors import RunRecordError

if TYPE_CHECKING:
    from strands_cli.cli.commands.command_options import RunFlags
    from strands_cli.engine.journal.journal_rows import Answer, Row
    from strands_cli.engine.store_port import StoredJournal
    from strands_cli.store_place import StorePlace


# The changes that a command makes to a stored run before it continues.


# Finds the question of a run that a command answers, and the answer.
Decide = Callable[["StoredJournal"], Coroutine[Any, Any, tuple["Row", "Answer"]]]


@dataclass(frozen=True, slots=True)
class Change:
    """The changes of a stored run before it continues: larger limits, a file with its corrected workflow, an answer.

    Attributes:
        answers: The key of the answered question; None for none, or the only one.
        decide: Finds the answer; None without an answer.
        here: Whether a run that belongs to others, such as workers, continues in this process.
    """

    budgets: Mapping[str, str] | None = None
    spec: str | None = None
    answers: str | None = None
    decide: Decide | None = None
    here: bool = False


# How long the process that waits may take to use an answer; it looks several times a second.
TAKES_S = 5.0


def answered_elsewhere(run: str, place: StorePlace, change: Change, document: dict[str, Any], flags: RunFlags) -> bool:
    """Give an answer to the process that waits for it; return whether there is one.

    Raises:
        UsageError: The question does not wait, or that process has just taken the default.
        RunRecordError: The store cannot pass the answer on, or the process does not take it.
    """
    from strands_cli import app
    from strands_cli.engine.stored_runs.opened import stored_redactor
    from strands_cli.engine.waiting.questions import chosen_question, offer_answer, open_questions, stays_until
    from strands_cli.run_views.open_questions import with_run

    with contextlib.closing(app.open_run(run, place, hold=False)) as journal:
        awaited = [row.key for row in open_questions(journal) if stays_until(row) is not None]
        if not awaited or journal.get("status") != "running" or not journal.is_held():
            return False
        # A person is asked for the answer only once: here, or where the run is held.
        if change.decide is None or chosen_question(journal, change.answers).key not in awaited:
            return False
        journal.redactor = stored_redactor(journal)
        question, answer = asyncio.run(change.decide(journal))
        if not offer_answer(journal, question, answer):
            raise _not_passed_on(journal, question)
        if _taker(journal, question.key) != answer.by:
            chosen_question(journal, question.key)  # raises: the default was taken
            fix = with_run("it is used when the run goes on: strands resume RUN", journal.run_id, journal.place)
            raise RunRecordError(f"{question.key} is answered, and the process of the run does not go on", fix=fix)
        if not flags.quiet:
            say_answer(question, answer)
            say("  the process that works on the run has it, and goes on")
        document |= {"run": journal.run_id, "status": "running"}
    if flags.as_json:
        print_json(document)
    return True


def say_answer(question: Row, answer: Answer) -> None:
    """Say which question has which answer; who typed it has read the question."""
    from strands_cli.engine.waiting.edited_arguments import change_lines, changes_between
    from strands_cli.engine.waiting.questions import unknown_answer

    if answer.reason is not None:
        say(f"{question.key}: rejected")
        return
    unknown = unknown_answer(question, answer.text)
    changes = changes_between(question.detail["call"]["arguments"], answer.arguments) if answer.arguments else ()
    changed = [f"changed: {one_line(line)}" for line in change_lines(changes)]
    lines = [*([] if answer.is_typed else question_lines(question.detail)), *changed, *([unknown] if unknown else [])]
    say("\n".join([f"{question.key}: {answer.text}", *(f"  {line}" for line in lines)]))


def _taker(journal: StoredJournal, key: str) -> str | None:
    """Return who has answered a question; None where it waits still after a short time."""
    until = time.monotonic() + TAKES_S
    while time.monotonic() < until:
        row = journal.row(key)
        if row is not None and row.status == "done":
            return str(row.output.get("by"))
        time.sleep(0.05)
    return None


def _not_passed_on(journal: StoredJournal, question: Row) -> RunRecordError:
    from strands_cli.engine.waiting.questions import stays_until
    from strands_cli.run_views.open_questions import command

    when = time.strftime("%H:%M:%S", time.localtime(stays_until(question)))
    default = question.detail.get("default")
    cancel = command("runs", "cancel", journal.run_id, store=journal.place)
    again = command("runs", "rerun", journal.run_id, "--from", question.key, "--detach", store=journal.place)
    message = f"another process waits for {question.key} until {when}, and then goes on with the default: {default}"
    return RunRecordError(message, fix=f"to answer otherwise: {cancel}; then {again}")
