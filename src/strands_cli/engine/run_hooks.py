"""Call the hook plugins that observe runs: in threads, within a few seconds, and without an effect on the run."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from strands_cli.errors import StrandsCliError, WaitingForPerson
from strands_cli.hooks.hook_values import HookContext, RunEnded, RunStarted
from strands_cli.system.daemon_threads import DaemonThreads
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import StoredJournal
    from strands_cli.hooks.manager import Hooks
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.secrets.redactor import Redactor

STARTED, ENDED = "strands_run_started", "strands_run_ended"
# How long all plugins may take together: the run is stored, and its process should go on or end.
SECONDS = 5.0
MOST_CHARACTERS = 1_000


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
            ended = _ended(planned, journal, redactor, error, time.monotonic() - began)
            await call_in_time(hooks, ENDED, lambda: hooks.run_ended(ended, context))


def _ended(
    planned: Plan, journal: StoredJournal, redactor: Redactor, error: BaseException | None, seconds: float
) -> RunEnded:
    from strands_cli.engine.stored_runs.summary import summary_of

    text = None if error is None else _text(error, redactor)
    ended = RunEnded(journal.run_id, planned.spec.name, _status("running", error), str(journal.place), text, seconds)
    try:
        summary = summary_of(journal)
    except StrandsCliError:  # a store that is lost: what this process knows is still reported
        return ended
    spent = summary.spent
    return dataclasses.replace(
        ended,
        status=_status(summary.run.status, error),
        model_calls=spent.model_calls,
        tool_calls=spent.tool_calls,
        tokens=spent.usage.input_tokens + spent.usage.output_tokens,
        cost_usd=spent.cost,
    )


def _status(stored: str, error: BaseException | None) -> str:
    """Return the status of a run on which this process does not work any more."""
    if stored != "running":
        return stored
    if error is None:
        return "completed"
    return "waiting" if isinstance(error, WaitingForPerson) else "interrupted"


def _text(error: BaseException, redactor: Redactor) -> str:
    text = error.message if isinstance(error, StrandsCliError) else f"{type(error).__name__}: {error}"
    return printable(redactor.text(text))[:MOST_CHARACTERS]
