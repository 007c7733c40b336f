"""Sandboxes that are started ahead: used once, as closed as a fresh one, and gone with their parent."""

from __future__ import annotations

import dataclasses
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from python_exec_calls import PYTHON, call, started_ahead

import strands_tool_kit
from strands_tool_python_exec import _engine
from strands_tool_python_exec._pool import POOL
from strands_tool_python_exec.python_exec import close

SOURCES = [str(Path(str(package.__file__)).parent.parent) for package in (_engine, strands_tool_kit)]
pytestmark = pytest.mark.usefixtures("held")
PROLOGUE = f"""
import os, sys, time
sys.path[:0] = {SOURCES!r}
from strands_tool_python_exec import _engine
found = _engine.Verdict(**NAMED)
_engine.verdict = lambda: found
from strands_tool_python_exec._pool import POOL
from strands_tool_python_exec.python_exec import python_exec
def call(code):
    return python_exec({{"toolUseId": "u", "input": {{"code": code}}}})["content"][-1]["json"]
def spare():
    while not POOL.spares: time.sleep(0.005)
    return POOL.spares[0]
"""


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    close()
    yield
    close()


def program(code: str) -> list[str]:
    named = dataclasses.asdict(_engine.verdict())
    return [PYTHON, "-I", "-S", "-B", "-c", PROLOGUE.replace("NAMED", repr(named)) + code]


def descriptors_now() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def ends(process: int, within: float = 120) -> bool:
    """Return whether a process, which need not be a child, ends in time."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], within)[0])
    finally:
        os.close(descriptor)


def test_after_a_call_one_sandbox_waits_for_the_next() -> None:
    call("1")
    waiting = started_ahead()
    first = waiting.process.pid
    assert call("import os\nos.getpid()")["result"] == first
    assert started_ahead().process.pid != first


def test_what_waits_is_locked_already(every_way: str) -> None:
    call("1")
    status = Path(f"/proc/{started_ahead().process.pid}/status").read_text()
    said = dict(line.split(":\t", 1) for line in status.splitlines())
    assert (said["CapPrm"], said["CapEff"]) == ("0" * 16, "0" * 16)
    assert (said["NoNewPrivs"], said["Seccomp"].strip()) == ("1", "2")


def test_nothing_of_one_call_reaches_the_next() -> None:
    call("1")
    for turn in range(3):
        started_ahead()
        answer = call(
            "import builtins, os, sys\n"
            "found = [sorted(os.listdir()), hasattr(builtins, 'left'), 'LEFT' in os.environ, 'left' in sys.modules]\n"
            "open('left', 'w').close(); builtins.left = 1; os.environ['LEFT'] = '1'; sys.modules['left'] = sys\n"
            f"open('/dev/shm/left{turn}', 'w') if os.access('/dev/shm', os.W_OK) and 0 else found"
        )
        assert answer["result"] == [[], False, False, False]


def test_the_limits_are_those_of_the_call_and_not_of_the_start() -> None:
    code = "import resource\n[resource.getrlimit(getattr(resource, n)) for n in ('RLIMIT_CPU', 'RLIMIT_AS')]"
    for timeout in (3, 7):
        for _ in range(2):
            assert call(code, timeout=timeout)["result"] == [[timeout, timeout + 1], [512 << 20, 512 << 20]]
            started_ahead()


def test_time_that_was_waited_is_not_the_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    call("1")
    started_ahead()
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + 3600)
    assert call("6 * 7", timeout=60)["result"] == 42
    started_ahead()
    assert call("while True: pass", timeout=0.3)["limits_hit"] == ["wall_time"]


def test_a_sandbox_of_other_limits_is_not_lent() -> None:
    call("1", config={"memory_mb": 512})
    waiting = started_ahead()
    answer = call(
        "import os, resource\n[os.getpid(), resource.getrlimit(resource.RLIMIT_AS)[0]]", config={"memory_mb": 300}
    )
    assert answer["result"][0] != waiting.process.pid
    assert answer["result"][1] == 300 << 20


def test_calls_at_once_have_a_sandbox_each() -> None:
    call("1")
    started_ahead()
    answers: list[int] = []
    code = "import os, time\ntime.sleep(0.05)\nos.getpid()"
    threads = [threading.Thread(target=lambda: answers.append(call(code)["result"])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(answers)) == 4
    assert len(POOL.spares) <= 2


def test_a_sandbox_outlives_the_thread_of_the_call_that_wanted_it() -> None:
    """The kernel's parent-death signal is sent when a thread ends."""
    thread = threading.Thread(target=call, args=("1",))
    thread.start()
    thread.join()
    waiting = started_ahead()
    assert not ends(waiting.process.pid, within=0.1)
    assert call("import os\nos.getpid()")["result"] == waiting.process.pid


