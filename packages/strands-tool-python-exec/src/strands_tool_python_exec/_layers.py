"""Every layer a sandbox puts on itself before it runs code, in the one order that works."""

from __future__ import annotations

import ctypes
import math
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from strands_tool_python_exec import _landlock, _seccomp

_MIB = 1 << 20
# include/uapi/linux/{prctl,sched,mount,capability}.h
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_NEW_NS, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_NET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 0x4000, 0x40000
_CAPABILITY_VERSION_3 = 0x20080522
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache")


def put_on(given: Mapping[str, Any]) -> dict[str, str]:
    """Lock this process down for good; it is now in its scratch directory.

    Args:
        given: `parent`, `machine`, `scratch`, `readable`, `listable`, `memory_mb`, `disk_mb`, `cpu_s`, `namespaces`.

    Returns:
        What is in force, layer by layer, in words.

    Raises:
        OSError: A layer that is needed cannot be had; the process must not run code.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _limit(given)
    namespaces = _separate(libc, given) if given["namespaces"] else "not used"
    os.chdir(given["scratch"])
    _leave_with_parent(libc, given["parent"])
    _require(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _drop_capabilities(libc)
    abi = _landlock.restrict(libc, _rules(given))
    _seccomp.install(libc, given["machine"])
    return {"landlock": f"version {abi}", "seccomp": "allowlist", "rlimits": "enforced", "namespaces": namespaces}


def _limit(given: Mapping[str, Any]) -> None:
    import resource  # only where there are such limits, and not where the tool is merely listed

    cpu = math.ceil(given["cpu_s"])
    for kind, soft, hard in (
        (resource.RLIMIT_AS, given["memory_mb"] * _MIB, given["memory_mb"] * _MIB),
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_FSIZE, given["disk_mb"] * _MIB, given["disk_mb"] * _MIB),
        (resource.RLIMIT_NOFILE, 64, 64),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_MEMLOCK, 0, 0),
    ):
        ceiling = resource.getrlimit(kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))


def _separate(libc: ctypes.CDLL, given: Mapping[str, Any]) -> str:
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
    return "user, mount, net, ipc, uts" + _mount(libc, given)


def _mount(libc: ctypes.CDLL, given: Mapping[str, Any]) -> str:
    scratch = given["scratch"].encode()
    options = f"size={given['disk_mb']}m,nr_inodes=4096,mode=0700".encode()
    if libc.mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None) != 0:
        return ""
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    return ", tmpfs" if libc.mount(b"tmpfs", scratch, b"tmpfs", flags, options) == 0 else ""


def _leave_with_parent(libc: ctypes.CDLL, parent: int) -> None:
    """Die when the parent does. A user namespace clears this signal, so it is set after that."""
    _require(libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "parent-death signal")
    if os.getppid() != parent:
        sys.exit(1)


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Give up what root, or the first process of a user namespace, may do beyond its files."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _require(libc.capset(header, (ctypes.c_uint32 * 6)()), "capabilities")


def _rules(given: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [
        *((path, _landlock.READ) for path in (*_LIBRARIES, *given["readable"])),
        *((path, _landlock.LIST) for path in given["listable"]),
        ("/dev/null", _landlock.DEVICE),
        ("/dev/urandom", _landlock.READ),
        (".", _landlock.SCRATCH),
    ]


def _require(answer: int, layer: str) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{layer}: {os.strerror(number)}")
