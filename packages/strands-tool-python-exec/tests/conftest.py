"""What attacks reach for, and the ways a sandbox is put up."""

from __future__ import annotations

import dataclasses
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from strands_tool_python_exec import _engine

# The suite imports by path, so that a module beside the tests has to be put where they find it.
sys.path.insert(0, str(Path(__file__).parent))

from python_exec_calls import PYTHON, SECRET, Outside


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """Listen on every kind of socket, and keep a process to be attacked."""
    folder = tmp_path_factory.mktemp("outside")
    with (
        socket.socket() as tcp,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as stream,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagram,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("STRANDS_TEST_SECRET", SECRET)
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(64)
        udp.bind(("127.0.0.1", 0))
        stream.bind(str(folder / "stream"))
        stream.listen(64)
        abstract.bind("")  # the kernel chooses a name that is not a path
        abstract.listen(64)
        datagram.bind(str(folder / "datagram"))
        with subprocess.Popen([PYTHON, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
            names = {"folder": str(folder), "victim": str(folder / "victim.txt"), "secret": SECRET}
            names |= {"tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1], "pid": process.pid}
            names["abstract"] = abstract.getsockname()
            names |= {"stream": str(folder / "stream"), "datagram": str(folder / "datagram")}
            yield Outside(folder, process=process, names=names)
            process.kill()


@pytest.fixture
def held() -> None:
    """Skip where the engine says that it does not hold."""
    if reason := _engine.verdict().reason:
        pytest.skip(reason)


@pytest.fixture(params=["namespaces", "no-namespaces"])
def every_way(request: pytest.FixtureRequest, held: None, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with what this machine has, and as in a container that has no namespaces to give."""
    found = _engine.verdict()
    if request.param == "no-namespaces":
        monkeypatch.setattr(_engine, "verdict", lambda: dataclasses.replace(found, namespaces=False))
    return str(request.param)
