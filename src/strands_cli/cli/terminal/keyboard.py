"""Lines that a person types; a read that is given up never consumes the next line."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from dataclasses import dataclass

from strands_cli.cli.output.messages import write_error
from strands_cli.texts.unicode_safety import printable

POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Keyboard:
    """A terminal's input, read by descriptor: Python's own stream would buffer lines that it has read ahead."""

    descriptor: int = 0

    def read_line(self, hint: str, give_up: threading.Event | None = None) -> str | None:
        """Show a hint and return the line typed after it; None at the end of the input or when given up."""
        write_error(printable(hint))
        line = b""
        while not line.endswith(b"\n"):
            if not self._wait(give_up):
                return None
            try:
                piece = os.read(self.descriptor, 4096)
            except OSError:  # the terminal has gone
                piece = b""
            if not piece:
                return line.decode("utf-8", "replace") if line else None
            line += piece
        return line.decode("utf-8", "replace").rstrip("\r\n")

    def _wait(self, give_up: threading.Event | None) -> bool:
        """Wait until something has been typed; False when given up before."""
        while give_up is None or not give_up.is_set():
            if self._typed():
                return True
        return False

    def _typed(self) -> bool:
        if sys.platform == "win32":  # `select` accepts only sockets there
            import msvcrt
            import time

            time.sleep(POLL_S)
            ready = bool(msvcrt.kbhit())
        else:
            ready = bool(select.select([self.descriptor], [], [], POLL_S)[0])
        return ready

    def discard_typed(self) -> None:
        """Discard what was typed before a question was shown: it cannot be the answer to it."""
        if sys.platform != "win32":
            import termios

            with contextlib.suppress(termios.error):  # the terminal has gone; the next read reports it
                termios.tcflush(self.descriptor, termios.TCIFLUSH)
