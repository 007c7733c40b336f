"""Command lines of `strands` as child processes, which go on when the page ends."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

# The end of a child's stderr that a page shows, in bytes.
SHOWN = 20_000
# The most children remembered after their end.
KEPT = 200


@dataclass(slots=True)
class Child:
    """One command line that was started.

    Attributes:
        number: By which a page names it.
        words: The arguments after `strands`.
        pid: The number of its process.
        code: Its exit code; None while it works.
        stderr: The end of its stderr.
        ended: Is set at its end.
    """

    number: int
    words: tuple[str, ...]
    pid: int
    code: int | None = None
    stderr: str = ""
    ended: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float) -> int | None:
        """Return the exit code; None where it works longer than that."""
        self.ended.wait(seconds)
        return self.code


class Children:
    """The children of this process; each is waited for in a thread of its own, so that none stays as a zombie.

    Args:
        folder: Where they work.
        store: The address of the store of runs, which may contain a password and so is in no command line; empty where
            the runs are in a directory.
    """

    def __init__(self, folder: Path, store: str = "") -> None:
        self._folder = folder
        self._environ = {name: value for name, value in os.environ.items() if not store or name != "STRANDS_RUNS_DIR"}
        self._environ |= {"STRANDS_STORE": store} if store else {}
        self._numbers = itertools.count(1)
        self._children: dict[int, Child] = {}
        self._guard = threading.Lock()

    def start(self, words: Sequence[str], text: str | None = None) -> Child:
        """Start `strands` with these arguments, in no shell.

        Args:
            words: The arguments; text of a person is none of them.
            text: The text that it reads from stdin.
        """
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 - the thread closes it
        # -P: the folder is not a place to import from. A session of its own: Ctrl-C at the page does not end a run.
        process = subprocess.Popen(  # noqa: S603 - our own program, and checked arguments
            [sys.executable, "-P", "-m", "strands_cli", *words],
            cwd=self._folder,
            env=self._environ,
            stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
        with self._guard:
            child = Child(next(self._numbers), tuple(words), process.pid)
            self._children[child.number] = child
            for old in [number for number, child_of in self._children.items() if child_of.code is not None][:-KEPT]:
                del self._children[old]
        threading.Thread(target=_attend, args=(child, process, stderr, text), daemon=True).start()
        return child

    def get(self, number: int) -> Child | None:
        """Return a child by its number."""
        return self._children.get(number)


def _attend(child: Child, process: subprocess.Popen[bytes], stderr: IO[bytes], text: str | None) -> None:
    """Give a child its text, wait for its end, and read its stderr."""
    with stderr:
        if process.stdin is not None:
            with contextlib.suppress(OSError):  # it has ended without reading
                process.stdin.write((text or "").encode())
            with contextlib.suppress(OSError):
                process.stdin.close()
        code = process.wait()
        size = stderr.seek(0, os.SEEK_END)
        stderr.seek(max(0, size - SHOWN))
        child.stderr = stderr.read().decode(errors="replace")
    child.code = code
    child.ended.set()
