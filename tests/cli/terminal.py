"""A pseudo-terminal with `strands` in it: what it draws, what a person types."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.warm import WarmProcess, can_be_warm, start_at_terminal

# Far more than anything here takes, so that only what hangs runs out of it, however busy the machine is.
SECONDS = 300


class Terminal:
    """Runs one command on a pseudo-terminal; `text` is all that it has written so far, control codes included."""

    def __init__(self, command: Sequence[str], cwd: Path, env: dict[str, str], columns: int = 100) -> None:
        self._main, side = pty.openpty()
        self.resize(columns)
        environment = {"TERM": "xterm-256color", "NO_COLOR": "1", **env}
        self._process: subprocess.Popen[bytes] | WarmProcess
        if can_be_warm(command, environment):
            self._process = start_at_terminal(command[1:], cwd, environment, side)
        else:
            self._process = subprocess.Popen(
                command, cwd=cwd, env=environment, stdin=side, stdout=side, stderr=side, preexec_fn=_take_terminal
            )
        os.close(side)
        self.text = ""
        self._read_to = 0

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._main >= 0:
            os.close(self._main)

    def resize(self, columns: int, rows: int = 40) -> None:
        """Make the window larger or smaller; the command gets SIGWINCH."""
        fcntl.ioctl(self._main, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hang_up(self) -> int:
        """Close the terminal, as a window is closed, and return the exit code."""
        os.close(self._main)
        self._main = -1
        return self._process.wait(SECONDS)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Read until the pattern is in the output since the last match."""
        deadline = time.monotonic() + SECONDS
        while (found := re.search(pattern, self.text[self._read_to :])) is None:
            assert self._read(deadline), f"{pattern!r} never came:\n{self.text}"
        self._read_to += found.end()
        return found

    def type(self, keys: str) -> None:
        """Type; `\\x03` is Ctrl-C, `\\x04` Ctrl-D."""
        os.write(self._main, keys.encode())

    def end(self) -> int:
        """Read to the end and return the exit code."""
        deadline = time.monotonic() + SECONDS
        while self._read(deadline):
            pass
        return self._process.wait(SECONDS)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the command."""
        self._process.send_signal(number)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._main], [], [], max(0.0, deadline - time.monotonic()))
        try:
            piece = os.read(self._main, 65536) if ready else b""
        except OSError:  # how Linux says that the other side is closed
            piece = b""
        self.text += piece.decode("utf-8", "replace")
        return bool(piece)


def _take_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
