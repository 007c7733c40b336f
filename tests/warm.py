"""Runs `strands` in processes forked from one that has imported everything: a cold start costs a second of CPU each.

What a command does is the same: a process of its own with its own streams, directory and environment, which ends as
any interpreter does. What only a cold start shows (imports, start-up) has tests of its own, which do not come here.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import fcntl
import gc
import importlib
import importlib.util
import json
import os
import pkgutil
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

STRANDS = str(Path(sys.executable).with_name("strands"))
# What an interpreter reads when it starts, so that a process that runs already cannot take it over.
_AT_START = ("LANG", "LC_", "PYTHON", "TZ")
_TAKEN_OVER = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
# What commands import besides the modules of strands_cli.
_FOREIGN = ("filelock", "jinja2", "jsonschema", "sqlite3", "strands.agent.agent", "strands.models.openai")
# Distributions of the clone that commands use where they are installed.
_DISTRIBUTIONS = (
    "strands_cli_ask",
    "strands_cli_batch",
    "strands_cli_dev",
    "strands_cli_workers",
    "strands_cli_postgres",
    "strands_cli_doctor",
    "strands_cli_index",
    "strands_cli_lsp",
    "strands_cli_migrate",
    "strands_cli_notify",
    "strands_cli_trigger",
    "strands_cli_ui",
)
# The program itself.
_APART = ("strands_cli.__main__",)


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
    process = start_warm(arguments, cwd, environment, given)
    try:
        out, err = process.communicate(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return subprocess.CompletedProcess([STRANDS, *arguments], process.wait(), out, err)


def start_warm(arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], given: str) -> WarmProcess:
    """Start one command with pipes, `given` on its stdin."""
    (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = (os.pipe() for _ in range(3))
    process = _born([STRANDS, *arguments], cwd, environment, [theirs_in, theirs_out, theirs_err])
    # As subprocess does it with an encoding: UTF-8, and every end of a line is "\n".
    process.stdout, process.stderr = (os.fdopen(number, encoding="utf-8") for number in (ours_out, ours_err))
    threading.Thread(target=_write, args=(ours_in, given.encode()), daemon=True).start()
    return process


def start_with(arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], streams: list[int]) -> WarmProcess:
    """Start one command with these streams, which are closed here."""
    return _born([STRANDS, *arguments], cwd, environment, streams)


def start_at_terminal(
    arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], terminal: int
) -> WarmProcess:
    """Start one command whose streams are a terminal, as the first process of a session that has it."""
    streams = [os.dup(terminal) for _ in range(3)]
    return _born([STRANDS, *arguments], cwd, environment, streams, at_terminal=True)


def _born(
    argv: list[str], cwd: Path, environment: Mapping[str, str], streams: list[int], *, at_terminal: bool = False
) -> WarmProcess:
    """Fork a process for a command; the streams are closed here."""
    ours, theirs = os.pipe()
    asked = {"argv": argv, "cwd": str(cwd), "environment": dict(environment), "at_terminal": at_terminal}
    try:
        return WarmProcess(argv, Nursery.of_this_process().bear(asked, [*streams, theirs]), ours)
    finally:
        for descriptor in (*streams, theirs):
            os.close(descriptor)


def _write(descriptor: int, text: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(descriptor, "wb") as stream:
        stream.write(text)


class WarmProcess:
    """A command that was forked, with what the tests use of `subprocess.Popen`."""

    def __init__(self, argv: list[str], pid: int, status: int) -> None:
        self.args = argv
        self.pid = pid
        self.returncode: int | None = None
        self.stdout: IO[str] | None = None
        self.stderr: IO[str] | None = None
        self._status = status

    def fileno(self) -> int:
        """Return the descriptor that can be read when it has ended."""
        return self._status

    def poll(self) -> int | None:
        """Return the exit code, a signal as a negative number; None while it works."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self._end()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self._end()
        assert self.returncode is not None
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Read both streams to their ends, wait, and return what was read."""
        deadline = None if timeout is None else time.monotonic() + timeout
        texts = ["", ""]

        def read(index: int, stream: IO[str]) -> None:
            with stream:
                texts[index] = stream.read()

        streams = [stream for stream in (self.stdout, self.stderr) if stream is not None and not stream.closed]
        threads = [threading.Thread(target=read, args=pair, daemon=True) for pair in enumerate(streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(None if deadline is None else max(0, deadline - time.monotonic()))
            if thread.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(None if deadline is None else max(0, deadline - time.monotonic()))
        return texts[0], texts[1]

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def _end(self) -> None:
        text = os.read(self._status, 4)
        os.close(self._status)
        assert text, "the process that everything is forked from has ended"
        (self.returncode,) = struct.unpack("!i", text)


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

    def bear(self, asked: Mapping[str, Any], descriptors: list[int]) -> int:
        """Fork a process for a command and return its id; its streams and its status are the descriptors."""
        text = json.dumps(asked).encode()
        with self._lock:
            self._socket.sendall(struct.pack("!I", len(text)))
            socket.send_fds(self._socket, [text[:1]], descriptors)
            self._socket.sendall(text[1:])
            return int(struct.unpack("!i", _exactly(self._socket, 4))[0])

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


class Births:
    """What was forked and works, and where the exit code of each goes."""

    def __init__(self) -> None:
        self.statuses: dict[int, int] = {}
        signal.signal(signal.SIGCHLD, self._reap)

    def fork(self, status: int) -> bool:
        """Fork; return whether this is the new process."""
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        if born := os.fork():
            self.statuses[born] = status
        else:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in (*self.statuses.values(), status):
                os.close(descriptor)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        self.newest = born
        return born == 0

    def _reap(self, *_: Any) -> None:
        """Pass on the exit code of each that has ended."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                status = self.statuses.pop(ended[0])
                with contextlib.suppress(BrokenPipeError):
                    os.write(status, struct.pack("!i", os.waitstatus_to_exitcode(ended[1])))
                os.close(status)


