"""Landlock: the readable and writable files of a sandbox, no TCP, and no signal or abstract socket to the outside."""

from __future__ import annotations

import ctypes
import os

_CREATE, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
# include/uapi/linux/landlock.h
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG, _MAKE_SYM = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 12
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FIRST_ABI = (1 << 13) - 1
_ENOSYS, _EOPNOTSUPP = 38, 95
_BIND_AND_CONNECT_TCP, _ABSTRACT_SOCKETS_AND_SIGNALS = 0b11, 0b11

READ = _READ_FILE | _READ_DIR
LIST = _READ_DIR
DEVICE = _READ_FILE | _WRITE_FILE
SCRATCH = READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SYM | _REFER | _TRUNCATE
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV


class _Ruleset(ctypes.Structure):
    """`struct landlock_ruleset_attr`; older kernels take a shorter one."""

    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    """`struct landlock_path_beneath_attr`."""

    _pack_ = 1
    _layout_ = "ms"  # Newer Pythons want the layout of a packed structure named.
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _handled(abi: int) -> int:
    """Return the file accesses the kernel's version can deny."""
    return _FIRST_ABI | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0) | (_IOCTL_DEV if abi >= 5 else 0)


def restrict(libc: ctypes.CDLL, rules: list[tuple[str, int]]) -> int:
    """Deny this process everything but the given accesses beneath the given paths.

    A path that does not exist is left out. `no_new_privs` must be set.

    Returns:
        The version of Landlock in force: from 4 on it covers TCP, from 6 on signals and abstract sockets.

    Raises:
        OSError: The kernel has no Landlock, or refused it.
    """
    abi = _call(libc, _CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION_FLAG))
    attributes = _Ruleset(
        fs=_handled(abi),
        net=_BIND_AND_CONNECT_TCP if abi >= 4 else 0,
        scoped=_ABSTRACT_SOCKETS_AND_SIGNALS if abi >= 6 else 0,
    )
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = _call(libc, _CREATE, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint(0))
    try:
        for path, access in rules:
            _allow(libc, ruleset, path, access & _handled(abi))
        _call(libc, _RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)
    return abi


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if os.fstat(descriptor).st_mode & 0o170000 != 0o040000:
            access &= _OF_FILES
        rule = _PathBeneath(access=access, parent=descriptor)
        _call(libc, _ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint(0))
    finally:
        os.close(descriptor)


def _call(libc: ctypes.CDLL, number: int, *arguments: object) -> int:
    answer = int(libc.syscall(ctypes.c_long(number), *arguments))
    if answer < 0:
        code = ctypes.get_errno()
        words = {_ENOSYS: "this kernel has no Landlock", _EOPNOTSUPP: "Landlock is switched off at boot"}
        raise OSError(code, words.get(code, f"Landlock: {os.strerror(code)}"))
    return answer
