"""No attack gets out of the sandbox, and each does get out of a plain child process."""

from __future__ import annotations

import collections
import dataclasses
import json
import platform
import re
import subprocess
from pathlib import Path

import pytest
from python_exec_calls import Outside, call, plain, program_without, start_ahead

from strands_tool_python_exec import _engine, _sandbox
from strands_tool_python_exec.python_exec import close

pytestmark = pytest.mark.hostile

_LIBC = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
_CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine(), -1)

# Each prints ESCAPED when it got what it wanted.
ATTACKS = {
    "language-subclass-walk": """
import tempfile
for kind in object.__subclasses__():
    if kind.__name__ == "_wrap_close":
        kind.__init__.__globals__["system"]("echo ESCAPED")
""",
    "language-builtin-self": "print(print.__self__.__import__('os').popen('echo ESCAPED').read())",
    "language-frames": """
import sys
frame = sys._getframe()
while frame.f_back: frame = frame.f_back
if frame.f_builtins["open"](victim).read() == secret: print("ESCAPED")
""",
    "language-ctypes-system": _LIBC + "libc.system(b'echo ESCAPED')",
    "language-audit-free-open": "import _io\nif _io.FileIO(victim).read(): print('ESCAPED')",
    "files-read": "if open(victim).read() == secret: print('ESCAPED')",
    "files-append": "open(victim, 'a').write('x')\nprint('ESCAPED')",
    "files-create": "open(folder + '/new.txt', 'w').close()\nprint('ESCAPED')",
    "files-mkdir": "import os\nos.mkdir(folder + '/new')\nprint('ESCAPED')",
    "files-unlink": "import os\nos.unlink(victim)\nprint('ESCAPED')",
    "files-rename": "import os\nos.rename(victim, folder + '/new.txt')\nprint('ESCAPED')",
    "files-hard-link": "import os\nos.link(victim, folder + '/new.txt')\nprint('ESCAPED')",
    "files-symbolic-link": "import os\nos.symlink(victim, 'link')\nif open('link').read(): print('ESCAPED')",
    "files-truncate": "import os\nos.truncate(victim, 0)\nprint('ESCAPED')",
    "files-mode": "import os\nos.chmod(victim, 0o777)\nif os.stat(victim).st_mode & 0o777 == 0o777: print('ESCAPED')",
    "files-times": "import os\nos.utime(victim, (0, 0))\nif os.stat(victim).st_mtime == 0: print('ESCAPED')",
    "files-attributes": "import os\nos.setxattr(victim, 'user.x', b'y')\nprint('ESCAPED')",
    "files-owner": "import os\nos.chown(victim, os.getuid(), os.getgid())\nprint('ESCAPED')",
    "files-list": "import os\nos.listdir(folder)\nprint('ESCAPED')",
    "files-passwords": "if open('/etc/passwd').read(): print('ESCAPED')",
    "files-inotify": _LIBC + "n = libc.inotify_init()\nif libc.inotify_add_watch(n, b'/etc', 2) >= 0: print('ESCAPED')",
    "environment-variable": "import os\nif secret in os.environ.values(): print('ESCAPED')",
    "environment-own-proc": "if secret in open('/proc/self/environ').read(): print('ESCAPED')",
    "environment-of-another": "if open(f'/proc/{pid}/environ').read(): print('ESCAPED')",
    "environment-command-line": "if open(f'/proc/{pid}/cmdline').read(): print('ESCAPED')",
    "environment-link": "import os\nif os.readlink(f'/proc/{pid}/cwd'): print('ESCAPED')",
    "network-tcp": "import socket\nsocket.create_connection(('127.0.0.1', tcp), 1)\nprint('ESCAPED')",
    "network-udp": """
import socket
socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', udp))
print('ESCAPED')
""",
    "network-unix": "import socket\nsocket.socket(socket.AF_UNIX).connect(stream)\nprint('ESCAPED')",
    "network-unix-datagram": """
import socket
socket.socketpair(type=socket.SOCK_DGRAM)[0].sendto(b'x', datagram)
print('ESCAPED')
""",
    "network-abstract": "import socket\nsocket.socket(socket.AF_UNIX).connect(abstract)\nprint('ESCAPED')",
    "network-listen": "import socket\nsocket.create_server(('127.0.0.1', 0))\nprint('ESCAPED')",
    "network-netlink": "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)\nprint('ESCAPED')",
    "processes-fork": "import os\nif os.fork() == 0: os._exit(0)\nprint('ESCAPED')",
    "processes-subprocess": "import subprocess\nsubprocess.run(['/bin/true'], check=True)\nprint('ESCAPED')",
    "processes-exec": "import os\nos.execv('/bin/echo', ['echo', 'ESCAPED'])",
    "processes-spawn": "import os\nos.posix_spawn('/bin/true', ['true'], {})\nprint('ESCAPED')",
    "processes-clone": _LIBC
    + f"import os\nn = libc.syscall({_CLONE}, 17, 0, 0, 0, 0)\nif n == 0: os._exit(0)\nif n > 0: print('ESCAPED')",
    "processes-memory-program": """
import os
program = os.memfd_create("x", 0)
os.write(program, b"#!/bin/sh\\necho ESCAPED")
os.execv(f"/proc/self/fd/{program}", ["x"])
""",
    "processes-session": "import os\nif os.fork() == 0:\n    os.setsid()\n    os._exit(0)\nprint('ESCAPED')",
    "signals-kill": "import os\nos.kill(pid, 0)\nprint('ESCAPED')",
    "signals-parent": "import os\nos.kill(os.getppid(), 0)\nprint('ESCAPED')",
    "signals-everybody": "import os\nos.kill(-1, 0)\nprint('ESCAPED')",
    "signals-group": "import os\nos.killpg(os.getpgid(os.getppid()), 0)\nprint('ESCAPED')",
    "signals-pidfd": "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open(pid), 0)\nprint('ESCAPED')",
    "signals-owner": """
import fcntl, socket
end = socket.socketpair()[0]
fcntl.fcntl(end, fcntl.F_SETOWN, pid)
print('ESCAPED')
""",
    "kernel-limits": """
import os, resource
soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
print('ESCAPED')
""",
    "kernel-own-limits": """
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
print('ESCAPED')
""",
    "kernel-trace": _LIBC + "if libc.ptrace(0, 0, 0, 0) == 0: print('ESCAPED')",
    "kernel-memory-file": "import os\nos.memfd_create('x')\nprint('ESCAPED')",
    "kernel-priority": "import os\nos.setpriority(os.PRIO_PROCESS, 0, 19)\nprint('ESCAPED')",
    "kernel-affinity": "import os\nos.sched_setaffinity(0, os.sched_getaffinity(0))\nprint('ESCAPED')",
    "kernel-io-uring": _LIBC + "if libc.syscall(425, 1, ctypes.create_string_buffer(240)) > 0: print('ESCAPED')",
    "kernel-shared-memory": _LIBC
    + "n = libc.shmget(0, 4096, 0o1600)\nif n >= 0: libc.shmctl(n, 0, 0); print('ESCAPED')",
    "kernel-death-signal": _LIBC + "if libc.prctl(1, 0, 0, 0, 0) == 0: print('ESCAPED')",
    "kernel-namespaces": _LIBC + "if libc.unshare(0x10000000) == 0: print('ESCAPED')",
}


