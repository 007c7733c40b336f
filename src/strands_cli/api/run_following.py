"""The connection between a run and its program: the listener, the event loop and the tracebacks."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from strands_cli.engine.plan_execution import RunResult
from strands_cli.engine.stored_runs.last_place import worked_on
from strands_cli.errors import StrandsCliError, UsageError
from strands_cli.events import Event

if TYPE_CHECKING:
    from strands_cli.engine.store_port import StoredJournal


# The directory in which a stored run of a program continues: the one where it was started.


def require_same_directory(journal: StoredJournal) -> None:
    """Check that this process is in the directory where the run began; a program has to change to it by itself.

    Raises:
        UsageError: It is in another one, where the run's relative paths would mean other files.
    """
    began, here = Path(journal.get("directory") or Path.cwd()), Path.cwd()
    if began.resolve() == here.resolve():
        return
    message = f"the run {journal.get('id')} was started in {began}, and this program is in {here}"
    if began.is_dir():
        raise UsageError(message, fix=f"call os.chdir({str(began)!r}) first")
    where = worked_on(journal)
    there = "" if where is None or where.is_here or where.worker else f"continue it on {where.machine}, or "
    fix = f"{there}call os.makedirs({str(began)!r}) first, put the files there that it reads, and os.chdir to it"
    raise UsageError(f"{message}; this machine does not have that directory", fix=fix)


Emit = Callable[[Event], None]
Listen = Callable[[Event], object]
Result = TypeVar("Result")


async def run_with_listener(
    on_event: Listen | None, start: Callable[[Emit], Coroutine[Any, Any, RunResult]]
) -> RunResult:
    """Run the coroutine that `start` returns for a listener; an exception in `on_event` stops it and is raised."""
    listener = Listener(on_event)
    task = listener.task = asyncio.create_task(start(listener))
    try:
        result = await task
    except BaseException as error:
        if listener.fault is not None:
            raise listener.fault from error
        raise
    if listener.fault is not None:
        raise listener.fault
    return result


class Listener:
    """Passes events to the program's function; an exception in it stops the run."""

    def __init__(self, on_event: Listen | None) -> None:
        if inspect.iscoroutinefunction(on_event):
            raise UsageError(
                "on_event is a coroutine function, which would not be awaited",
                fix="pass a plain function, or iterate over `workflow.stream(...)`",
            )
        self._on_event = on_event
        self.fault: Exception | None = None
        self.task: asyncio.Task[RunResult] | None = None

    def __call__(self, event: Event) -> None:
        """Pass an event on, unless the program's function has failed at an earlier one."""
        if self._on_event is None or self.fault is not None:
            return
        try:
            self._on_event(event)
        except Exception as error:  # noqa: BLE001 - the program's own error; inside a run it would look like the engine's
            self.fault = error
            if self.task is not None:
                self.task.cancel()


@contextlib.contextmanager
def reasons_in_traceback() -> Iterator[None]:
    """Let the traceback of an error have the text of the command: its findings, and the fix."""
    try:
        yield
    except StrandsCliError as error:
        fix = [f"fix: {error.fix}"] if error.fix else []
        for note in [*(str(finding) for finding in error.findings if finding.severity == "error"), *fix]:
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
        raise


def in_new_loop(name: str, start: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run a coroutine in a new event loop, whose threads cannot delay the end of the process.

    Raises:
        UsageError: A loop is running already, which the method `name` would block.
    """
    if loop_is_running():
        others = " or iterate over `workflow.stream(...)`" if name == "run" else ""
        raise UsageError(
            f"Workflow.{name} cannot be called inside a running event loop",
            fix=f"write `await workflow.{name}_async(...)`,{others}".rstrip(","),
        )
    from strands_cli.system.daemon_threads import DaemonThreads

    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(DaemonThreads())
        return runner.run(start())


def loop_is_running() -> bool:
    """Return whether this thread runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run_in_new_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end, in a new thread if this one has a running event loop."""
    if not loop_is_running():
        return asyncio.run(work)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
