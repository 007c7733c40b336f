"""The engine `locked-cpython`: chosen only after a self-test of each of its layers has passed."""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import json
import os
import platform
import socket
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from strands_tool_python_exec import _scratch
from strands_tool_python_exec._process import Request, run
from strands_tool_python_exec._sandbox import Settings

NAME = "locked-cpython"
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
_PROBES = """
import ctypes, os, resource, socket
outside, port, path, parent = {outside!r}, {port!r}, {path!r}, {parent!r}
def dial(family, address):
    with socket.socket(family) as end:
        end.connect(address)
def fork():
    if os.fork() == 0:
        os._exit(0)
def grow():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft // 2, hard))
probes = dict(
    read=lambda: open(outside).close(),
    write=lambda: open(outside, "a").close(),
    tcp=lambda: dial(socket.AF_INET, ("127.0.0.1", port)),
    unix=lambda: dial(socket.AF_UNIX, path),
    fork=fork,
    signal=lambda: os.kill(parent, 0),
    limits=grow,
)
broken = []
for name, probe in probes.items():
    try:
        probe()
    except (OSError, ValueError):
        continue
    broken.append(name)
sorted(probes), broken
"""
_NAMES = ["fork", "limits", "read", "signal", "tcp", "unix", "write"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the self-test on this machine.

    Attributes:
        machine: The kernel's architecture, as the tables name it; empty where there is none.
        namespaces: Whether sandboxes try to use namespaces.
        layers: The layers in force in the tested sandbox.
        reason: Why nothing may be run here; empty when the engine holds.
    """

    machine: str = ""
    namespaces: bool = False
    layers: tuple[tuple[str, str], ...] = ()
    reason: str = ""


@functools.cache
def verdict() -> Verdict:
    """Test the engine on this machine, once per process.

    Where a system gives namespaces but no identity inside them, the engine is tested again without.
    """
    if not sys.platform.startswith("linux"):
        return Verdict(reason=f"{NAME} needs Linux, this is {platform.system()}")
    machine = _MACHINES.get(platform.machine().lower(), "")
    if not machine or sys.maxsize < 2**32:
        bits = 64 if sys.maxsize > 2**32 else 32
        return Verdict(reason=f"{NAME} has no table of system calls for {platform.machine()} ({bits} bit)")
    first = tested(machine, namespaces=True)
    return first if not first.reason else tested(machine, namespaces=False)


def tested(machine: str, *, namespaces: bool) -> Verdict:
    """Return the result of a sandbox of this kind tested from inside."""
    with _scratch.folder_for_a_while() as folder, _listeners(str(folder)) as (port, path):
        outside = folder / "outside"
        outside.write_text("outside", encoding="utf-8")
        code = _PROBES.format(outside=str(outside), port=port, path=path, parent=os.getpid())
        try:
            settings = settings_for(machine=machine, namespaces=namespaces)
            outcome = run(Request(code, files={}, timeout_s=10, max_output=65_536, settings=settings))
        except OSError as error:
            return Verdict(reason=f"the sandbox cannot be started: {error}")
    if outcome.layers is None:
        words = outcome.stderr.decode(errors="replace").strip().splitlines()
        return Verdict(reason=outcome.refused or f"the sandbox did not start: {words[-1] if words else outcome.status}")
    problem = _problem(bytes(outcome.report))
    return Verdict(machine, namespaces, tuple(outcome.layers.items()), problem)


def _problem(report: bytes) -> str:
    """Return the probes' evidence against the engine; only the full list of refusals speaks for it."""
    try:
        names, broken = json.loads(report)["result"]
    except (ValueError, KeyError, TypeError):
        return "the self-test inside the sandbox did not finish"
    if names != _NAMES:
        return "the self-test inside the sandbox was not complete"
    return f"the sandbox does not hold here: {', '.join(broken)}" if broken else ""


@contextlib.contextmanager
def _listeners(folder: str) -> Iterator[tuple[int, str]]:
    """Listen where a sandbox must not get through; nothing needs to accept."""
    path = str(Path(folder) / "socket")
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        unix.bind(path)
        unix.listen()
        yield tcp.getsockname()[1], path


def settings_for(
    *,
    machine: str,
    namespaces: bool,
    memory_mb: int = 512,
    disk_mb: int = 64,
    packages: tuple[str, ...] = (),
) -> Settings:
    """Return the settings of a locked sandbox, with the files that the interpreter and the packages need readable.

    Raises:
        LookupError: A listed package is not installed here; its argument is the name.
    """
    locations = [_locate(name) for name in packages]
    folders = tuple(dict.fromkeys(folder for folder, _ in locations))
    return Settings(
        memory_mb=memory_mb,
        disk_mb=disk_mb,
        machine=machine,
        readable=(*_interpreter(), *(path for _, paths in locations for path in paths)),
        listable=folders,
        import_from=folders,
        namespaces=namespaces,
    )


@functools.cache
def _interpreter() -> tuple[str, ...]:
    """Return where the standard library and the libraries beside the interpreter lie."""
    base = Path(sys.base_prefix)
    names = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), str(base / "lib"), str(base / "lib64")}
    return tuple(sorted(names))


@functools.cache
def _locate(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the folder to import a top-level package from, and its files to be readable, importing nothing."""
    module_spec = importlib.machinery.PathFinder.find_spec(name)
    origin = module_spec.origin if module_spec is not None else None
    if origin is None or origin in ("built-in", "frozen"):
        raise LookupError(name)
    path = Path(origin)
    is_package = module_spec is not None and module_spec.submodule_search_locations is not None
    top = path.parent if is_package else path
    # Wheels carry their shared libraries beside the package.
    return str(top.parent), (str(top), str(top.parent / f"{name}.libs"))
