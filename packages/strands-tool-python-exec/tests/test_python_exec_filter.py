"""The seccomp program of both architectures, interpreted as the kernel does, and its numbers."""

from __future__ import annotations

import errno
import os
import re
import struct
from pathlib import Path

import pytest

from strands_tool_python_exec import _seccomp, _syscalls

MACHINES = ("x86_64", "aarch64")
DENIED = 0x00050000 | errno.EPERM
ALLOWED = 0x7FFF0000
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def decide(machine: str, number: int, *arguments: int, arch: int | None = None) -> int:
    """Return what the filter answers to one call."""
    arch = _seccomp.AUDIT_ARCH[machine] if arch is None else arch
    padded = [*arguments, *[0] * (6 - len(arguments))]
    call = struct.pack("<IIQ6Q", number, arch, 0, *(value % 2**64 for value in padded))
    lines = list(struct.iter_unpack("=HBBI", _seccomp.program(machine, os.getpid())))
    at = accumulator = 0
    while True:
        code, true, false, value = lines[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", call, value)
        elif code == 0x54:
            accumulator &= value
        elif code == 0x06:
            return value
        else:
            holds = accumulator == value if code == 0x15 else bool(accumulator & value)
            at += true if holds else false


def tables(machine: str) -> dict[str, int]:
    kinds = (_syscalls.ALLOWED, _syscalls.PRETENDED, _syscalls.UNSUPPORTED, _syscalls.CHECKED)
    return {name: number for kind in kinds for name, number in kind[machine].items()}


@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_is_the_kernels(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("no kernel headers")
    # `fchmodat2` is newer than many headers; the generic table calls `newfstatat` so through a macro.
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[machine].read_text())
    theirs = {"fstatat": 79, "fchmodat2": 452, **{name: int(number) for name, number in reversed(found)}}
    if machine == "aarch64":
        theirs["newfstatat"] = theirs["fstatat"]
    assert {name: theirs.get(name) for name in tables(machine)} == tables(machine)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_number_in_no_table_is_denied(machine: str) -> None:
    known = set(tables(machine).values())
    assert len(known) == len(tables(machine))
    assert {decide(machine, number) for number in range(1024) if number not in known} == {DENIED}
    assert decide(machine, 0x40000000) == DENIED


@pytest.mark.parametrize("machine", MACHINES)
def test_a_foreign_architecture_is_killed(machine: str) -> None:
    assert decide(machine, 1, arch=0x40000003) == 0x80000000


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "is_allowed"),
    [
        ("clone", (0x3D0F00,), True),
        ("clone", (17,), False),
        ("clone", (0x4111,), False),
        ("clone", (0x10000 | 0x10000000,), False),
        ("tgkill", (os.getpid(), 5, 6), True),
        ("tgkill", (os.getppid(), 5, 6), False),
        ("prlimit64", (0, 7, 0, 4096), True),
        ("prlimit64", (0, 7, 4096, 0), False),
        ("prlimit64", (0, 7, 1 << 32, 0), False),
        ("prlimit64", (1, 7, 0, 4096), False),
        ("ioctl", (1, 0x5421), True),
        ("ioctl", (1, 0x5412), False),
        ("fcntl", (1, 2), True),
        ("fcntl", (1, 8), False),
        ("prctl", (15,), True),
        ("prctl", (1,), False),
        ("prctl", (22,), False),
        ("socketpair", (1, 1 | 0o2000000), True),
        ("socketpair", (1, 2), False),
        ("socketpair", (1, 5), False),
        ("socketpair", (2, 1), False),
    ],
)
def test_arguments_decide(machine: str, name: str, arguments: tuple[int, ...], is_allowed: bool) -> None:
    answer = decide(machine, _syscalls.CHECKED[machine][name], *arguments)
    assert answer == (ALLOWED if is_allowed else DENIED)


@pytest.mark.parametrize("machine", MACHINES)
def test_clone3_says_that_it_does_not_exist(machine: str) -> None:
    assert decide(machine, 435) == 0x00050000 | errno.ENOSYS
