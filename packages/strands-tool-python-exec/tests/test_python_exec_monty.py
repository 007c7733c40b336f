"""The engine `monty`: the same answers for what it can run, and words for what it cannot."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from python_exec_calls import Outside, call, plain, refusal

from strands_tool_python_exec import _engine, _monty, engines

pytest.importorskip("pydantic_monty")
MONTY = {"engine": "monty"}


def monty(code: str, *, config: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    return call(code, config=MONTY | (config or {}), **given)


def test_the_answer_has_the_shape_of_the_other_engine() -> None:
    answer = monty("print(1)\n[1, {'a': 2.5}]")
    assert answer == {
        "stdout": "1\n",
        "stderr": "",
        "result": [1, {"a": 2.5}],
        "engine": "monty",
        "layers": _monty.LAYERS,
        "limits_hit": [],
    }


@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        ("x = 1\n\n1 / 0", "ZeroDivisionError", 3),
        ("x = (", "SyntaxError", 1),
        ("raise ValueError('a')", "ValueError", 1),
    ],
)
def test_an_error_names_its_type_and_the_line_of_the_code(code: str, kind: str, line: int) -> None:
    answer = monty(code)
    assert (answer["error"]["type"], answer["error"]["line"]) == (kind, line)
    assert kind in answer["stderr"]


@pytest.mark.parametrize("code", ["def g():\n    yield 1", "x = 1\ndel x", "import numpy", "import os\nos.getpid()"])
def test_what_it_cannot_do_is_reported(code: str) -> None:
    assert "'monty'" in monty(code)["error"]["message"]


def test_files_go_in_and_come_out_by_name() -> None:
    code = "from pathlib import Path\nPath('b.txt').write_text(open('a.txt').read().upper())\n"
    code += "Path('b.bin').write_bytes(Path('a.bin').read_bytes() + b'\\xfe')"
    answer = monty(code, files={"a.txt": "grüße"}, files_base64={"a.bin": "/w=="})
    assert answer["files"] == {"b.txt": "GRÜSSE"}
    assert answer["files_base64"] == {"b.bin": "//4="}
    assert "error" in monty("open('b.txt').read()"), "nothing is kept"


def test_files_come_out_where_directories_have_no_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "supports_fd", set())
    code = "open('a', 'w').write('x')\nopen('b', 'w').write('y' * 3000)"
    answer = monty(code, config={"max_output_bytes": 2048})
    assert answer["files"] == {"a": "x"}
    assert "'b'" in "".join(answer["notices"])
    assert len(answer["notices"]) == 1


LIMITS = {
    "loop": ("while True: pass", "wall_time"),
    "sort": ("while True: sorted(range(100000))", "wall_time"),
    "bytes": ("'x' * (1 << 30)", "memory"),
    "power": ("9 ** 9 ** 9", "memory"),
    "growing": ("parts = []\nwhile True: parts.append('x' * 1000000 + str(len(parts)))", "memory"),
    "lines": ("while True: print('x' * 10000)", "output"),
    "one-line": ("print('x' * 50000000)", "output"),
    "files": ("for n in range(100):\n    with open(f'f{n}', 'wb') as f: f.write(b'x' * 100000)", "disk"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_there_is_an_end(name: str) -> None:
    code, limit = LIMITS[name]
    answer = monty(code, timeout=0.5 if limit == "wall_time" else 300, config={"memory_mb": 128, "disk_mb": 1})
    assert limit in answer["limits_hit"], answer
    assert len(answer["stdout"]) <= 65_536


def test_a_sleep_ends_at_once_because_nothing_could_end_it() -> None:
    # The first of its naps alone would take longer than the limit.
    assert monty("import time\nfor _ in range(50): time.sleep(600)\nprint('slept')", timeout=120)["stdout"] == "slept\n"


def test_the_worker_is_killed_where_its_own_clock_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped, it keeps no clock; the deadlines on this side do."""
    stopped: list[int] = []
    session = _monty.open_session

    class Stopping:
        def __init__(self, found: Any) -> None:
            self.found = found
            self.worker_pid = found.worker_pid

        def feed_run(self, *args: Any, **kwargs: Any) -> Any:
            stopped.append(self.worker_pid)
            os.kill(self.worker_pid, signal.SIGSTOP)
            return self.found.feed_run(*args, **kwargs)

    @contextlib.contextmanager
    def stopping(*args: Any) -> Iterator[Stopping]:
        with session(*args) as found:
            yield Stopping(found)

    monkeypatch.setattr(_monty, "open_session", stopping)
    assert monty("while True: pass", timeout=0.3)["limits_hit"] == ["wall_time"]
    assert stopped


