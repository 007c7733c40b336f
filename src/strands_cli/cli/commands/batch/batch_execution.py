"""Works on a batch in the terminal: signals, streams, progress, and the report at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.cli.commands.batch.batch_progress import BatchProgress, row_line
from strands_cli.cli.commands.batch.batch_report import larger_limits, next_lines, summary_lines, tally_document
from strands_cli.cli.commands.end_notice import EndNotice
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import OutputClosed, json_text, print_json
from strands_cli.cli.text_layout import one_line
from strands_cli.errors import (
    ExitCode,
    HoldLost,
    HungUp,
    Interrupted,
    ReaderStopped,
    StrandsCliError,
    Terminated,
    Unreachable,
    UsageError,
)
from strands_cli.run_views.open_questions import command
from strands_cli.texts.phrases import counted

if TYPE_CHECKING:
    from strands_cli.batch.batch_choices import BatchChoices
    from strands_cli.batch.batch_journal import BatchJournal, BatchRow
    from strands_cli.batch.reading.checked_rows import CheckedRows
    from strands_cli.batch.work.batch_session import BatchSession, OpenEngine
    from strands_cli.batch.work.batch_tally import BatchTally
    from strands_cli.cli.commands.batch.batch_options import BatchFlags
    from strands_cli.cli.terminal.live_view import View
    from strands_cli.engine.ports.store_port import RunStore
    from strands_cli.planned_rows import PlannedRows
    from strands_cli.store_place import StorePlace

# Open files of the process itself, and of one run: its journal, its lock, and connections to a model and a tool.
FILES, FILES_A_RUN = 128, 8
# For how long a batch on workers waits for its store, and how soon it begins again when that is there.
UNREACHABLE_S, BEGIN_S = 60.0, 0.5
# Warnings of runs that are shown: each row may have the same one.
_MOST_WARNINGS = 20
_SIGNALS = (Interrupted, Terminated, HungUp)


@dataclass(slots=True)
class BatchWork:
    """What a command asks of a batch.

    Attributes:
        workflow: Its workflow.
        store: Where the runs are.
        batch: Its journal, held.
        choices: How the rows run.
        rows: The rows of a file, and the name of that file; None where the batch has its rows.
        again: Whether rows that have failed run again.
        open_engine: Opens where the rows are run; None for this process.
    """

    workflow: PlannedRows
    store: RunStore
    batch: BatchJournal
    choices: BatchChoices
    rows: tuple[CheckedRows, str] | None = None
    again: bool = False
    open_engine: OpenEngine | None = None


def work_on(work: BatchWork, flags: BatchFlags, known: dict[str, Any]) -> int:
    """Run the rows of a batch, and say what it has come to.

    Args:
        known: Gets what is known of the batch, for a JSON document that reports an error.

    Returns:
        The exit code.

    Raises:
        StrandsCliError: The batch has stopped before all of its rows had ended.
    """
    from strands_cli.batch.work.batch_tally import BatchTally
    from strands_cli.cli.foreign_output import reserved_streams
    from strands_cli.cli.terminal.progress import open_view
    from strands_cli.cli.terminal.terminal_human import is_interactive

    tally, batch = BatchTally(), work.batch
    is_lost = False  # it goes on in this process
    progress = BatchProgress(batch.id, tally)
    known |= {"batch": batch.id, "status": "failed"}
    may_go_on = True
    if not work.choices.engine:
        require_open_files(work.choices.at_a_time)
    is_watched = is_interactive() and not work.workflow.request.detach
    notice = EndNotice(watched=is_watched)
    draws = not flags.verbose and not (work.choices.out == "-" and sys.stdout.isatty())
    with (
        open_view(quiet=flags.quiet, verbose=not draws, progress=progress) as view,
        reserved_streams(_of_tools(view, flags), view.error_line, verbose=flags.verbose) as streams,
    ):
        if work.workflow.plan.hooks is not None:
            work.workflow.plan.hooks.tell, work.workflow.plan.hooks.watched = view.line, is_watched
        session = _session(work, flags, view, tally, streams.stdout)
        session.listen = _listener(flags, view, progress)
        try:
            stopped = _to_end(session, view)
        except HoldLost as error:
            is_lost = bool(work.choices.engine) and not error.is_asked
            may_go_on = False
            error.fix = after_loss(error, work)
            raise
        except StrandsCliError as error:
            error.brief = "the batch was stopped" if isinstance(error, _SIGNALS) else error.brief
            raise
        except BrokenPipeError as error:
            if not tally.left:  # as for a run: nothing is wrong
                raise OutputClosed from error
            may_go_on = False
            raise stopped_reader(work) from error
        finally:
            if not is_lost:
                known |= {"status": batch.journal.get("status"), **tally_document(tally, batch.counts[1], work.choices)}
                notice.send_later(work.store.place, batch.id)
                _report(work, tally, view, flags, may_go_on=may_go_on)
    if flags.as_json:
        print_json(known)
    if stopped is not None and not flags.quiet:
        say(stopped)
    return exit_code_of(tally)


def until_reachable(begin: Callable[[], int], place: StorePlace, *, quiet: bool) -> int:
    """Return what a batch on workers ends with; where its store is lost, it goes on when that can be reached again.

    Args:
        begin: Begins or continues the batch; what is done is not done again.

    Raises:
        RunRecordError: The store was not reached for a while.
    """
    from strands_cli.batch.work.workers_of_rows import imported_of_workers
    from strands_cli.engine.stored_runs.opened_store import store_at

    def tell(line: str) -> None:
        if not quiet:
            say(one_line(line))

    while True:
        try:
            return begin()
        except (HoldLost, Unreachable) as error:
            if isinstance(error, HoldLost) and error.is_asked:
                raise
            tell(f"{error.message}; the batch goes on when it can be reached")
        time.sleep(BEGIN_S)
        imported_of_workers("patience").reached(lambda: store_at(place).close(), UNREACHABLE_S, tell)


def require_open_files(concurrency: int) -> None:
    """Let this process have as many open files as so many runs need.

    Raises:
        UsageError: The system does not allow it.
    """
    if sys.platform == "win32":
        return
    import resource

    needed = FILES + FILES_A_RUN * concurrency
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        most = max(1, (hard - FILES) // FILES_A_RUN)
        message = f"--concurrency {concurrency} needs {needed} open files, and the limit is {hard} (ulimit -n)"
        raise UsageError(message, fix=f"--concurrency {most}, or a larger limit")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _session(work: BatchWork, flags: BatchFlags, view: View, tally: BatchTally, stdout: Any) -> BatchSession:
    from strands_cli.batch.work.batch_run import has_failed, is_unfinished
    from strands_cli.batch.work.batch_session import BatchSession
    from strands_cli.batch.work.result_file import ResultFile

    place = work.store.place
    session = BatchSession(
        workflow=work.workflow,
        store=work.store,
        batch=work.batch,
        choices=work.choices,
        results=ResultFile(work.choices.out, stdout),
        tell=_Warnings(view, quiet=flags.quiet),
        wants=has_failed if work.again else is_unfinished,
        again=work.again,
        encode=json_text if work.choices.out == "-" else None,
        fix=f"go on with a larger limit: {command('batch', 'resume', work.batch.id, store=place)} --budget {{limit}}=N",
        tally=tally,
    )
    if work.rows is not None:
        session.rows, session.source = work.rows
    if work.open_engine is not None:
        session.open_engine = work.open_engine
    return session


def _to_end(session: BatchSession, view: View) -> str | None:
    """Work on a batch until it ends; return why rows are left, unless an error says it."""
    from strands_cli.cli.process import run_to_end

    try:
        run = run_to_end(session.work, view.before_notice)
    finally:
        view.settle()
    is_short = run.stopped == "fail-fast" and session.tally.left
    return f"stopped after {counted(run.failed_here, 'failed row')}" if is_short else None


def _listener(flags: BatchFlags, view: View, progress: BatchProgress) -> Callable[[BatchRow], None]:
    """Return what is called for each row: a line for each with `--verbose`, else now and then one in a pipe."""
    if flags.quiet:
        return lambda row: None
    if flags.verbose:
        return lambda row: view.line(one_line(row_line(row)))

    def listen(row: BatchRow) -> None:
        text = progress.due()
        if text is not None and not view.is_drawn:
            view.line(one_line(text))

    return listen


def _of_tools(view: View, flags: BatchFlags) -> Callable[[str], None]:
    """Return what takes the lines that tools print: with `--verbose` they are shown, else there are too many."""
    return view.tool_line if flags.verbose else lambda text: None


class _Warnings:
    """Shows the warnings of runs, each once, and not too many."""

    def __init__(self, view: View, *, quiet: bool) -> None:
        self._view, self._quiet = view, quiet
        self._seen: set[str] = set()

    def __call__(self, text: str) -> None:
        if self._quiet or text in self._seen or len(self._seen) >= _MOST_WARNINGS:
            return
        self._seen.add(text)
        self._view.line(one_line(f"warning: {text}"))


def _report(work: BatchWork, tally: BatchTally, view: View, flags: BatchFlags, *, may_go_on: bool) -> None:
    """Show what the batch has come to, and how it goes on unless an error says that."""
    if flags.quiet or not tally.total:  # nothing has begun: the error says why
        return
    for line in summary_lines(tally):
        view.line(one_line(line))
    if work.choices.out != "-":
        view.line(one_line(f"results {work.choices.out}"))
    if may_go_on:
        larger = larger_limits(work.choices.budget, tally, work.batch.journal.get("worked_s"))
        for line in next_lines(work.batch.id, tally, work.store.place, larger):
            view.line(one_line(line))


def after_loss(error: HoldLost, work: BatchWork) -> str:
    """Return what to do about a batch that was stopped elsewhere, for good perhaps, or whose store is lost."""
    verb, why = ("status", "see what became of it") if error.is_asked else ("resume", "when the store can be reached")
    return f"{why}: {command('batch', verb, work.batch.id, store=work.store.place)}"


def stopped_reader(work: BatchWork) -> ReaderStopped:
    """Return the error of a batch whose results are read no more, with how it goes on."""
    again = command("batch", "resume", work.batch.id, store=work.store.place)
    error = ReaderStopped("the reader of the results has stopped, so no further row begins", fix=f"{again} -o FILE")
    error.run_id = work.batch.id
    return error


def exit_code_of(tally: BatchTally) -> int:
    """Return the exit code of a batch that nothing has stopped: of its failed rows first, then of those that wait."""
    if tally.failed:
        return ExitCode.DENIED if tally.exit_codes == {ExitCode.DENIED} else ExitCode.RUN_FAILED
    if tally.denied:
        return ExitCode.DENIED
    return ExitCode.WAITING if tally.waiting else ExitCode.OK