def _program(code: str, outside: Outside) -> str:
    values = "".join(f"{name} = {value!r}\n" for name, value in outside.names.items())
    return f"{values}{code}"


# What each attack runs into where there are no namespaces: one layer alone, or either of the two.
WALLS = {
    "landlock": """
        language-frames language-audit-free-open files-read files-append files-create files-mkdir files-unlink
        files-rename files-symbolic-link files-list files-passwords environment-command-line
    """,
    "seccomp": """
        files-mode files-times files-attributes files-owner files-inotify network-udp network-unix
        network-unix-datagram network-netlink processes-fork processes-clone processes-session signals-owner
        kernel-limits kernel-own-limits kernel-trace kernel-memory-file kernel-priority kernel-shared-memory
        kernel-death-signal kernel-namespaces kernel-affinity
    """,
    "landlock seccomp": """
        language-subclass-walk language-builtin-self language-ctypes-system files-hard-link files-truncate network-tcp
        network-listen processes-subprocess processes-exec processes-spawn signals-kill signals-parent signals-group
        signals-pidfd signals-everybody network-abstract processes-memory-program
    """,
    # A ring needs locked memory, of which there is none either.
    "seccomp limits": "kernel-io-uring",
    # The sandbox is given no variables, and no capabilities to look into others.
    "": "environment-variable environment-own-proc environment-of-another environment-link",
}
WALL_OF = {name: tuple(layers.split()) for layers, names in WALLS.items() for name in names.split()}


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("start", ["fresh", "ahead"])
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_stays_inside(name: str, start: str, outside: Outside) -> None:
    outside.reset()
    close()
    if start == "ahead":
        start_ahead()
    answer = call(_program(ATTACKS[name], outside))
    assert "ESCAPED" not in answer["stdout"], answer
    assert answer["limits_hit"] == []
    assert outside.is_unchanged()


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("name", [name for name in ATTACKS if WALL_OF[name]])
def test_an_attack_gets_out_where_its_wall_is_missing(
    name: str, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _engine.verdict()
    monkeypatch.setattr(_engine, "verdict", lambda: dataclasses.replace(found, namespaces=False))
    without = program_without(*WALL_OF[name])
    monkeypatch.setattr(_sandbox, "program", lambda: without)
    outside.reset()
    close()
    answer = call(_program(ATTACKS[name], outside))
    close()
    assert "ESCAPED" in answer["stdout"], answer


def test_there_are_three_attacks_of_each_class() -> None:
    kinds = collections.Counter(name.partition("-")[0] for name in ATTACKS)
    kinds |= {"crashes": len(CRASHES), "loops": len(LOOPS), "memory": len(MEMORY)}
    kinds |= {"output": len(OUTPUT), "disk": len(DISK)}
    assert len(kinds) == 12
    assert min(kinds.values()) >= 3
    assert set(WALL_OF) == set(ATTACKS)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_plain_child_process_lets_it_out(name: str, outside: Outside, tmp_path: Path) -> None:
    outside.reset()
    done = plain(_program(ATTACKS[name], outside), tmp_path)
    assert b"ESCAPED" in done.stdout, done.stderr.decode()


def test_no_attack_gets_out_where_there_are_no_namespaces(outside: Outside, every_way: str) -> None:
    """All of them in one sandbox, as in a container; each must also leave the next ones to be refused."""
    outside.reset()
    code = f"attacks, names = {ATTACKS!r}, {outside.names!r}\n" + (
        "for attack, code in attacks.items():\n"
        "    try:\n        print('--', attack)\n        exec(code, dict(names))\n"
        "    except Exception as error: print(type(error).__name__)\n"
        "print('all tried')"
    )
    answer = call(code)
    assert "ESCAPED" not in answer["stdout"], answer["stdout"]
    assert answer["stdout"].endswith("all tried\n"), answer
    assert outside.is_unchanged()


# mov eax, 20 (getpid of 32-bit programs); int 0x80; ret
_FOREIGN_CALL = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("b814000000cd80c3"))
if ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))() > 0: print("ESCAPED")
"""


@pytest.mark.usefixtures("held")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86_64 has two tables of calls")
def test_calls_of_another_table_kill_the_process(tmp_path: Path) -> None:
    if b"ESCAPED" not in plain(_FOREIGN_CALL, tmp_path).stdout:
        pytest.skip("this kernel runs no 32-bit programs")
    assert re.search(r"\bSIGSYS$", call(_FOREIGN_CALL)["error"]["message"])


CRASHES = {
    "abort": "import os\nos.abort()",
    "null-pointer": "import ctypes\nctypes.string_at(0)",
    "overrun": "import ctypes\nctypes.memset(ctypes.create_string_buffer(1), 0, 1 << 40)",
    "raised-signal": "import signal\nsignal.raise_signal(signal.SIGILL)",
}


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_is_an_answer(name: str, tmp_path: Path) -> None:
    answer = call(f"print('before')\n{CRASHES[name]}")
    assert answer["error"]["type"] == "Killed"
    assert answer["stdout"] == "before\n"
    assert plain(CRASHES[name], tmp_path).returncode < 0


LOOPS = {
    "busy": "while True: pass",
    "in-c": "9 ** 9 ** 9",
    "asleep": "import time\ntime.sleep(10 ** 6)",
    "expression": "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
    "stubborn": """