def test_a_cancelled_call_ends_at_once() -> None:
    cancel = threading.Event()
    timer = threading.Timer(0.2, cancel.set)
    timer.start()
    error = refusal({"cancel": cancel, "config": {**MONTY, "timeout_s": 300}}, code="while True: pass")
    assert error["code"] == "cancelled"
    timer.join()


ATTACKS = {
    "language-subclass-walk": "object.__subclasses__()",
    "language-globals": "(lambda: 0).__globals__['__builtins__']",
    "language-frames": "import sys\nsys._getframe().f_back",
    "language-import": "__import__('os').system('true')",
    "language-ctypes": "import ctypes",
    "files-read": "open(victim).read()",
    "files-append": "open(victim, 'a').write('x')",
    "files-create": "open(folder + '/new.txt', 'w').close()",
    "files-climb": "open('../../../../../../..' + victim).read()",
    "files-unlink": "import os\nos.unlink(victim)",
    "files-link": "import os\nos.symlink(victim, 'link')\nopen('link').read()",
    "files-list": "import os\nos.listdir(folder)",
    "environment-variables": "import os\nos.environ['PATH']",
    "environment-getenv": "import os\nos.getenv('PATH') + ''",
    "environment-proc": "open('/proc/self/environ').read()",
    "network-tcp": "import socket\nsocket.create_connection(('127.0.0.1', tcp))",
    "network-asyncio": "import asyncio\nasyncio.open_connection",
    "network-http": "import urllib.request",
    "processes-fork": "import os\nos.fork()",
    "processes-system": "import os\nos.system('true')",
    "processes-subprocess": "import subprocess",
    "signals-kill": "import os\nos.kill(pid, 0)",
    "signals-parent": "import os\nos.kill(os.getppid(), 0)",
    "signals-module": "import signal",
    "kernel-limits": "import resource",
    "kernel-mmap": "import mmap",
    "kernel-memory": "import gc\ngc.get_objects()",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_an_error_and_changes_nothing(name: str, outside: Outside) -> None:
    outside.reset()
    values = "".join(f"{word} = {value!r}\n" for word, value in outside.names.items())
    answer = monty(f"{values}{ATTACKS[name]}\nprint('ESCAPED')")
    assert "ESCAPED" not in answer["stdout"], answer
    assert answer["error"]["type"]
    assert outside.is_unchanged()


@pytest.mark.parametrize("name", ATTACKS)
def test_a_plain_child_process_lets_it_out(name: str, outside: Outside, tmp_path: Path) -> None:
    outside.reset()
    values = "".join(f"{word} = {value!r}\n" for word, value in outside.names.items())
    done = plain(f"{values}{ATTACKS[name]}\nprint('ESCAPED')", tmp_path)
    assert b"ESCAPED" in done.stdout, done.stderr.decode()


@pytest.mark.parametrize("code", ["def f(): f()\nf()", "[" * 3000])
def test_depth_is_an_error(code: str) -> None:
    assert monty(code)["error"]["type"] in ("RecursionError", "SyntaxError", "Killed", "MemoryError")


def test_packages_need_the_other_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "listed.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    error = refusal({"config": {**MONTY, "packages": ["listed"]}}, code="1")
    assert (error["code"], error["details"]["reason"]) == ("unavailable", "package")
    assert "locked-cpython" in error["message"]


def test_auto_takes_it_where_the_first_engine_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = _engine.Verdict(reason="REASON 1")
    monkeypatch.setattr(_engine, "verdict", lambda: verdict)
    assert call("6 * 7")["engine"] == "monty"
    error = refusal({"config": {"engine": "locked-cpython"}}, code="6 * 7")
    assert "REASON 1" in error["message"]
    assert [engine["available"] for engine in engines.engines()] == [False, True]
    assert set(engines.engines()[0]["layers"].values()) == {"not available"}


def test_its_self_test_sees_an_interpreter_that_lets_a_file_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_monty, "PROBES", (*_monty.PROBES, "len({!r})"))
    assert _monty.reason.__wrapped__() == "monty does not hold here: len({!r})"


def test_a_worker_that_cannot_be_started_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONTY_BIN", "/nowhere/monty")
    assert "/nowhere/monty" in _monty.reason.__wrapped__()


def test_another_version_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pydantic_monty.__version__", "9.9")
    assert _monty.reason.__wrapped__() == "pydantic-monty 1.4.0 is needed, 9.9 is installed"


def test_no_worker_stays() -> None:
    monty("1")
    children = Path("/proc/self/task").glob("*/children")
    names = [Path("/proc", pid, "comm").read_text() for file in children for pid in file.read_text().split()]
    assert "monty\n" not in names