def _next_command(connection: socket.socket) -> None:
    """Fork for each command that is asked for; return in the fork, ready to be that command."""
    births = Births()
    while True:
        try:
            (size,) = struct.unpack("!I", _exactly(connection, 4))
        except (EOFError, OSError):
            os._exit(0)
        descriptors = array.array("i")
        first, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_LEN(4 * descriptors.itemsize))
        for _, _, held in ancillary:
            descriptors.frombytes(held[: 4 * descriptors.itemsize])
        asked = json.loads(first + _exactly(connection, size - 1))
        *streams, status = descriptors
        if births.fork(status):
            connection.close()
            _become(asked, streams)
            return
        for descriptor in streams:
            os.close(descriptor)
        connection.sendall(struct.pack("!i", births.newest))


def _become(asked: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Take over what a process gets when it is started."""
    argv, environment = asked["argv"], asked["environment"]
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if asked["at_terminal"]:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - the process's own
    sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = argv
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    here = str(Path(__file__).parent.parent)
    rest = [entry for entry in sys.path if entry not in ("", here)]
    # As an interpreter has them when it begins.
    given = [str(Path.cwd() / entry) for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path[:] = [str(Path(argv[0]).parent), *given, *rest]
    importlib.invalidate_caches()


def _import_everything() -> None:
    """Import every module of strands_cli and what they import when they work, as far as it is installed."""
    for name in (
        *_FOREIGN,
        *_modules_of("strands_cli"),
        *(name for one in _DISTRIBUTIONS for name in _modules_of(one)),
    ):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _modules_of(package: str) -> list[str]:
    """Return the names of all modules of a package, none where it is not installed."""
    if importlib.util.find_spec(package) is None:
        return []
    path = importlib.import_module(package).__path__
    found = pkgutil.walk_packages(path, f"{package}.", onerror=lambda name: None)
    return [module.name for module in found if not module.name.startswith(_APART)]


def _build_models() -> None:
    """Build the models of the workflow format, which a command does with the first file that it reads."""
    from pydantic import BaseModel

    waiting: list[type[BaseModel]] = [BaseModel]
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        if model.__module__.startswith("strands_cli."):
            model.model_rebuild()


def _build_commands() -> None:
    """Build the commands with what reads their options, and the table of prices: a tenth of most commands."""
    from scripts.project_commands import project_commands
    from strands_cli.planning.prices import read_prices

    read_prices({})
    waiting: list[Any] = list(project_commands().values())
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        for parameter in command.params:
            if hasattr(parameter, "get_runtime_param"):
                parameter.get_runtime_param()


def _warm_client() -> None:
    """Let the client load what it loads when it is first used."""
    with contextlib.suppress(ImportError):
        from openai import AsyncOpenAI

        client = AsyncOpenAI(api_key="none", base_url="http://127.0.0.1:9")
        client.chat.completions  # noqa: B018 - a property that imports


class Leaving:
    """The last moment of a command: what an interpreter does afterwards is to take all modules apart.

    For that it writes to most of the memory that the processes share, which then has to be copied: 70 ms of CPU for
    each command, and nothing that a test could see.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        # Called last, since everything else that is to be called is registered later.
        atexit.register(self._leave)

    def run(self, command: Callable[[], None]) -> None:
        """Run the command and note its exit code."""
        try:
            command()
        except SystemExit as ended:
            self.code = ended.code if isinstance(ended.code, int) else None
            raise

    def _leave(self) -> None:
        if self.code is None:
            return
        # What the command has left in circles has its last word.
        gc.collect()
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.code)


def main() -> None:
    """Import everything, then become each command that is asked for."""
    leaving = Leaving()
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    os.environ.setdefault("OPENAI_API_KEY", "none")
    _import_everything()
    _warm_client()
    _build_models()
    _build_commands()
    gc.collect()
    gc.freeze()
    _next_command(socket.socket(fileno=int(sys.argv[1])))
    from strands_cli.cli import main as strands

    if first := os.environ.get("STRANDS_TEST_FIRST"):
        importlib.import_module(first).begin()
    leaving.run(strands)


if __name__ == "__main__":
    main()