import signal
for number in set(signal.valid_signals()) - {9, 19, 32, 33}: signal.signal(number, signal.SIG_IGN)
while True:
    try:
        while True: pass
    except BaseException: pass
""",
    "stopped": "import signal\nsignal.raise_signal(signal.SIGSTOP)",
    "threads": "import threading\nthreading.Thread(target=threading.Event().wait).start()",
}


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("name", LOOPS)
def test_an_endless_program_ends_with_its_time(name: str) -> None:
    answer = call(f"print('before')\n{LOOPS[name]}", timeout=0.3)
    assert answer["limits_hit"] == ["wall_time"]
    assert answer["error"]["type"] == "LimitExceeded"
    assert answer["stdout"] == "before\n"


@pytest.mark.parametrize("name", LOOPS)
def test_a_plain_child_process_goes_on_for_ever(name: str, tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        plain(LOOPS[name], tmp_path, timeout=0.3)


MEMORY = {
    "bytes": "bytearray(200 << 20)",
    "map": "import mmap\ntry:\n    mmap.mmap(-1, 200 << 20)\nexcept OSError:\n    raise MemoryError",
    "text": "'x' * (200 << 20)",
    "list": "[0] * (25 << 20)",
    "growing": "parts = []\nfor _ in range(200): parts.append(bytearray(1 << 20))",
}


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("name", MEMORY)
def test_memory_has_an_end(name: str, tmp_path: Path) -> None:
    answer = call(MEMORY[name], config={"memory_mb": 160})
    assert answer["error"]["type"] == "MemoryError"
    assert answer["limits_hit"] == ["memory"]
    assert plain(MEMORY[name], tmp_path).returncode == 0


OUTPUT = {
    "stdout": "import sys\nfor _ in range(40): sys.stdout.write('x' * (1 << 20))",
    "stderr": "import sys\nfor _ in range(40): sys.stderr.write('x' * (1 << 20))",
    "raw": "import os\nfor _ in range(400): os.write(1, b'x' * 65536 * 2)",
    "channel": """
