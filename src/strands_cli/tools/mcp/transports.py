"""The ways to an MCP server: over HTTP, or by the stdin and stdout of a process, which never outlives the run."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import importlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import anyio
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from strands_cli.addresses.written_places import OpenNetwork
from strands_cli.system.subprocesses import end_group
from strands_cli.texts.canonical_json import json_object
from strands_cli.texts.phrases import shortened
from strands_cli.tools.mcp.read_lines import REPLACED, Requests, messages_in, readable, unread_answer
from strands_cli.tools.mcp.repaired_messages import MAX_MESSAGE_BYTES, Link, Streams
from strands_cli.tools.pinned_transport import (
    UnopenedPlace,
    addresses_of,
    library_of,
    pinned_connections,
    tls_context_for,
)

# The body of a response over HTTP, as the answer to the request that it belongs to: JSON, or a stream of events.


_BOM = b"\xef\xbb\xbf"
_KEPT = (b"id:", b"retry:", b":")
_FIELDS = (*_KEPT, b"event:", b"data:")


def request_in(body: bytes) -> Requests | None:
    """Return the request in a body, or None for a message without an answer."""
    try:
        message = json_object(json.loads(body))
    except ValueError:
        return None
    identity, method = message.get("id"), message.get("method")
    return Requests({identity: str(method)}) if isinstance(identity, (int, str)) and method else None


class ReadJson:
    """A body of one message.

    Args:
        status: The status of a response that refuses the request; empty for others.
    """

    def __init__(self, request: Requests, link: Link, status: str = "") -> None:
        self._request, self._link, self._status = request, link, status
        self._body = b""

    def feed(self, lines: bytes) -> bytes:
        """Take whole lines; return the bytes to pass on."""
        self._body += lines
        return b""

    def end(self) -> bytes:
        """Return the message of the body, or the error for one without a message."""
        body = self._body.removeprefix(_BOM)
        answers = [
            message
            for message in messages_in(body, self._request, self._link)
            if not hasattr(message.message, "method")
        ]
        answer = answers[0] if answers else unread_answer(body, self._request, self._link, self._status)
        return _written(answer) if answer is not None else body


class ReadEvents:
    """A body of a stream of events; other lines than the protocol's messages are left out."""

    def __init__(self, request: Requests, link: Link) -> None:
        self._request, self._link = request, link
        self._event: list[bytes] = []
        self._others = b""

    def feed(self, lines: bytes) -> bytes:
        """Take whole lines; return the events that end in them."""
        return b"".join(self._taken(lines.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")))

    def end(self) -> bytes:
        """Return the rest; an error where all that came is not the answer."""
        rest = b"".join(self._taken([b""]))
        if not self._request or not self._others.strip():
            return rest
        messages = messages_in(self._others, self._request, self._link)
        last = [] if messages else [unread_answer(self._others, self._request, self._link)]
        return rest + b"".join(
            b"data: " + _written(message) + b"\n\n" for message in [*messages, *last] if message is not None
        )

    def _taken(self, lines: list[bytes]) -> Iterator[bytes]:
        for line in lines:
            if line:
                self._event.append(line.removeprefix(_BOM))
            elif self._event:
                yield self._whole()

    def _whole(self) -> bytes:
        """Return the ended event, as one or several that the client can read."""
        lines, self._event = self._event, []
        field_lines = [line for line in lines if line.startswith(_KEPT)]
        texts = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
        self._others += b"\n".join(line for line in lines if not line.startswith(_FIELDS))
        payload = b"\n".join(texts)
        if not payload.strip():
            return b"\n".join([*field_lines, *([b"data:"] if texts else []), b""]) + b"\n"
        messages = messages_in(payload, self._request, self._link)
        if not messages:
            self._others += payload + b"\n"
            return b"\n".join([*field_lines, b""]) + b"\n" if field_lines else b""
        first, *more = [b"data: " + _written(message) + b"\n\n" for message in messages]
        return b"".join([*(kept_line + b"\n" for kept_line in field_lines), first, *more])


def _written(message: SessionMessage) -> bytes:
    return message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()


# An MCP server over HTTP: no redirects, no compression, and a limit for one response.


FIRST_ERROR = 400
# Statuses that mean that the server cannot be used now; other errors are about the one request.
_REFUSING = (401, 403, 404, 407, 429)
_NO_SESSION = 404
_ACCEPTED = 202
_PROXY_PORT = 80
# Seconds for a connection and a request, and between two events of a stream: those of the library's own client.
_TIMEOUT_S, _EVENT_TIMEOUT_S = 30.0, 300.0


def reach_url(
    url: str, headers: Mapping[str, str], proxy: str | None = None, opened: tuple[OpenNetwork, ...] = ()
) -> Callable[[Link], AbstractAsyncContextManager[Streams]]:
    """Return the function that connects to a server at an address, with headers that go nowhere else.

    Neither proxies nor passwords (`.netrc`) of the environment are used.

    Args:
        url: The address.
        headers: Go with every request.
        proxy: An HTTP proxy, which looks up the server's name itself.
        opened: Networks that the server, or the proxy, may have an address in although its name looks public.
    """

    @contextlib.asynccontextmanager
    async def reach(link: Link) -> AsyncIterator[Streams]:
        kind = _client_class()
        transport = await _transport(kind, url, proxy, opened, link)
        client = _client(kind, {**headers, "accept-encoding": "identity"}, transport)
        client.event_hooks = {"response": [_checked(link, client)]}
        async with client, streamable_http_client(url, http_client=client) as (incoming, outgoing, *_):
            yield incoming, outgoing

    return reach


def _client_class() -> Any:
    """Return the class of clients that the library takes: packages change theirs between versions."""
    return get_args(get_type_hints(streamable_http_client)["http_client"])[0]


def _client(kind: Any, headers: Mapping[str, str], transport: Any) -> Any:
    timeout = importlib.import_module(library_of(kind)).Timeout(_TIMEOUT_S, read=_EVENT_TIMEOUT_S)
    return kind(headers=headers, timeout=timeout, follow_redirects=False, transport=transport, trust_env=False)


async def _transport(kind: Any, url: str, proxy: str | None, opened: tuple[OpenNetwork, ...], link: Link) -> Any:
    """Return the transport to a server: its address, or that of the proxy, is checked when it is connected to."""
    http = importlib.import_module(library_of(kind))
    verify = tls_context_for(kind)
    if proxy is None:

        def tell(fault: str) -> None:
            link.fault = fault

        return pinned_connections(http, http.AsyncHTTPTransport(verify=verify, trust_env=False), url, opened, tell)
    through = http.URL(proxy)
    try:
        addresses = await addresses_of(proxy, through.host, through.port or _PROXY_PORT, opened)
    except (OSError, UnopenedPlace) as error:
        link.fault = f"its proxy cannot be used: {error}"
        raise
    pinned = through.copy_with(host=addresses[0])
    return http.AsyncHTTPTransport(verify=verify, trust_env=False, proxy=pinned)


def _checked(link: Link, client: Any) -> Callable[[Any], Any]:
    """Return the function that checks each response before it is read."""
    http = importlib.import_module(library_of(type(client)))

    class CappedStream(http.AsyncByteStream):  # type: ignore[misc,name-defined]
        """The bytes of a response, up to the limit."""

        def __init__(self, inner: Any, read: ReadJson | ReadEvents | None) -> None:
            self._inner = inner
            self._read = read

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = MAX_MESSAGE_BYTES
            rest = b""
            async for chunk in self._inner:
                left -= len(chunk)
                if left < 0:
                    link.fault = f"it sent a response of more than {MAX_MESSAGE_BYTES:,} bytes"
                    raise http.ReadError(link.fault)
                # By whole lines: a character may be cut between two chunks.
                lines, end, rest = (rest + chunk).rpartition(b"\n")
                if end and (passed_lines := self._passed(lines + end)):
                    yield passed_lines
            if rest and (passed_lines := self._passed(rest)):
                yield passed_lines
            if self._read is not None:
                yield self._read.end()

        def _passed(self, lines: bytes) -> bytes:
            text = readable(lines)
            if text != lines:
                link.note(REPLACED)
            return text if self._read is None else self._read.feed(text)

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def check(response: Any) -> None:
        if response.status_code in _REFUSING or response.status_code >= 500:
            link.fault = f"it answered HTTP {response.status_code}"
            link.is_stale = link.is_stale or response.status_code == _NO_SESSION
        elif 300 <= response.status_code < FIRST_ERROR:
            link.fault = f"it answered HTTP {response.status_code}, and redirects are not followed"
            raise http.ReadError(link.fault)
        if response.headers.get("content-encoding", "identity") != "identity":
            link.fault = "it compresses its answers, which it was asked not to"
            raise http.ReadError(link.fault)
        response.stream = CappedStream(response.stream, _reader_of(response, link))

    return check


def _reader_of(response: Any, link: Link) -> ReadJson | ReadEvents | None:
    """Return the reader of the answer to a request; None for other bodies, or errors of the connection."""
    status = response.status_code
    request = request_in(response.request.content) if response.request.method == "POST" else None
    if request is None or status in (_ACCEPTED, *_REFUSING) or status >= 500:
        return None
    kind = str(response.headers.get("content-type", "")).lower()
    if status < FIRST_ERROR and kind.startswith("text/event-stream"):
        return ReadEvents(request, link)
    # Also a body of another declared type: the client would show no more than that type.
    response.headers["content-type"] = "application/json"
    return ReadJson(request, link, f"it answered HTTP {status}" if status >= FIRST_ERROR else "")


# The variables of our environment for a server; every other, keys above all, only by its `env`.
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
# First lines of programs that do not speak the protocol, before any message; other lines may be a log. And the longest
# silence after that: a server may have logged a traceback before it goes on.
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
    """Return the function that starts a server and connects to it.

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
    """Hand on each message of the server, until it ends or sends too large a message."""
    stdout, patience_s, answers = _pipe(process.stdout), None, False
    printed = b""
    async with to_session:
        while True:
            try:
                line = await asyncio.wait_for(stdout.readline(), patience_s)
            except TimeoutError:
                words = " ".join(printed.decode("utf-8", "replace").split())
                link.fault = f"it does not speak MCP on its stdout, where it printed: {shortened(words, _SHOWN)}"
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
            if not answers and (match := _NO_SERVER.match(line)) is not None:
                patience_s = max(patience_s or 0.0, AFTER_TRACEBACK_S if match[1] else SILENT_S)
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
    # Also after its end: its child processes may still run.
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