def test_a_call_succeeds_where_no_thread_can_be_had_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        assert call("6 * 7")["result"] == 42
    assert call("6 * 7")["result"] == 42
    assert started_ahead()


def test_a_sandbox_that_was_killed_is_not_lent() -> None:
    call("1")
    waiting = started_ahead()
    os.kill(waiting.process.pid, signal.SIGKILL)
    assert ends(waiting.process.pid)
    assert call("6 * 7")["result"] == 42


def test_closing_leaves_no_process_thread_descriptor_or_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    descriptors = descriptors_now()
    call("1")
    waiting = started_ahead()
    close()
    assert ends(waiting.process.pid, within=0)
    assert list(tmp_path.iterdir()) == []
    assert descriptors_now() == descriptors
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("python-exec")]


def test_a_call_that_ends_after_closing_starts_nothing() -> None:
    thread = threading.Thread(target=call, args=("import time\ntime.sleep(1)",))
    call("1")
    started_ahead()
    thread.start()
    while not POOL.in_use:
        select.select([], [], [], 0.005)
    close()
    thread.join()
    assert not POOL.is_asked
    assert POOL.spares == ()
    assert call("6 * 7")["result"] == 42


@pytest.mark.kills
@pytest.mark.parametrize("way", ["waiting", "running"])
def test_a_sandbox_dies_with_its_parent(way: str, tmp_path: Path, every_way: str) -> None:
    """A real SIGKILL of the parent."""
    running = "import threading\nthreading.Thread(target=call, args=('while True: pass',)).start()\n"
    code = (
        "call('1')\npid = spare().process.pid\n"
        + (running if way == "running" else "")
        + "while POOL.spares and THREADS: time.sleep(0.005)\n".replace("THREADS", str(way == "running"))
        + "print(pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(program(code), stdout=subprocess.PIPE, env={"TMPDIR": str(tmp_path)}) as parent:
        assert parent.stdout is not None
        process = int(parent.stdout.readline())
        assert not ends(process, within=0)
        os.kill(parent.pid, signal.SIGKILL)
        assert ends(process)


def test_what_a_killed_program_left_is_removed_by_the_next_and_what_is_in_use_is_not(tmp_path: Path) -> None:
    code = "call('1')\nprint(spare().folder, flush=True)\ntime.sleep(60)"
    environment = {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(program(code), stdout=subprocess.PIPE, env=environment) as alive:
        with subprocess.Popen(program(code), stdout=subprocess.PIPE, env=environment) as killed:
            assert alive.stdout is not None
            assert killed.stdout is not None
            folders = [Path(parent.stdout.readline().decode().strip()) for parent in (alive, killed)]
            killed.kill()
        young, old = tmp_path / ".python-exec-young", tmp_path / ".python-exec-old"
        for folder in (young, old):
            folder.mkdir()
        os.utime(old, (0, 0))
        subprocess.run(program("call('1')"), env=environment, check=True)
        assert sorted(tmp_path.iterdir()) == sorted([folders[0], young])
        alive.kill()


@pytest.mark.kills
@pytest.mark.parametrize("way", ["exit", "interrupt", "raise", "terminated"])
def test_whatever_way_a_program_ends_no_sandbox_and_no_folder_stays(way: str, tmp_path: Path) -> None:
    last = {
        "exit": "",
        "interrupt": "os.kill(os.getpid(), 2); time.sleep(60)",
        "raise": "raise KeyError(1)",
        "terminated": "import signal; signal.signal(15, lambda *_: sys.exit(3)); os.kill(os.getpid(), 15)",
    }[way]
    code = f"call('1')\nprint(spare().process.pid, flush=True)\n{last}"
    done = subprocess.run(program(code), capture_output=True, env={"TMPDIR": str(tmp_path)}, timeout=300, check=False)
    assert ends(int(done.stdout), within=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.kills
@pytest.mark.parametrize("waits", [True, False])
def test_a_program_that_ends_in_the_middle_of_a_call_leaves_no_folder(waits: bool, tmp_path: Path) -> None:
    """As Ctrl-C does: the thread of the call is left behind, and would never come to remove what is its own."""
    code = f"""
import threading
if {waits}: call('1'); spare()
inside = threading.Event()
from strands_tool_python_exec import _process
feed = _process._Watch._feed_program
_process._Watch._feed_program = lambda self: feed(self) and (inside.set() or True)
threading.Thread(target=call, args=('while True: pass',), daemon=True).start()
assert inside.wait(120)
"""
    done = subprocess.run(program(code), capture_output=True, env={"TMPDIR": str(tmp_path)}, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.kills
@pytest.mark.parametrize("moment", ["_scratch.make", "_sandbox._start", "_process._Watch.go", "tested"])
def test_a_program_that_ends_while_a_sandbox_is_started_or_tested_leaves_no_folder(moment: str, tmp_path: Path) -> None:
    """The thread that starts it is left behind in the middle, after the step that is named."""
    work = "call('while True: pass')"
    if moment == "tested":
        moment, work = "_process._Watch.go", "_engine.tested(_engine.verdict().machine, namespaces=True)"
    module, _, name = moment.rpartition(".")
    code = f"""
import threading
from strands_tool_python_exec import _engine, _process, _sandbox, _scratch
began, never = threading.Event(), threading.Event()
owner, name = {module}, {name!r}
step = getattr(owner, name)
def stays(*given, **named):
    before = name == "go"
    made = None if before else step(*given, **named)
    threading.Timer(0.05, began.set).start() if before else began.set()
    if before: made = step(*given, **named)
    never.wait()
    return made
setattr(owner, name, stays)
threading.Thread(target=lambda: {work}, daemon=True).start()
assert began.wait(120)
"""
    done = subprocess.run(program(code), capture_output=True, env={"TMPDIR": str(tmp_path)}, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert list(tmp_path.iterdir()) == []


def test_a_forked_process_leaves_the_sandboxes_to_its_parent(tmp_path: Path) -> None:
    code = """
call('1')
mine = spare().process.pid
child = os.fork()
if child == 0:
    answer = call('import os; os.getpid()')
    os._exit(0 if not POOL.in_use and answer['result'] != mine else 1)
_, status = os.waitpid(child, 0)
child = os.fork()
if child == 0:
    sys.exit(0)
_, second = os.waitpid(child, 0)
print(status, second, spare().folder.is_dir(), call('import os; os.getpid()')['result'] == mine)
"""
    done = subprocess.run(program(code), capture_output=True, env={"TMPDIR": str(tmp_path)}, timeout=300, check=False)
    assert done.stdout.decode() == "0 0 True True\n", done.stderr.decode()
    assert list(tmp_path.iterdir()) == []


def test_a_loop_that_watches_children_of_its_own_is_not_disturbed(tmp_path: Path) -> None:
    code = """
import asyncio
async def main():
    both = []
    for _ in range(3):
        other = asyncio.create_subprocess_exec('/bin/sh', '-c', 'exit 3')
        process, answer = await asyncio.gather(other, asyncio.to_thread(call, 'import sys; sys.exit(4)'))
        both.append((await process.wait(), answer['error']['message']))
    print(both)
asyncio.run(main())
"""
    done = subprocess.run(program(code), capture_output=True, env={"TMPDIR": str(tmp_path)}, timeout=300, check=False)
    assert done.stdout.decode() == f"{[(3, '4')] * 3}\n", done.stderr.decode()


def test_a_thread_that_writes_until_the_end_leaves_no_folder(tmp_path: Path) -> None:
    code = """
import threading
from strands_tool_python_exec import _scratch
began = threading.Event()
def write():
    folder, _ = _scratch.make()
    number = 0
    try:
        while True:
            (folder / str(number)).touch()
            number += 1
            began.set()
    except OSError:
        threading.Event().wait()
threading.Thread(target=write, daemon=True).start()
assert began.wait(120)
"""
    for _ in range(5):
        subprocess.run(program(code), env={"TMPDIR": str(tmp_path)}, timeout=300, check=True)
        assert list(tmp_path.iterdir()) == []
