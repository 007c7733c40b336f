"""The commands that continue a stored run, ready to be copied."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.cli.after_report import after_report
from strands_cli.cli.output.messages import say
from strands_cli.cli.terminal_text import one_line
from strands_cli.config import user_config_file
from strands_cli.errors import (
    BudgetExceeded,
    CallFailed,
    FileAtFault,
    RunRecordError,
    StrandsCliError,
    WaitingForPerson,
)
from strands_cli.run_views.open_questions import answer_commands, command, questions_of
from strands_cli.texts.phrases import first_of, twice, with_fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from strands_cli.engine.store_port import StoredJournal
    from strands_cli.hooks.manager import Hooks
    from strands_cli.store_place import StorePlace


# Notify people who do not watch a run that it waits or has ended, as their config file asks for.


_WAITS = ("waiting", "needs-decision")


class EndNotice:
    """Calls the hook plugin of `notify:` when the work of this process on a run is done and printed.

    Without a config file nothing is imported or read, and nothing is called.

    Args:
        watched: Whether a person watches the run at a terminal.

    Raises:
        InvalidInput: The config file is not valid.
        NotEquipped: It has `notify`, and the plugin is not installed.
        Denied: Policy or a lock does not admit the plugin.
    """

    def __init__(self, *, watched: bool) -> None:
        self._began, self._watched = time.time(), watched
        self._hooks: Hooks | None = None
        config = user_config_file(os.environ)
        if config is not None and os.path.lexists(config):
            from strands_cli.parts.notify_hooks import notify_hooks

            self._hooks = notify_hooks()

    def send_later(self, place: StorePlace, run_id: str) -> None:
        """Send the messages about a run when the result and the errors of this command are printed."""

        def send() -> None:
            for line in self.send(place, run_id):
                say(line)

        if self._hooks is not None:
            after_report(send)

    def send(self, place: StorePlace, run_id: str) -> list[str]:
        """Send the messages about a run, and return a line for each that was not sent."""
        if self._hooks is None:
            return []
        from strands_cli.engine.stored_runs.opened_store import open_store

        lines: list[str] = []
        try:
            with (
                contextlib.closing(open_store(place)) as store,
                contextlib.closing(store.open(run_id, hold=False)) as journal,
            ):
                self._call(replace(self._hooks, tell=lines.append), journal)
        except StrandsCliError as error:
            lines.append(f"warning: not notified: {with_fix(error.message, error.fix)}")
        return lines

    def _call(self, hooks: Hooks, journal: StoredJournal) -> None:
        from strands_cli.engine.stored_runs.opened import stored_redactor
        from strands_cli.engine.waiting.questions import waiting_questions
        from strands_cli.engine.waiting.run_hooks import ended_run
        from strands_cli.hooks.hook_values import HookContext

        redact = stored_redactor(journal).text
        run = ended_run(journal, redact)
        is_repeated = run.status == "completed" and (run.ended_at or 0.0) < self._began
        if is_repeated or run.status not in (*_WAITS, "completed", "failed", "interrupted"):
            return
        context = HookContext(run=run.id)
        if run.status in _WAITS:
            hooks.question_waiting(waiting_questions(journal, redact), context)
        hooks.run_ended(replace(run, watched=self._watched), context)


# The most finished steps listed when a run stops.
MANY = 10


def explain_ending(error: StrandsCliError, place: StorePlace, run_id: str) -> list[dict[str, Any]]:
    """Put the commands that continue a run into its error's fix, and return the open questions as JSON."""
    try:
        with _opened(place, run_id) as journal:
            if isinstance(error, WaitingForPerson):
                questions = questions_of(journal)
                ways = [*answer_commands(journal), *_after_time(questions, run_id, place)]
                error.fix = "\n        ".join(ways) or error.fix
                return questions
            if isinstance(error, BudgetExceeded):
                error.fix = "\n       ".join([_larger(error, run_id, place), *_done(journal)])
    except RunRecordError:  # the error reports the broken journal already
        pass
    return []


