"""Linux's `openat2`: open a path beneath a directory descriptor, the kernel refusing every way out of it."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import sys

# One number on every architecture (include/uapi/asm-generic/unistd.h; alpha, the exception, has no current CPython).
_SYS_OPENAT2 = 437
# include/uapi/linux/openat2.h
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_ATTEMPTS = 8


class _OpenHow(ctypes.Structure):
    """`struct open_how`, version 0 (24 bytes)."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_HOW_SIZE = ctypes.sizeof(_OpenHow)


@functools.cache
def is_available() -> bool:
    """Return whether the kernel has `openat2` and lets this process use it (old seccomp profiles refuse it)."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        descriptor = os.open(".", os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.close(open_beneath(descriptor, ".", os.O_PATH))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def open_beneath(directory: int, path: str, flags: int, *, follow_links: bool = False) -> int:
    """Open a relative path that stays beneath a directory in every component.

    Args:
        directory: Descriptor of the directory to stay in.
        path: Relative path; `..` and links may be in it as long as no component lies above `directory`.
        flags: As for `os.open`; close-on-exec is added.
        follow_links: Follow symbolic links that stay beneath; by default any link fails with ELOOP.

    Returns:
        A descriptor the caller closes.

    Raises:
        OSError: EXDEV for a way out, ELOOP for a link, else as `open(2)`.
    """
    resolve = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | (0 if follow_links else _RESOLVE_NO_SYMLINKS)
    how = _how(flags | os.O_CLOEXEC, resolve)
    syscall, encoded = _libc().syscall, os.fsencode(path)
    for _ in range(_ATTEMPTS):
        descriptor: int = syscall(_SYS_OPENAT2, directory, encoded, how, _HOW_SIZE)
        if descriptor >= 0:
            return descriptor
        number = ctypes.get_errno()
        # EAGAIN: something was renamed while the kernel checked a `..`; its manual page says to try again.
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number), path)


@functools.cache
def _how(flags: int, resolve: int) -> ctypes.Array[ctypes.c_char]:
    """Return the bytes of the structure, which the kernel only reads."""
    how = _OpenHow(flags=flags, mode=0, resolve=resolve)
    return ctypes.create_string_buffer(bytes(how), _HOW_SIZE)


@functools.cache
def _libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    library.syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    return library
