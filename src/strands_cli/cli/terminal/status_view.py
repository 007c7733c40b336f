"""The lines of a run, and on a terminal a block below them that shows its progress in place."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Any, Protocol, Self

from strands_cli.cli.output.messages import real_stderr, say, write_error
from strands_cli.cli.terminal.live_block import ERASE, frame, is_in_front, terminal_size
from strands_cli.cli.terminal.live_view import View
from strands_cli.cli.terminal.run_progress import RunProgress
from strands_cli.events import Event, RunStarted

if TYPE_CHECKING:
    from strands_cli.workflow.sections import Budgets

REDRAW_S = 0.125
# How long a signal waits for another thread that draws.
_PATIENCE_S = 0.2


class Progress(Protocol):
    """What a block shows."""

    def lines(self, columns: int, rows: int) -> list[str]:
        """Return the lines for a terminal of this size."""


class BlockView(View):
    """The same lines, and below them a block that says what goes on. A thread draws it."""

    is_drawn = True

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress
        self._drawn = ""  # the frame on the terminal
        self._over = threading.Event()
        self._is_stopped = False  # by Ctrl-Z
        self._ticker = threading.Thread(target=self._tick, daemon=True, name="strands-status")
        self._before: Any = None  # the handler of SIGTSTP

    def __enter__(self) -> Self:
        self._take_stop_signal()
        self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.settle()
        if self._before is not None:
            signal.signal(signal.SIGTSTP, self._before)

    def settle(self) -> None:
        """Remove the block for good."""
        self._over.set()
        with self._lock:
            self._wipe()

    def _print(self, text: str) -> None:
        """Print one line where the block is, and the block below it, in one write; one that is not there can wait."""
        block = self._frame() if self._drawn else ""
        say(text, before=ERASE if self._drawn else "", after=block)
        self._drawn = block

    def pause(self) -> None:
        """Remove the block while a question is shown."""
        with self._lock:
            self._wipe()
            super().pause()

    def before_notice(self) -> bytes:
        """Return what makes room for a line that a signal writes."""
        return ERASE.encode() if self._drawn else super().before_notice()

    def _tick(self) -> None:
        while not self._over.wait(REDRAW_S):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        block = self._frame()
        if block != self._drawn:
            write_error(block or ERASE)
            self._drawn = block

    def _frame(self) -> str:
        """Return what draws the block as it is now; nothing where there is none, or no place for it."""
        stream = real_stderr()
        if self._paused or self._is_stopped or self._over.is_set() or not is_in_front(stream):
            return ""
        lines = self._progress.lines(*terminal_size(stream))
        return frame(lines) if lines else ""

    def _wipe(self) -> None:
        if self._drawn:
            write_error(ERASE)
            self._drawn = ""

    def _take_stop_signal(self) -> None:
        """Remove the block before Ctrl-Z stops the process; `fg` shows it again."""
        if not hasattr(signal, "SIGTSTP") or threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL:
            self._before = signal.signal(signal.SIGTSTP, self._stop)

    def _stop(self, number: int, _frame: object) -> None:
        self._is_stopped = True
        # The other thread may hang in a write to a terminal that is itself stopped (Ctrl-S).
        is_ours = self._lock.acquire(timeout=_PATIENCE_S)
        if self._drawn:
            with contextlib.suppress(OSError, ValueError):  # the terminal has gone
                os.write(real_stderr().fileno(), ERASE.encode())
            self._drawn = ""
        if is_ours:
            self._lock.release()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # returns when the process is continued
        signal.signal(number, self._stop)
        self._is_stopped = False


class StatusView(BlockView):
    """The lines of a run, and below them its totals, its steps, and the text that comes."""

    def __init__(self, limits: Budgets | None = None) -> None:
        self.progress = RunProgress(limits)
        super().__init__(self.progress)

    def loading(self, begins: RunStarted) -> None:
        """Show the first line of the run, and what is done before it begins."""
        with self._lock:
            super().loading(begins)
            self.progress.loading(begins.workflow)
            self._draw()

    def _show(self, event: Event) -> None:
        self.progress.follow(event)
        if line := self._line_for(event):
            self.line(line)
