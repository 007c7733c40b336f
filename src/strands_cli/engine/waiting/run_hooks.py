"""Call the hook plugins that observe runs: in threads, within a few seconds, and without an effect on the run."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.engine.journal.journal_rows import Journal, Row, whole_of
from strands_cli.engine.step_results import failure_in, is_refusal
from strands_cli.engine.store_port import StoredJournal
from strands_cli.engine.stored_runs.summary import summary_of
from strands_cli.engine.waiting.questions import (
    final_refusal,
    portable_command,
    rows_before,
    sendable,
    waiting_questions,
)
from strands_cli.errors import CallDenied, ExitCode, StrandsCliError, WaitingForPerson
from strands_cli.events import ALLOWED_BY, NO_PERSON
from strands_cli.hooks.hook_values import HookContext, RunEnded, RunStarted
from strands_cli.planning.run_request import RunRequest
from strands_cli.system.daemon_threads import DaemonThreads

if TYPE_CHECKING:
    from strands_cli.engine.store_port import StoredJournal, StoredRun
    from strands_cli.hooks.manager import Hooks
    from strands_cli.planning.plan_values import Plan
    from strands_cli.secrets.redactor import Redactor


# The permissions of a run from now on, chosen when it continues and stored with it.


# The permissions that a person may give each time a run continues, with the values of a run without them.
_PERMISSIONS: Mapping[str, Any] = {"allow": [], "yes": False, "deny": False}


def store_permissions(journal: Journal, request: RunRequest) -> bool:
    """Store the new permissions, so that the run has them when it continues; its plan is its own then.

    Returns:
        Whether they differ from the earlier ones.
    """
    options = journal.get("options") or {}
    now = {name: value for name, value in request.to_stored().items() if name in _PERMISSIONS}
    differs = any(options.get(name, default) != now[name] for name, default in _PERMISSIONS.items())
    if differs:
        journal.put(options={**options, **now}, **({"plan_key": ""} if journal.get("plan_key") else {}))
    return differs


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
    plan: Plan, journal: StoredJournal, redactor: Redactor, *, is_continued: bool
) -> AsyncIterator[None]:
    """Notify the plugins that a run begins or continues, and of its status when this process stops to work on it.

    A look at a complete run is neither.

    Args:
        is_continued: Whether an earlier process has worked on the run.
    """
    hooks = plan.hooks
    if hooks is None or journal.get("status") == "completed":
        yield
        return
    context = HookContext(plan.file, tuple(plan.rules), run=journal.run_id)
    began, error = time.monotonic(), None
    if hooks.implementers(STARTED):
        started = RunStarted(journal.run_id, plan.spec.name, str(journal.place), continued=is_continued)
        await call_in_time(hooks, STARTED, lambda: hooks.run_started(started, context))
    try:
        yield
    except BaseException as raised:
        error = raised
        raise
    finally:
        if hooks.implementers(ENDED):
            ended = _ended(plan, hooks, journal, redactor, error, time.monotonic() - began)
            await call_in_time(hooks, ENDED, lambda: hooks.run_ended(ended, context))


async def tell_of_questions(plan: Plan, journal: StoredJournal, redactor: Redactor, seconds: float = SECONDS) -> None:
    """Tell the plugins the open questions of a run; a failing or slow one is a warning, and changes nothing.

    Args:
        seconds: How long all of them may take together.
    """
    hooks = plan.hooks
    if hooks is None or not hooks.implementers(QUESTIONS):
        return
    questions = waiting_questions(journal, redactor.text)
    context = HookContext(plan.file, tuple(plan.rules), run=journal.run_id)
    await call_in_time(hooks, QUESTIONS, lambda: hooks.question_waiting(questions, context), seconds)


def ended_run(journal: StoredJournal, redact: Callable[[str], str]) -> RunEnded:
    """Return a stored run as hook plugins get it.

    Raises:
        RunRecordError: It cannot be read.
    """
    summary = summary_of(journal)
    run, spent = summary.run, summary.spent
    denials = [
        dataclasses.replace(denial, rule=sendable(denial.rule, redact), fix=denial.fix and sendable(denial.fix, redact))
        for denial in summary.denials
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
    plan: Plan, hooks: Hooks, journal: StoredJournal, redactor: Redactor, error: BaseException | None, seconds: float
) -> RunEnded:
    """Return how a run ended for this process: by its error, and as far as the journal can be read."""
    text = None if error is None else _text(error, redactor)
    try:
        stored = ended_run(journal, redactor.text)
    except StrandsCliError:  # a lost store: the facts known to this process are still reported
        stored = RunEnded(journal.run_id, plan.spec.name, "running", str(journal.place))
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


# How a run continues whose calls were denied: the command that allows them, or lets them wait for a person.


async def explain_stop(
    error: StrandsCliError, plan: Plan, journal: StoredJournal, redactor: Redactor, retry: Sequence[str] = ()
) -> None:
    """Add to the error of a run with denied calls how it continues; tell the plugins about questions that wait."""
    if isinstance(error, CallDenied):
        error.fix = way_after_denial(journal, retry)
    elif isinstance(error, WaitingForPerson):
        await tell_of_questions(plan, journal, redactor)


def way_after_denial(journal: StoredJournal, retry: Sequence[str] = ()) -> str:
    """Return the command that makes the denied calls; where only a rule denies them, after a change of that rule.

    A step is done in a new run, if its model or a later step has read that the call was denied. A part of a run is run
    again with the others that failed.

    Args:
        retry: The command that runs failed parts again; without one, that which shows the whole is named.
    """
    denied, refused = _denied_calls(journal)
    alone = _without_person(denied)
    options = [word for name in _allowed_by(alone) for word in ("--allow", name)]
    whole = whole_of(journal.run_id)
    if whole is None and any(ALLOWED_BY not in row.detail for row in alone):  # a person alone can answer, now or later
        options = [*options, "--detach"]
    if whole is None:
        words = [*_continuation(journal, alone or denied or refused), *options]
    else:
        words = [*retry, *options] if retry else ["runs", "show", whole]
    first = "" if alone else "change the rule that denies it, then: "
    if refused:
        fixes = dict.fromkeys(failure.fix for failure in map(failure_in, refused) if failure and failure.fix)
        first = f"{'; '.join(fixes) or 'change what the tool refuses'}; then: "
    return first + portable_command(*words, store=journal.place)


def tools_to_allow(journal: StoredJournal) -> list[str]:
    """Return the names for `--allow` for the calls that were denied in a run without a person."""
    return _allowed_by(_without_person(_denied_calls(journal)[0]))


async def redo_denied(journal: StoredJournal) -> None:
    """Record that a run which failed since something was denied, or refused by a person, begins there again.

    So a person is asked again, and all that follows is done again.
    """
    key = final_refusal(journal)
    if key is None and journal.get("status") == "failed" and journal.get("exit_code") == int(ExitCode.DENIED):
        denied, refused = _denied_calls(journal)
        key = _step_in_new_run(journal, _without_person(denied) or denied or refused)
    if key is None:
        return
    before = {row.key for row in rows_before(journal, key)}
    for row in [row for row in journal.rows() if row.status == "done" and row.key not in before]:
        detail = {**row.detail, **row.as_replaced(), "error": "done again, since it was denied or refused"}
        await journal.write(dataclasses.replace(row, status="failed", detail=detail))


def _denied_calls(journal: StoredJournal) -> tuple[list[Row], list[Row]]:
    """Return the calls that were denied, and where there are none those that their tools have refused."""
    denied = [row for row in journal.rows("tool") if row.detail.get("decision") == "deny"]
    return denied, [row for row in journal.rows("tool") if is_refusal(failure_in(row))] if not denied else []


def _without_person(denied: Sequence[Row]) -> list[Row]:
    return [row for row in denied if row.detail.get(NO_PERSON)]


def _allowed_by(alone: Sequence[Row]) -> list[str]:
    return [name for name in dict.fromkeys(row.detail.get(ALLOWED_BY) for row in alone) if name]


def _continuation(journal: StoredJournal, calls: Sequence[Row]) -> Iterator[str]:
    if (key := _step_in_new_run(journal, calls)) is None:
        yield from ("resume", journal.run_id)
        return
    yield from ("runs", "rerun", journal.run_id, "--from", key)
    if journal.row("artifacts") is not None:
        yield "--force"


def _step_in_new_run(journal: StoredJournal, calls: Sequence[Row]) -> str | None:
    """Return the first step with one of these calls, unless a resumed run asks about all of them again."""
    steps = {row.key.partition("/")[0] for row in calls}
    first = next((row.key for row in journal.rows("step") if row.key in steps), None)
    return first if any(_is_known(journal, row) for row in calls) else None


def _is_known(journal: StoredJournal, call: Row) -> bool:
    """Return whether a model has read that a call was denied, or an effect around it is done."""
    parts = call.key.split("/")[:-1]
    around = [journal.row("/".join(parts[: number + 1])) for number in range(len(parts))]
    if any(row is not None and row.status == "done" for row in around):
        return True
    step = "/".join(parts)
    keys = [row.key for row in journal.rows(None, step)]
    return any(key.startswith(f"{step}/model.") for key in keys[keys.index(call.key) + 1 :])
