"""Run a program with a message on its standard input, without a shell and with a time limit."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from strands_cli_notify.targets import Command
from strands_cli_notify.webhook import NotSent

_MOST_SHOWN = 200


class Programs:
    """The programs that run; when they are ended, none can be added any more."""

    def __init__(self) -> None:
        self._running: set[int] = set()
        self._is_over = False
        self._lock = threading.Lock()

    def add(self, process: int) -> None:
        """Take a program by the number of its process; end it at once if it comes too late."""
        with self._lock:
            self._running.add(process)
            if self._is_over:
                _end(process)

    def remove(self, process: int) -> None:
        """Forget an ended program, before another one can get its number."""
        with self._lock:
            self._running.discard(process)

    def end(self) -> None:
        """End all that run, with their child processes."""
        with self._lock:
            self._is_over = True
            for process in self._running:
                _end(process)


def run_program(command: Command, facts: Mapping[str, str], body: bytes, seconds: float, programs: Programs) -> None:
    """Run a program of the user with the message on its standard input; its stdout is dropped.

    Args:
        command: The program and its arguments; a relative path begins in its folder.
        facts: Additional variables of its environment.
        seconds: How long it may take; then it ends with all of its child processes.
        programs: Has it while it runs, for a caller that cannot wait for it.

    Raises:
        NotSent: It cannot be run, did not end in time, or ended with another code than 0.
    """
    program = _path_of(command.argv[0], command.folder)
    # Files, not pipes: a program that reads nothing, or whose child processes stay, must not block.
    with tempfile.TemporaryFile() as message, tempfile.TemporaryFile() as errors:
        message.write(body)
        message.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - the user names the program
                [program, *command.argv[1:]],
                cwd=command.folder,
                env={**os.environ, **facts},
                stdin=message,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            raise NotSent(f"it cannot be run: {error.strerror or error}") from None
        programs.add(process.pid)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            _end(process.pid)
            process.wait()
            raise NotSent("it did not end in time") from None
        finally:
            programs.remove(process.pid)
        if code != 0:
            errors.seek(0)
            text = " ".join(errors.read(4 * _MOST_SHOWN).decode(errors="replace").split())
            raise NotSent(f"it ended with {code}" + (f": {_visible(text[:_MOST_SHOWN])}" if text else ""))


def _end(process: int) -> None:
    """End a process that leads its session, and its child processes where the system has groups of processes."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            os.kill(process, signal.SIGTERM)
        else:
            os.killpg(process, signal.SIGKILL)


def _visible(text: str) -> str:
    """Return a text with every character escaped on which a terminal could act."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _path_of(program: str, folder: Path) -> str:
    """Return the path of a program; a relative entry of PATH would be a folder of whatever workflow runs."""
    named = os.path.expanduser(program)  # noqa: PTH111 - a bare name stays one
    if os.path.dirname(named):  # noqa: PTH120 - as above
        named = str(folder / named)
    entries = [entry for entry in os.get_exec_path() if os.path.isabs(entry)]  # noqa: PTH117 - a text
    path = shutil.which(named, path=os.pathsep.join(entries))
    if path is None:
        raise NotSent("the program is not found, or may not be run")
    return path
