"""One sandbox: a locked process that waits for the one program it will run, and everything that belongs to it."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import json
import marshal
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strands_tool_python_exec import _scratch, _seccomp

_PACKAGE = __name__.rpartition(".")[0]
# The modules of the child, in the order in which it imports them.
_PARTS = ("_landlock", "_layers", "_child")
_BOOT = """
import marshal, posix, sys
channel = int(sys.argv[1])
def take(size):
    data = b""
    while len(data) < size:
        data += posix.read(channel, size - len(data)) or posix._exit(1)
    return data
for name, code in marshal.loads(take(int.from_bytes(take(8), "big"))):
    module = sys.modules[name] = type(sys)(name)
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, module)
        exec(code, module.__dict__)
module.serve(channel)
"""
_MAX_FIRST_MESSAGE = 4096


# Those whose process may be alive.
_alive: set[Sandbox] = set()


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings locked in before the program is known; sandboxes of equal settings replace each other."""

    memory_mb: int
    disk_mb: int
    machine: str
    readable: tuple[str, ...]
    listable: tuple[str, ...]
    import_from: tuple[str, ...]
    namespaces: bool


@dataclass(slots=True, eq=False)
class Sandbox:
    """A started sandbox; its owner must end it.

    Attributes:
        layers: The layers in force; None until it reports so, and if it refuses.
        refused: Why it refuses.
        exited: A descriptor, readable when the process has ended.
        scratch: A descriptor of its current directory, -1 until it has sent one.
    """

    settings: Settings
    folder: Path
    lock: int
    process: subprocess.Popen[bytes]
    channel: socket.socket
    exited: int = -1
    layers: dict[str, str] | None = None
    refused: str = ""
    scratch: int = -1

    @classmethod
    def start(cls, settings: Settings) -> Sandbox:
        """Start one, without waiting for it.

        The kernel kills it when the calling thread ends, so that it must not outlive that thread.

        Raises:
            OSError: The process cannot be started.
        """
        folder, lock = _scratch.make()
        try:
            ours, theirs = socket.socketpair()
            with theirs:
                process = _start(str(folder), theirs.fileno())
        except BaseException:
            _scratch.remove(folder)
            _scratch.unlock(lock)
            raise
        sandbox = cls(settings, folder, lock, process, ours)
        _alive.add(sandbox)
        try:
            sandbox.exited = os.pidfd_open(process.pid)
        except OSError:
            sandbox.end()
            raise
        with contextlib.suppress(BrokenPipeError):  # it has died at once; the caller that waits for it sees that
            ours.sendall(_framed(program()) + _framed(sandbox._packed_setup()))
        return sandbox

    def _packed_setup(self) -> bytes:
        settings = self.settings
        names = ("memory_mb", "disk_mb", "machine", "readable", "listable", "import_from", "namespaces")
        setup: dict[str, Any] = {name: getattr(settings, name) for name in names}
        setup |= {"parent": os.getpid(), "scratch": str(self.folder)}
        setup["filter"] = _seccomp.program(settings.machine, self.process.pid)
        return marshal.dumps(setup)

    def read_first(self) -> bytes:
        """Read the sandbox's first message; return the bytes after it, none unless something is wrong.

        Raises:
            ConnectionError: It is gone.
        """
        chunk, descriptors, _, _ = socket.recv_fds(self.channel, _MAX_FIRST_MESSAGE, 1)
        self.scratch = descriptors[0] if descriptors else -1
        first, _, rest = chunk.partition(b"\n")
        report: dict[str, Any] = json.loads(first) if first else {"refused": "its process ended before it was locked"}
        self.refused = report.get("refused", "")
        self.layers = report.get("layers")
        return rest

    def is_waiting(self) -> bool:
        """Return whether it is locked and alive."""
        return self.layers is not None and self.process.poll() is None

    def end(self) -> int:
        """Kill the rest of it, reap, and remove everything of it but `scratch`; return its status."""
        self.kill()
        self.process.wait()
        _alive.discard(self)
        _scratch.remove(self.folder)
        self._close()
        return self.process.returncode

    def kill(self) -> None:
        """Kill the rest of it."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def discard(self) -> None:
        """End it, unused."""
        self.end()
        if self.scratch >= 0:
            os.close(self.scratch)

    def forget(self) -> None:
        """Let go of it in a process that was forked from its parent, whose it remains."""
        self.process.returncode = 0
        self._close()
        if self.scratch >= 0:
            os.close(self.scratch)

    def _close(self) -> None:
        self.channel.close()
        if self.exited >= 0:
            os.close(self.exited)
        _scratch.unlock(self.lock)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def _kill_rest() -> None:
    """At the end of the process, kill those of threads that it leaves behind, before their folders are removed."""
    for sandbox in list(_alive):
        sandbox.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            sandbox.process.wait(1)


atexit.register(_kill_rest)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alive.clear)


def _start(scratch: str, channel: int) -> subprocess.Popen[bytes]:
    python = getattr(sys, "_base_executable", None) or sys.executable
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "HOME": scratch, "TMPDIR": scratch}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.Popen(  # noqa: S603 - our own interpreter and program
        [python, "-I", "-S", "-B", "-X", "utf8", "-c", _BOOT, str(channel)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=scratch,
        env={**environment, **threads},
        pass_fds=(channel,),
        start_new_session=True,
    )


@functools.cache
def program() -> bytes:
    """Return the child's modules as compiled code: a bare interpreter would compile them at each start."""
    loaded: list[tuple[str, Any]] = [(_PACKAGE, None)]
    for part in _PARTS:
        name = f"{_PACKAGE}.{part}"
        spec = importlib.util.find_spec(name)
        loader: Any = spec.loader if spec is not None else None
        loaded.append((name, loader.get_code(name)))
    return marshal.dumps(loaded)


def framed(values: Any) -> bytes:
    """Return a message for the child, which trusts this side."""
    return _framed(marshal.dumps(values))


def _framed(message: bytes) -> bytes:
    return len(message).to_bytes(8, "big") + message