import os
for number in range(3, 64):
    try:
        while True: os.write(number, b'x' * 65536)
    except OSError: pass
os.write(1, b'x' * (40 << 20))
""",
}


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("name", OUTPUT)
def test_a_flood_of_output_is_cut_off(name: str, tmp_path: Path) -> None:
    answer = call(OUTPUT[name])
    assert answer["limits_hit"] == ["output"]
    assert answer["error"]["type"] == "LimitExceeded"
    assert len(json.dumps(answer)) < 140_000
    done = plain(OUTPUT[name], tmp_path)
    assert len(done.stdout) + len(done.stderr) > 9 << 20


DISK = {
    "large-file": "with open('a', 'wb') as file:\n    file.seek(4 << 20)\n    file.write(b'x')",
    "many-files": "for n in range(FILES):\n    with open(f'f{n}', 'wb') as file: file.write(b'x' * 500_000)",
    "holes": "import os\nwith open('a', 'wb') as file: os.truncate(file.fileno(), 1 << 40)",
    "reserved": "import os\nwith open('a', 'wb') as file: os.posix_fallocate(file.fileno(), 0, 4 << 20)",
}


@pytest.mark.parametrize("name", DISK)
def test_the_disk_has_an_end(name: str, tmp_path: Path, every_way: str) -> None:
    answer = call(f"FILES = 4000\n{DISK[name]}", config={"disk_mb": 1})
    assert answer["limits_hit"] == ["disk"], answer
    if every_way == "namespaces":
        assert plain(f"FILES = 8\n{DISK[name]}", tmp_path).returncode == 0
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) > 3 << 20


def test_many_and_deep_directories_come_to_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every_way: str
) -> None:
    close()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = "import os\nfor n in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\nimport time\ntime.sleep(600)"
    answer = call(code, timeout=120)
    assert answer["limits_hit"] == ["disk"]
    close()
    assert list(tmp_path.iterdir()) == []
