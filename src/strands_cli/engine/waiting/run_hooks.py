"""Call the hook plugins that observe runs: in threads, within a few seconds, and without an effect on the run."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from strands_cli.engine.stored_runs.summary import summary_of
from strands_cli.engine.waiting.sendable_questions import portable_command, sendable, waiting_questions
from strands_cli.errors import StrandsCliError, WaitingForPerson
from strands_cli.hooks.hook_values import HookContext, RunEnded, RunStarted
from strands_cli.system.daemon_threads import DaemonThreads

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import StoredJournal, StoredRun
    from strands_cli.hooks.manager import Hooks
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.secrets.redactor import Redactor

STARTED, ENDED, QUESTIONS = "strands_run_started", "strands_run_ended", "strands_question_waiting"
# How long all plugins may take together: the run is stored, and its process should go on or end.
SECONDS = 5.0


async def call_in_time(hooks: Hooks, hook: str, call: Callable[[], None], seconds: float = SECONDS) -> None:
    """Call the plugins of a hook in a thread; one that takes longer than this is a warning."""
    calling = asyncio.get_running_loop().run_in_executor(DaemonThreads(), call)
    try:
        await asyncio.wait_for(calling, seconds)
    except TimeoutError:
        plugins = " or ".join(hooks.implementers(hook))
        hooks.tell(f"warning: the hook plugin {plugins} took over {seconds:g} s in {hook}")


@contextlib.asynccontextmanager
async def observed_run(
    planned: Plan, journal: StoredJournal, redactor: Redactor, *, is_continued: bool
) -> AsyncIterator[None]:
    """Notify the plugins that a run begins or continues, and of its status when this process stops to work on it.

    A look at a run that is complete already is neither.

    Args:
        is_continued: Whether an earlier process has worked on the run.
    """
    hooks = planned.hooks
    if hooks is None or journal.get("status") == "completed":
        yield
        return
    context = HookContext(planned.file, tuple(planned.rules), run=journal.run_id)
    began, error = time.monotonic(), None
    if hooks.implementers(STARTED):
        started = RunStarted(journal.run_id, planned.spec.name, str(journal.place), continued=is_continued)
        await call_in_time(hooks, STARTED, lambda: hooks.run_started(started, context))
    try:
        yield
    except BaseException as raised:
        error = raised
        raise
    finally:
        if hooks.implementers(ENDED):
            ended = _ended(planned, hooks, journal, redactor, error, time.monotonic() - began)
            await call_in_time(hooks, ENDED, lambda: hooks.run_ended(ended, context))


async def tell_of_questions(
    planned: Plan, journal: StoredJournal, redactor: Redactor, seconds: float = SECONDS
) -> None:
    """Tell the plugins what a run waits for; one that fails or takes long is a warning, and changes nothing.

    Args:
        seconds: How long all of them may take together.
    """
    hooks = planned.hooks
    if hooks is None or not hooks.implementers(QUESTIONS):
        return
    questions = waiting_questions(journal, redactor.text)
    context = HookContext(planned.file, tuple(planned.rules), run=journal.run_id)
    await call_in_time(hooks, QUESTIONS, lambda: hooks.question_waiting(questions, context), seconds)


def ended_run(journal: StoredJournal, redact: Callable[[str], str]) -> RunEnded:
    """Return a stored run as hook plugins get it.

    Raises:
        RunRecordError: It cannot be read.
    """
    summary = summary_of(journal)
    run, spent = summary.run, summary.spent
    denials = [
        dataclasses.replace(one, rule=sendable(one.rule, redact), fix=one.fix and sendable(one.fix, redact))
        for one in summary.denials
    ]
    return RunEnded(
        run.id,
        sendable(run.workflow, redact),
        run.status,
        str(journal.place),
        None if run.reason is None else sendable(run.reason, redact),
        seconds=run.worked_s or 0.0,
        model_calls=spent.model_calls,
        tool_calls=spent.tool_calls,
        tokens=spent.usage.input_tokens + spent.usage.output_tokens,
        cost_usd=spent.cost,
        usage=spent.usage.counts(),
        denials=tuple(denials),
        commands=tuple(redact(portable_command(*words, store=journal.place)) for words in _next_steps(run)),
        started_at=run.started_at,
        ended_at=run.ended_at,
        worked_s=run.worked_s,
    )


def _next_steps(run: StoredRun) -> list[list[str]]:
    """Return the commands that show the run, and that continue one which nothing prevents from it."""
    show, resume = ["runs", "show", run.id], ["resume", run.id]
    if run.command is not None:
        show, resume = [run.command, "status", run.id], [run.command, "resume", run.id]
    return [show, resume] if run.status == "interrupted" else [show]


def _ended(
    planned: Plan, hooks: Hooks, journal: StoredJournal, redactor: Redactor, error: BaseException | None, seconds: float
) -> RunEnded:
    """Return how a run ended for this process: by its error, and as far as the journal can be read."""
    text = None if error is None else _text(error, redactor)
    try:
        stored = ended_run(journal, redactor.text)
    except StrandsCliError:  # a store that is lost: what this process knows is still reported
        stored = RunEnded(journal.run_id, planned.spec.name, "running", str(journal.place))
    status = _status(stored.status, error)
    return dataclasses.replace(stored, status=status, error=text, seconds=seconds, watched=hooks.watched)


def _status(stored: str, error: BaseException | None) -> str:
    """Return the status of a run on which this process does not work any more."""
    if stored != "running":
        return stored
    if error is None:
        return "completed"
    return "waiting" if isinstance(error, WaitingForPerson) else "interrupted"


def _text(error: BaseException, redactor: Redactor) -> str:
    text = error.message if isinstance(error, StrandsCliError) else f"{type(error).__name__}: {error}"
    return sendable(text, redactor.text)
