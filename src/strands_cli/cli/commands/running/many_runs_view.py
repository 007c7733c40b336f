"""The terminal of a command that works on many runs at once: its lines, its progress in place, and its results."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from strands_cli.cli.commands.end_notice import EndNotice
from strands_cli.cli.foreign_output import reserved_streams
from strands_cli.cli.output.results import json_text
from strands_cli.cli.process import run_to_end
from strands_cli.cli.terminal.progress import open_view
from strands_cli.cli.terminal.terminal_human import is_interactive
from strands_cli.cli.text_layout import fitted, one_line
from strands_cli.errors import HungUp, Interrupted, ReaderStopped, StrandsCliError, Terminated
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.cli.terminal.live_view import View
    from strands_cli.engine.ports.store_port import StoredJournal
    from strands_cli.planned_rows import PlannedRows
    from strands_cli.store_place import StorePlace

Result = TypeVar("Result")
_SIGNALS = (Interrupted, Terminated, HungUp)


class ManyRunsView:
    """The terminal while this process works on many runs; tools that they call reach neither stdin nor stdout.

    Attributes:
        stdout: The stream for results.
        is_drawn: Whether the progress is drawn below the lines.
    """

    def __init__(self, view: View, stdout: TextIO, notice: EndNotice) -> None:
        self._view, self._notice = view, notice
        self.stdout, self.is_drawn = stdout, view.is_drawn

    @classmethod
    @contextlib.contextmanager
    def opened(
        cls, rows: PlannedRows, progress: Callable[[], str], *, quiet: bool, verbose: bool, draws: bool
    ) -> Iterator[ManyRunsView]:
        """Open the terminal.

        Args:
            rows: The workflow of the runs.
            progress: Returns how far they are, in words; empty where nothing is known yet.
            quiet: Show no lines.
            verbose: Show what tools print; of many runs it is too much else.
            draws: Whether the progress may be drawn in place.
        """
        is_watched = is_interactive() and not rows.request.detach
        notice = EndNotice(watched=is_watched)
        with open_view(quiet=quiet, verbose=not draws, progress=_Progress(progress)) as view:
            of_tools = view.tool_line if verbose else _drop
            with reserved_streams(of_tools, view.error_line, verbose=verbose) as streams:
                if rows.plan.hooks is not None:
                    rows.plan.hooks.tell, rows.plan.hooks.watched = view.line, is_watched
                yield cls(view, streams.stdout, notice)

    def line(self, text: str) -> None:
        """Show one line on stderr."""
        self._view.line(one_line(text))

    def run_to_end(self, work: Callable[[], Coroutine[Any, Any, Result]], stopped: str) -> Result:
        """Run a coroutine until it ends or a signal stops it.

        Args:
            work: Returns the coroutine.
            stopped: The line for a person who has stopped it.

        Raises:
            StrandsCliError: It was stopped, or has failed.
        """
        try:
            return run_to_end(work, self._view.before_notice)
        except StrandsCliError as error:
            error.brief = stopped if isinstance(error, _SIGNALS) else error.brief
            raise
        finally:
            self._view.settle()

    def notify_later(self, place: StorePlace, run_id: str) -> None:
        """Notify those who do not watch when the results and the errors of this command are printed."""
        self._notice.send_later(place, run_id)

    @staticmethod
    def json_line(document: Any) -> str:
        """Return an object as one line of JSON for stdout, with hidden characters escaped."""
        return json_text(document)

    @staticmethod
    def reader_stopped(run_id: str, message: str, fix: str) -> StrandsCliError:
        """Return the error of results that nothing reads any more while runs are left."""
        error = ReaderStopped(message, fix=fix)
        error.run_id = run_id
        return error

    @staticmethod
    def warn_of_questions(rows: PlannedRows) -> None:
        """Warn of calls that would ask when no person can be asked: they wait, or are denied."""
        from strands_cli.cli.commands.running.execution import warn_of_questions

        warn_of_questions(rows.plan, rows.request)

    @staticmethod
    def in_directory_of(journal: StoredJournal, *, quiet: bool) -> AbstractContextManager[None]:
        """Work where a stored run was started, so that relative paths mean what they meant then.

        Raises:
            RunRecordError: That directory cannot be entered.
        """
        from strands_cli.cli.commands.running.continuation import in_directory_of

        return in_directory_of(journal, quiet=quiet)


def _drop(_text: str) -> None:
    """Take a line that is not shown."""


class _Progress:
    """The progress as the one line of the block that is drawn."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text

    def lines(self, columns: int, rows: int) -> list[str]:
        """Return the lines for a terminal of this size."""
        text = self._text() if rows >= 2 else ""
        return [fitted(printable(one_line(text)), max(1, columns - 1))[0]] if text else []
