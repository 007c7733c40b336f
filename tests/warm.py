"""Runs `strands` in processes forked from one that has imported everything: a cold start costs a second of CPU each.

What a command does is the same: a process of its own with its own streams, directory and environment, which ends as
any interpreter does. What only a cold start shows (imports, start-up) has tests of its own, which do not come here.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

STRANDS = str(Path(sys.executable).with_name("strands"))
# What an interpreter reads when it starts, so that a process that runs already cannot take it over.
_AT_START = ("LANG", "LC_", "PYTHON", "TZ")
_TAKEN_OVER = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
_MODULES = (
    "strands_cli.cli.program",
    "strands_cli.api",
    "strands_cli.engine.new_journal",
    "strands_cli.engine.stored_secrets",
    "strands_cli.planning.installation",
    "strands_cli.agents.assembly",
    "strands_cli.cli.commands.resume_command",
    "strands_cli.cli.commands.continuation",
    "jinja2",
    "jsonschema",
    "sqlite3",
    "strands.models.openai",
    "strands_cli.tools.mcp.toolset",
    "strands_cli.tools.mcp.stdio_transport",
)


def can_be_warm(command: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Return whether a command is `strands` under settings that a running interpreter can still take over."""
    if command[0] != STRANDS or not hasattr(os, "fork"):
        return False
    return all(
        name in _TAKEN_OVER or value == os.environ.get(name)
        for name, value in environment.items()
        if name.startswith(_AT_START)
    )


def run_warm(
    arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], given: str, seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run one command and wait for its end, as `subprocess.run` does.

    Raises:
        subprocess.TimeoutExpired: it took too long and was killed.
    """
    nursery = Nursery.of_this_process()
    pipes = [os.pipe() for _ in range(3)]
    (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = pipes
    try:
        born = nursery.bear([STRANDS, *arguments], cwd, environment, [theirs_in, theirs_out, theirs_err])
    finally:
        for descriptor in (theirs_in, theirs_out, theirs_err):
            os.close(descriptor)
    texts: list[bytes] = [b"", b""]
    threads = [
        threading.Thread(target=_read, args=(descriptor, texts, index), daemon=True)
        for index, descriptor in enumerate((ours_out, ours_err))
    ]
    threads.append(threading.Thread(target=_write, args=(ours_in, given.encode()), daemon=True))
    for thread in threads:
        thread.start()
    code = nursery.wait(born, seconds)
    if code is None:
        raise subprocess.TimeoutExpired([STRANDS, *arguments], seconds)
    for thread in threads:
        thread.join(seconds)
    out, err = (io.TextIOWrapper(io.BytesIO(text), "utf-8").read() for text in texts)
    return subprocess.CompletedProcess([STRANDS, *arguments], code, out, err)


def _read(descriptor: int, texts: list[bytes], index: int) -> None:
    with open(descriptor, "rb") as stream:
        texts[index] = stream.read()


def _write(descriptor: int, text: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(descriptor, "wb") as stream:
        stream.write(text)


class Nursery:
    """The process that everything is forked from, one for each process that runs tests."""

    _known: ClassVar[dict[int, Nursery]] = {}

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm", str(theirs.fileno())],
            cwd=Path(__file__).parent.parent,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        self._lock = threading.Lock()
        atexit.register(self.close)

    @classmethod
    def of_this_process(cls) -> Nursery:
        """Return the one that this process has, started when it is first asked for."""
        if os.getpid() not in cls._known:
            cls._known[os.getpid()] = cls()
        return cls._known[os.getpid()]

    def bear(self, argv: list[str], cwd: Path, environment: Mapping[str, str], streams: list[int]) -> int:
        """Fork a process for a command, and return its id; one at a time, until `wait` has its end."""
        self._lock.acquire()
        try:
            text = json.dumps({"argv": argv, "cwd": str(cwd), "environment": dict(environment)}).encode()
            self._socket.sendall(struct.pack("!I", len(text)))
            socket.send_fds(self._socket, [text[:1]], streams)
            self._socket.sendall(text[1:])
            return struct.unpack("!i", _exactly(self._socket, 4))[0]
        except BaseException:
            self._lock.release()
            raise

    def wait(self, born: int, seconds: float) -> int | None:
        """Return the exit code, or None where the process had to be killed; a signal is a negative number."""
        killed = threading.Event()

        def kill() -> None:
            killed.set()
            with contextlib.suppress(ProcessLookupError):
                os.kill(born, signal.SIGKILL)

        timer = threading.Timer(seconds, kill)
        timer.daemon = True
        timer.start()
        try:
            code = struct.unpack("!i", _exactly(self._socket, 4))[0]
        finally:
            timer.cancel()
            self._lock.release()
        return None if killed.is_set() else code

    def close(self) -> None:
        """End it."""
        self._socket.close()
        self._process.wait()


def _exactly(connection: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        part = connection.recv(size - len(got))
        if not part:
            raise EOFError("the other side is gone")
        got += part
    return got


def _next_command(connection: socket.socket) -> None:
    """Fork for each command that is asked for; return in the fork, ready to be that command."""
    while True:
        try:
            (size,) = struct.unpack("!I", _exactly(connection, 4))
        except (EOFError, OSError):
            os._exit(0)
        streams = array.array("i")
        first, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_LEN(3 * streams.itemsize))
        for _, _, held in ancillary:
            streams.frombytes(held[: 3 * streams.itemsize])
        asked = json.loads(first + _exactly(connection, size - 1))
        born = os.fork()
        if born == 0:
            connection.close()
            _become(asked["argv"], asked["cwd"], asked["environment"], list(streams))
            return
        for descriptor in streams:
            os.close(descriptor)
        connection.sendall(struct.pack("!i", born))
        _, status = os.waitpid(born, 0)
        connection.sendall(struct.pack("!i", os.waitstatus_to_exitcode(status)))


def _become(argv: list[str], cwd: str, environment: dict[str, str], streams: list[int]) -> None:
    """Take over what a process gets when it is started."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - the process's own
    sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = argv
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    here = str(Path(__file__).parent.parent)
    rest = [entry for entry in sys.path if entry not in ("", here)]
    given = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path[:] = [str(Path(argv[0]).parent), *given, *rest]
    importlib.invalidate_caches()


def _warm_client() -> None:
    """Let the client load what it loads when it is first used."""
    with contextlib.suppress(ImportError):
        from openai import AsyncOpenAI

        client = AsyncOpenAI(api_key="none", base_url="http://127.0.0.1:9")
        client.chat.completions  # noqa: B018 - a property that imports


def main() -> None:
    """Import everything, then become each command that is asked for."""
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    os.environ.setdefault("OPENAI_API_KEY", "none")
    for name in _MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    _warm_client()
    gc.collect()
    gc.freeze()
    _next_command(socket.socket(fileno=int(sys.argv[1])))
    from strands_cli.cli import main as strands

    strands()


if __name__ == "__main__":
    main()
