"""The seccomp filter of a sandbox: an allowlist of system calls, some of them only with certain arguments."""

from __future__ import annotations

import errno
import struct

from strands_tool_python_exec import _syscalls

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# include/uapi/linux/seccomp.h
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_DENY = _ERRNO | errno.EPERM
# include/uapi/linux/bpf_common.h: load a word, compare, test bits, mask, return.
_LD, _JEQ, _JSET, _AND, _RET = 0x20, 0x15, 0x45, 0x54, 0x06
_NR, _ARCH = 0, 4
_CLONE_THREAD = 0x10000
_CLONE_NEW_ANYTHING = 0x7E020080
_AF_UNIX, _SOCK_STREAM, _SOCK_TYPE_MASK = 1, 1, 0xF
# TCGETS (isatty), TIOCGWINSZ, FIONBIO, FIONCLEX, FIOCLEX.
_IOCTLS = (0x5401, 0x5413, 0x5421, 0x5450, 0x5451)
# Descriptors, flags and locks. Not F_SETOWN: with O_ASYNC it makes the kernel send signals to any process.
_FCNTLS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030)
# PR_SET_NAME and PR_GET_NAME. Not PR_SET_PDEATHSIG, which would undo the parent-death signal.
_PRCTLS = (15, 16)


def _op(code: int, value: int, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, true, false, value)


def _low(argument: int) -> bytes:
    return _op(_LD, 16 + 8 * argument)


def _high(argument: int) -> bytes:
    return _op(_LD, 20 + 8 * argument)


def _require(*steps: tuple[bytes, int]) -> list[bytes]:
    """Allow when each loaded word equals its value, else deny."""
    lines: list[bytes] = []
    for load, value in steps:
        lines += [load, _op(_JEQ, value, 1, 0), _op(_RET, _DENY)]
    return [*lines, _op(_RET, _ALLOW)]


def _one_of(argument: int, values: tuple[int, ...]) -> list[bytes]:
    """Allow when the low word of an argument is one of the values (the kernel takes these as 32 bits)."""
    lines = [_low(argument)]
    for value in values:
        lines += [_op(_JEQ, value, 0, 1), _op(_RET, _ALLOW)]
    return [*lines, _op(_RET, _DENY)]


def _rules(process: int) -> dict[str, list[bytes]]:
    """Return the rules for each call whose arguments decide."""
    return {
        "clone": [
            _low(0),
            _op(_JSET, _CLONE_NEW_ANYTHING, 2, 0),
            _op(_JSET, _CLONE_THREAD, 0, 1),
            _op(_RET, _ALLOW),
            _op(_RET, _DENY),
        ],
        # Its flags lie in memory, where no filter can look; libc falls back to clone.
        "clone3": [_op(_RET, _ERRNO | errno.ENOSYS)],
        "tgkill": _require((_low(0), process)),
        # Of this process only, and only to read: the new limit is a null pointer.
        "prlimit64": _require((_low(0), 0), (_low(2), 0), (_high(2), 0)),
        "ioctl": _one_of(1, _IOCTLS),
        "fcntl": _one_of(1, _FCNTLS),
        "prctl": _one_of(0, _PRCTLS),
        # Streams only: a datagram socket could be used to send to any path.
        "socketpair": [
            _low(0),
            _op(_JEQ, _AF_UNIX, 0, 4),
            _low(1),
            _op(_AND, _SOCK_TYPE_MASK),
            _op(_JEQ, _SOCK_STREAM, 0, 1),
            _op(_RET, _ALLOW),
            _op(_RET, _DENY),
        ],
    }


def program(machine: str, process: int) -> bytes:
    """Return the filter of one process for a machine type, as the kernel takes it.

    Raises:
        KeyError: There is no table for the machine.
    """
    lines = [_op(_LD, _ARCH), _op(_JEQ, AUDIT_ARCH[machine], 1, 0), _op(_RET, _KILL), _op(_LD, _NR)]
    for number in _syscalls.ALLOWED[machine].values():
        lines += [_op(_JEQ, number, 0, 1), _op(_RET, _ALLOW)]
    for number in _syscalls.PRETENDED[machine].values():
        lines += [_op(_JEQ, number, 0, 1), _op(_RET, _ERRNO)]
    for number in _syscalls.UNSUPPORTED[machine].values():
        lines += [_op(_JEQ, number, 0, 1), _op(_RET, _ERRNO | errno.EOPNOTSUPP)]
    rules = _rules(process)
    for name, number in _syscalls.CHECKED[machine].items():
        lines += [_op(_JEQ, number, 0, len(rules[name])), *rules[name]]
    lines.append(_op(_RET, _DENY))
    return b"".join(lines)
