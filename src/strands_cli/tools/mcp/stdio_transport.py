"""An MCP server that runs as a process of its own and speaks on its stdin and stdout; it never outlives the run."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

import anyio

from strands_cli.system.subprocesses import end_group
from strands_cli.texts.phrases import shortened
from strands_cli.tools.mcp.connection import MAX_MESSAGE_BYTES, Link, Streams
from strands_cli.tools.mcp.read_lines import Requests, messages_in

# What a server gets of our environment; everything else, keys above all, only if its `env` says so.
INHERITED = (
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
)
# What a program prints that does not speak the protocol, before any message; other lines may be a log. And how long
# it may be silent after that: a traceback may be one that a server has logged before it goes on.
_NO_SERVER = re.compile(
    rb"\s*(?:<!doctype\b|<html\b|<\?xml\b|HTTP/\d)|(Traceback \(most recent call last\):)", re.IGNORECASE
)
SILENT_S, AFTER_TRACEBACK_S = 3.0, 10.0
_SHOWN = 200
# How long a server has to end after its stdin is closed, and then after the signal to end.
END_S, TERM_S = 2.0, 1.0
_LOOK_S = 0.01
# The kernel kills the server when this process dies in any way; the program that replaces this one keeps that.
_TIED = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() != int(sys.argv[1]):
    os._exit(1)
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"{sys.argv[2]}: {error.strerror}")
"""
Stream = TypeVar("Stream", asyncio.StreamReader, asyncio.StreamWriter)


def reach_process(
    command: str, arguments: Sequence[str], env: Mapping[str, str], folder: Path
) -> Callable[[Link], AbstractAsyncContextManager[Streams]]:
    """Return what starts a server and connects to it.

    Args:
        env: The environment variables that it gets besides `INHERITED`.
        folder: Where it runs.
    """
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}

    @contextlib.asynccontextmanager
    async def reach(link: Link) -> AsyncIterator[Streams]:
        process = await asyncio.create_subprocess_exec(
            *_tied([command, *arguments]),
            env={**inherited, **env},
            cwd=folder,
            start_new_session=True,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=MAX_MESSAGE_BYTES,
        )
        requests = Requests()
        to_session, incoming = anyio.create_memory_object_stream[Any](0)
        outgoing, from_session = anyio.create_memory_object_stream[Any](0)
        async with anyio.create_task_group() as group:
            group.start_soon(_read, process, to_session, requests, link)
            group.start_soon(_write, process, from_session, requests)
            group.start_soon(_listen, process, link)
            try:
                yield incoming, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(process)
                for stream in (incoming, outgoing, to_session, from_session):
                    stream.close()
                group.cancel_scope.cancel()

    return reach


def _tied(command: list[str]) -> list[str]:
    """Return the command so that the process ends with us; elsewhere than on Linux its closed stdin tells it."""
    if sys.platform != "linux" or not sys.executable:
        return command
    return [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), *command]


async def _read(process: asyncio.subprocess.Process, to_session: Any, requests: Requests, link: Link) -> None:
    """Hand on each message of the server, until it ends or sends what is too large."""
    stdout, patience_s, answers = _pipe(process.stdout), None, False
    printed = b""
    async with to_session:
        while True:
            try:
                line = await asyncio.wait_for(stdout.readline(), patience_s)
            except TimeoutError:
                what = " ".join(printed.decode("utf-8", "replace").split())
                link.fault = f"it does not speak MCP on its stdout, where it printed: {shortened(what, _SHOWN)}"
                end_group(process.pid)
                break
            except ValueError:
                link.fault = f"it sent a message of more than {MAX_MESSAGE_BYTES:,} bytes"
                end_group(process.pid)
                break
            if not line:
                break
            messages = messages_in(line.removeprefix(codecs.BOM_UTF8), requests, link)
            if link.fault is not None:
                end_group(process.pid)
                break
            if messages:
                answers, patience_s = True, None
            else:
                link.remember(line)  # many a program prints a greeting
            if not answers and (found := _NO_SERVER.match(line)) is not None:
                patience_s = max(patience_s or 0.0, AFTER_TRACEBACK_S if found[1] else SILENT_S)
            if patience_s is not None:
                printed = (printed + line)[:_SHOWN]
            for message in messages:
                with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await to_session.send(message)
        link.closed = True
        if await _is_over(process, _LOOK_S * 20) and link.fault is None:
            link.fault = f"it ended with exit code {process.returncode}"


async def _write(process: asyncio.subprocess.Process, from_session: Any, requests: Requests) -> None:
    stdin = _pipe(process.stdin)
    async with from_session:
        with contextlib.suppress(OSError):  # it has closed its stdin; the reader of its output notices its end
            async for message in from_session:
                requests.send(message.message)
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(line.encode() + b"\n")
                await stdin.drain()


def _pipe(stream: Stream | None) -> Stream:
    """Return a stream of a process that was started with all three."""
    if stream is None:
        raise ValueError("the process has no pipe")
    return stream


async def _listen(process: asyncio.subprocess.Process, link: Link) -> None:
    stderr = _pipe(process.stderr)
    while line := await stderr.read(4096):
        link.remember(line)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the server and all that it has started: by closing its stdin, then by signals."""
    with contextlib.suppress(OSError):
        _pipe(process.stdin).close()
    if not await _is_over(process, END_S):
        end_group(process.pid, signal.SIGTERM)
        await _is_over(process, TERM_S)
    # Also where it is over: what it has started may not be.
    end_group(process.pid)
    await _is_over(process, TERM_S)
    # A pipe that another process still holds would keep it open, and nothing public closes it.
    getattr(process, "_transport").close()  # noqa: B009


async def _is_over(process: asyncio.subprocess.Process, seconds: float) -> bool:
    # Not `wait()`: on Python 3.11 it waits for the pipes too, which a child of the server may hold.
    with anyio.move_on_after(seconds):
        while process.returncode is None:
            await anyio.sleep(_LOOK_S)
    return process.returncode is not None
