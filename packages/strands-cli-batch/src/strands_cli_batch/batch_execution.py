"""Works on a batch in the terminal: signals, streams, progress, and the report at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.api import (
    ExitCode,
    HoldLost,
    OutputClosed,
    Runs,
    StrandsCliError,
    Unreachable,
    UsageError,
    counted,
    print_json,
    say,
)
from strands_cli_batch.batch_progress import BatchProgress, row_line
from strands_cli_batch.batch_report import larger_limits, next_lines, summary_lines, tally_document
from strands_cli_batch.command_parts import command, one_line
from strands_cli_batch.row_queues import row_queues

if TYPE_CHECKING:
    from strands_cli.api import ManyRunsView, PlannedRows, RunStore, StorePlace
    from strands_cli_batch.batch_choices import BatchChoices
    from strands_cli_batch.batch_journal import BatchJournal, BatchRow
    from strands_cli_batch.batch_options import BatchFlags
    from strands_cli_batch.batch_session import BatchSession, OpenEngine
    from strands_cli_batch.batch_tally import BatchTally
    from strands_cli_batch.checked_rows import CheckedRows

# Open files of the process itself, and of one run: its journal, its lock, and connections to a model and a tool.
FILES, FILES_A_RUN = 128, 8
# For how long a batch on workers waits for its store, and how soon it begins again after that.
UNREACHABLE_S, BEGIN_S = 60.0, 0.5
# The most shown warnings of runs: each row may have the same one.
_MOST_WARNINGS = 20


@dataclass(slots=True)
class BatchWork:
    """The work on a batch for a command.

    Attributes:
        workflow: Its workflow.
        store: Where the runs are.
        batch: Its journal, held.
        choices: How the rows run.
        rows: The rows of a file, and the name of that file; None where the batch has its rows.
        again: Whether failed rows run again.
        open_engine: Opens the engine of the rows; None for this process.
    """

    workflow: PlannedRows
    store: RunStore
    batch: BatchJournal
    choices: BatchChoices
    rows: tuple[CheckedRows, str] | None = None
    again: bool = False
    open_engine: OpenEngine | None = None


def work_on(work: BatchWork, flags: BatchFlags, document: dict[str, Any]) -> int:
    """Run the rows of a batch, and report the result.

    Args:
        document: Gets the known facts of the batch, for a JSON document that reports an error.

    Returns:
        The exit code.

    Raises:
        StrandsCliError: The batch has stopped before all of its rows had ended.
    """
    from strands_cli.api import ManyRunsView
    from strands_cli_batch.batch_tally import BatchTally

    tally, batch = BatchTally(), work.batch
    is_lost = False  # it goes on in this process
    progress = BatchProgress(batch.id, tally)
    document |= {"batch": batch.id, "status": "failed"}
    may_go_on = True
    if not work.choices.engine:
        require_open_files(work.choices.at_a_time)
    draws = not flags.verbose and not (work.choices.out == "-" and sys.stdout.isatty())
    view_options = {"quiet": flags.quiet, "verbose": flags.verbose, "draws": draws}
    with ManyRunsView.opened(work.workflow, progress.drawn, **view_options) as view:
        session = _session(work, flags, view, tally)
        session.listen = _listener(flags, view, progress)
        try:
            stopped = _to_end(session, view)
        except HoldLost as error:
            is_lost = bool(work.choices.engine) and not error.is_asked
            may_go_on = False
            error.fix = after_loss(error, work)
            raise
        except BrokenPipeError as error:
            if not tally.left:  # as for a run: nothing is wrong
                raise OutputClosed from error
            may_go_on = False
            raise stopped_reader(work, view) from error
        finally:
            if not is_lost:
                document |= {
                    "status": batch.journal.get("status"),
                    **tally_document(tally, batch.counts[1], work.choices),
                }
                view.notify_later(work.store.place, batch.id)
                _report(work, tally, view, flags, may_go_on=may_go_on)
    if flags.as_json:
        print_json(document)
    if stopped is not None and not flags.quiet:
        say(stopped)
    return exit_code_of(tally)


def until_reachable(begin: Callable[[], int], place: StorePlace, *, quiet: bool) -> int:
    """Return the exit code of a batch on workers; after a loss of its store, it goes on when that can be reached again.

    Args:
        begin: Begins or continues the batch; finished rows are not run again.

    Raises:
        RunRecordError: The store was not reached for a while.
    """

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
        row_queues().reached(lambda: Runs(place).close(), UNREACHABLE_S, tell)


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


def _session(work: BatchWork, flags: BatchFlags, view: ManyRunsView, tally: BatchTally) -> BatchSession:
    from strands_cli_batch.batch_run import has_failed, is_unfinished
    from strands_cli_batch.batch_session import BatchSession
    from strands_cli_batch.result_file import ResultFile

    resumed = command("batch", "resume", work.batch.id, store=work.store.place)
    session = BatchSession(
        workflow=work.workflow,
        store=work.store,
        batch=work.batch,
        choices=work.choices,
        results=ResultFile(work.choices.out, view.stdout),
        tell=_Warnings(view, quiet=flags.quiet),
        wants=has_failed if work.again else is_unfinished,
        again=work.again,
        encode=view.json_line if work.choices.out == "-" else None,
        fix=f"go on with a larger limit: {resumed} --budget {{limit}}=N",
        tally=tally,
    )
    if work.rows is not None:
        session.rows, session.source = work.rows
    if work.open_engine is not None:
        session.open_engine = work.open_engine
    return session


def _to_end(session: BatchSession, view: ManyRunsView) -> str | None:
    """Work on a batch until it ends; return why rows are left, unless an error says it."""
    run = view.run_to_end(session.work, "the batch was stopped")
    is_short = run.stopped == "fail-fast" and session.tally.left
    return f"stopped after {counted(run.failed_here, 'failed row')}" if is_short else None


def _listener(flags: BatchFlags, view: ManyRunsView, progress: BatchProgress) -> Callable[[BatchRow], None]:
    """Return the listener for each row: a line for each with `--verbose`, else now and then one in a pipe."""
    if flags.quiet:
        return lambda row: None
    if flags.verbose:
        return lambda row: view.line(row_line(row))

    def listen(row: BatchRow) -> None:
        text = progress.due()
        if text is not None and not view.is_drawn:
            view.line(text)

    return listen


class _Warnings:
    """Shows the warnings of runs, each once, and not too many."""

    def __init__(self, view: ManyRunsView, *, quiet: bool) -> None:
        self._view, self._quiet = view, quiet
        self._shown_warnings: set[str] = set()

    def __call__(self, text: str) -> None:
        if self._quiet or text in self._shown_warnings or len(self._shown_warnings) >= _MOST_WARNINGS:
            return
        self._shown_warnings.add(text)
        self._view.line(f"warning: {text}")


def _report(work: BatchWork, tally: BatchTally, view: ManyRunsView, flags: BatchFlags, *, may_go_on: bool) -> None:
    """Show the result of the batch, and how it goes on unless an error says that."""
    if flags.quiet or not tally.total:  # nothing has begun: the error says why
        return
    for line in summary_lines(tally):
        view.line(line)
    if work.choices.out != "-":
        view.line(f"results {work.choices.out}")
    if may_go_on:
        larger = larger_limits(work.choices.budget, tally, work.batch.journal.get("worked_s"))
        for line in next_lines(work.batch.id, tally, work.store.place, larger):
            view.line(line)


def after_loss(error: HoldLost, work: BatchWork) -> str:
    """Return the remedy for a batch that was stopped elsewhere, for good perhaps, or whose store is lost."""
    verb, why = ("status", "see what became of it") if error.is_asked else ("resume", "when the store can be reached")
    return f"{why}: {command('batch', verb, work.batch.id, store=work.store.place)}"


def stopped_reader(work: BatchWork, view: ManyRunsView) -> StrandsCliError:
    """Return the error of a batch whose results are read no more, with how it goes on."""
    again = command("batch", "resume", work.batch.id, store=work.store.place)
    message = "the reader of the results has stopped, so no further row begins"
    return view.reader_stopped(work.batch.id, message, f"{again} -o FILE")


def exit_code_of(tally: BatchTally) -> int:
    """Return the exit code of a batch that nothing has stopped: of its failed rows first, then of those that wait."""
    if tally.failed:
        return ExitCode.DENIED if tally.exit_codes == {ExitCode.DENIED} else ExitCode.RUN_FAILED
    if tally.denied:
        return ExitCode.DENIED
    return ExitCode.WAITING if tally.waiting else ExitCode.OK