def _after_time(questions: Sequence[Mapping[str, Any]], run_id: str, place: StorePlace) -> Iterator[str]:
    """Yield the command that takes the default of a gate, with the time after which it does so."""
    timed = [
        question
        for question in questions
        if question.get("timeout_s") is not None and (question.get("default") is not None or question.get("on_expiry"))
    ]
    for timed_question in sorted(timed, key=lambda timed_question: float(timed_question["timeout_s"]))[:1]:
        ends = {"reject": "rejects", "fail": "fails"}.get(timed_question.get("on_expiry") or "", "answers")
        default = f": {timed_question['default']}" if ends == "answers" else ""
        answer = one_line(f"after {timed_question['timeout_s']:g} s it {ends} {timed_question['key']}{default}")
        yield f"{command('resume', run_id, store=place)}   # {answer}"


@contextlib.contextmanager
def _opened(place: StorePlace, run_id: str) -> Iterator[StoredJournal]:
    from strands_cli.engine.stored_runs.opened_store import open_store

    with contextlib.closing(open_store(place)) as store, contextlib.closing(store.open(run_id, hold=False)) as journal:
        yield journal


def is_stored(run_id: str, place: StorePlace) -> bool:
    """Return whether a run can be continued because its journal has its start."""
    from strands_cli.engine.stored_runs.opened_store import open_store

    try:
        with contextlib.closing(open_store(place)) as store:
            return store.read(run_id).id == run_id
    except StrandsCliError:
        return False


def _larger(error: BudgetExceeded, run_id: str, place: StorePlace) -> str:
    if error.limit is None:
        of_policy = error.free_at is not None
        return f"{error.fix}; then: {command('resume', run_id, store=place)}" if of_policy else error.fix or ""
    resume = command("resume", run_id, "--budget", f"{error.limit}={twice(error.spent)}", store=place)
    return f"to continue with a larger limit: {resume}"


def _done(journal: StoredJournal) -> list[str]:
    """Return which steps of a stopped run are done, and the command that shows their responses."""
    rows = [row for row in journal.rows() if row.is_step and row.status == "done"]
    # An effect inside a step belongs to the step.
    steps = [row.key for row in rows if "/" not in row.key]
    if not steps:
        return ["no step was finished"]
    show = command("runs", "show", journal.run_id, "--full", store=journal.place)
    return [f"done: {first_of(steps, MANY)}", f"their responses: {show}"]


def how_to_continue(error: StrandsCliError, run_id: str, place: StorePlace, *, is_resumed: bool = False) -> list[str]:
    """Return how a failed or interrupted run continues; after a refusal or a change of its files only a new run can."""
    from strands_cli.engine.waiting.questions import final_refusal

    on = f"continue with: {command('resume', run_id, store=place)}"
    try:
        with _opened(place, run_id) as journal:
            if (refused := final_refusal(journal)) is not None:
                again = command("runs", "rerun", run_id, "--from", refused, store=place)
                on = f"the refusal is final; to ask again in a new run: {again}"
            if isinstance(error, (FileAtFault, CallFailed)):
                file = str(journal.get("file"))
                # A resumed run works in its own directory, which need not be the person's.
                whole = str(Path(file).absolute()) if is_resumed and not file.startswith("<") else file
                corrected = _after_correction(whole, error, run_id, place)
                return [corrected] if isinstance(error, FileAtFault) else [on, corrected]
    except RunRecordError:  # the error reports the broken journal already
        pass
    return [on]


def _after_correction(file: str, error: FileAtFault | CallFailed, run_id: str, place: StorePlace) -> str:
    """Return how a run continues when its file is corrected; that of an agent is a part of the workflow around it."""
    if file.startswith("<atomic "):
        again = command("runs", "rerun", run_id, "--from", getattr(error, "step", None) or "KEY", store=place)
        return f"after the correction, a new run reuses what was done: {again}"
    again = command("resume", run_id, "--spec", "FILE" if file.startswith("<") else file, store=place)
    return f"after the correction, continue with: {again}"


def waiting_lines(question: Mapping[str, Any]) -> list[str]:
    """Return the lines of a waiting question, and the answer of `approve` to it without --answer."""
    from strands_cli.cli.question_layout import question_lines

    # Questions that a person decides with `resume` have no answer.
    answer = question.get("approve_answers")
    choices = [f"  approve answers: {answer}"] if answer and question["kind"] == "gate" else []
    return [f"waits: {question['key']}", *(f"  {line}" for line in [*question_lines(question), *choices])]
