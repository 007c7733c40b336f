"""A folder for PATH whose `strands` is forked as `tests/warm.py` does it: what shells run begins warm too."""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
from pathlib import Path

from tests.warm import STRANDS, WarmProcess, can_be_warm, start_with

# What is answered instead of an exit code where the command has to begin cold.
COLD = 1000
# Hands its streams on and ends as the command does; a signal that can be passed on is.
PROGRAM = f"""#!{sys.executable} -IS
import _signal, _socket, array, marshal, os, sys
asked = marshal.dumps((sys.argv[1:], os.getcwd(), dict(os.environ)))
link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
link.connect(os.path.join(os.path.dirname(os.path.abspath(__file__)), "socket"))
streams = array.array("i", [0, 1, 2])
link.sendmsg([len(asked).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
link.sendall(asked)
for number in (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM):
    _signal.signal(number, lambda number, _: link.sendall(bytes([number])))
code = int.from_bytes(link.recv(4), "big", signed=True)
if code == {COLD}:
    os.execv({STRANDS!r}, [{STRANDS!r}, *sys.argv[1:]])
if code < 0:
    _signal.signal(-code, _signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


class WarmPrograms:
    """The folder, as a context manager, and what answers its program.

    Attributes:
        folder: To be the first on PATH.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="warm-"))
        program = self.folder / "strands"
        program.write_text(PROGRAM, encoding="utf-8")
        program.chmod(0o755)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(self.folder / "socket"))

    def __enter__(self) -> WarmPrograms:
        self._socket.listen()
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        # Also wakes the thread that waits for the next one.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        shutil.rmtree(self.folder)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                link, _ = self._socket.accept()
                threading.Thread(target=_answer, args=(link,), daemon=True).start()


def _answer(link: socket.socket) -> None:
    """Fork a command, and answer its exit code."""
    with link:
        size, streams, _, _ = socket.recv_fds(link, 4, 3)
        asked = link.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        arguments, cwd, environment = marshal.loads(asked)
        if can_be_warm([STRANDS], environment):
            code = _end_of(start_with(arguments, Path(cwd), environment, streams), link)
        else:
            code = COLD
            for descriptor in streams:
                os.close(descriptor)
        with contextlib.suppress(OSError):
            link.sendall(code.to_bytes(4, "big", signed=True))


def _end_of(process: WarmProcess, link: socket.socket) -> int:
    """Return how it ended; signals of the program are passed on, and without the program it is killed."""
    while process.poll() is None:
        if link in select.select([link, process], [], [])[0]:
            number = link.recv(1)
            process.send_signal(number[0] if number else signal.SIGKILL)
            if not number:
                break
    return process.wait()
