"""Every layer a sandbox puts on itself before it runs code, in the one order that works."""

from __future__ import annotations

import ctypes
import os
import sys

from strands_tool_python_exec import _landlock

TYPE_CHECKING = False  # see `_child`: these imports are waited for
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_MIB = 1 << 20
# include/uapi/linux/{prctl,sched,mount,capability}.h
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_NEW_NS, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_NET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 0x4000, 0x40000
_CAPABILITY_VERSION_3 = 0x20080522
_SIGKILL = 9
_SYS_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER = 1
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache")


class _Filter(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def put_on(setup: Mapping[str, Any]) -> dict[str, str]:
    """Lock this process down irrevocably; it is now in its scratch directory.

    Args:
        setup: `parent`, `machine`, `filter`, `scratch`, `readable`, `listable`, `memory_mb`, `disk_mb`, `namespaces`.

    Returns: The layers in force, one by one, in words.

    Raises:
        OSError: A needed layer cannot be had; the process must not run code.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _limit(setup)
    namespaces = _separate(libc, setup) if setup["namespaces"] else "not used"
    os.chdir(setup["scratch"])
    _leave_with_parent(libc, setup["parent"])
    _require(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _drop_capabilities(libc)
    abi = _landlock.restrict(libc, _rules(setup))
    _filter_calls(libc, setup)
    return {
        "landlock": f"version {abi}",
        "seccomp": "allowlist",
        "rlimits": "enforced",
        "namespaces": namespaces,
        "disk": "enforced" if namespaces.endswith("tmpfs") else "best effort",
    }


def _limit(setup: Mapping[str, Any]) -> None:
    """Set every limit but that of processor time, which the parent sets when it knows the program."""
    import resource  # only where there are such limits, and not where the tool is merely listed

    for kind, soft, hard in (
        (resource.RLIMIT_AS, setup["memory_mb"] * _MIB, setup["memory_mb"] * _MIB),
        (resource.RLIMIT_FSIZE, setup["disk_mb"] * _MIB, setup["disk_mb"] * _MIB),
        (resource.RLIMIT_NOFILE, 64, 64),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_MEMLOCK, 0, 0),
    ):
        ceiling = resource.getrlimit(kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))


def _separate(libc: ctypes.CDLL, setup: Mapping[str, Any]) -> str:
    """Enter namespaces of our own and mount a size-limited scratch; say how far that went.

    Raises:
        OSError: The process has lost its identity on the way, and only a fresh one can do without.
    """
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_NEW_USER | _NEW_NS | _NEW_NET | _NEW_IPC | _NEW_UTS) != 0:
        return f"not available ({os.strerror(ctypes.get_errno())})"
    try:
        for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib is slow to import
                file.write(line)
    except OSError as error:
        raise OSError(error.errno, f"namespaces: {error.strerror}") from error
    return "user, mount, net, ipc, uts" + _mount(libc, setup)


def _mount(libc: ctypes.CDLL, setup: Mapping[str, Any]) -> str:
    scratch = setup["scratch"].encode()
    options = f"size={setup['disk_mb']}m,nr_inodes=4096,mode=0700".encode()
    if libc.mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None) != 0:
        return ""
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    return ", tmpfs" if libc.mount(b"tmpfs", scratch, b"tmpfs", flags, options) == 0 else ""


def _leave_with_parent(libc: ctypes.CDLL, parent: int) -> None:
    """Die when the parent does. A user namespace clears this signal, so it is set after that."""
    _require(libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0), "parent-death signal")
    if os.getppid() != parent:
        sys.exit(1)


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Give up the rights of root, or of the first process of a user namespace, beyond its files."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _require(libc.capset(header, (ctypes.c_uint32 * 6)()), "capabilities")


def _rules(setup: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [
        *((path, _landlock.READ) for path in (*_LIBRARIES, *setup["readable"])),
        *((path, _landlock.LIST) for path in setup["listable"]),
        ("/dev/null", _landlock.DEVICE),
        ("/dev/urandom", _landlock.READ),
        (".", _landlock.SCRATCH),
    ]


def _filter_calls(libc: ctypes.CDLL, setup: Mapping[str, Any]) -> None:
    """Put the seccomp filter on this process and every thread it starts; nothing can take it off again."""
    program = _Filter(length=len(setup["filter"]) // 8, filter=setup["filter"])
    number = ctypes.c_long(_SYS_SECCOMP[setup["machine"]])
    _require(libc.syscall(number, ctypes.c_uint(_SET_MODE_FILTER), ctypes.c_uint(0), ctypes.byref(program)), "seccomp")


def _require(answer: int, layer: str) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{layer}: {os.strerror(number)}")
