"""Get a file from the web server of an index: https, one server, a limit of size and of time, nothing else."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import netrc
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from strands_cli.api import Finding, InvalidInput, NotEquipped, Where
from strands_cli_index.reading.site_files import BAD_INDEX, INDEX_UNREACHABLE

# How long the files of an index take at most, and a wheel.
SECONDS = 10.0
WHEEL_SECONDS = 600.0
_BLOCK = 65_536


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """A server's answer; `raw` is None where the copy with the given tag is still the newest."""

    raw: bytes | None
    etag: str | None


def fetch(url: str, limit: int, etag: str | None = None, seconds: float = SECONDS) -> ServerAnswer:
    """Return a file of at most `limit` bytes.

    Args:
        etag: The tag of the present copy; a server with the same one sends no file.
        seconds: How long it takes at most.

    Raises:
        NotEquipped: The server does not answer in time, or with an error.
        InvalidInput: The file is too large.
    """
    headers = {"If-None-Match": etag} if etag else {}
    blocks: list[bytes] = []
    answer = _in_time(lambda until: _read(url, headers, limit, until, blocks.append), url, seconds)
    return ServerAnswer(None if answer is None else b"".join(blocks), (answer or {}).get("etag"))


def download(url: str, target: Path, limit: int, seconds: float = WHEEL_SECONDS) -> str:
    """Write a file of at most `limit` bytes, and return its SHA-256 in hex.

    Raises:
        NotEquipped: The server does not answer in time, or with an error.
        InvalidInput: The file is larger.
    """
    digest = hashlib.sha256()
    with target.open("wb") as stream:
        _in_time(lambda until: _read(url, {}, limit, until, lambda block: _both(stream, digest, block)), url, seconds)
    return digest.hexdigest()


def _both(stream: IO[bytes], digest: Any, block: bytes) -> None:
    stream.write(block)
    digest.update(block)


def _in_time(work: Callable[[float], dict[str, str] | None], url: str, seconds: float) -> dict[str, str] | None:
    """Do the work in a thread that is given up when the time is over: a server can send its head slowly."""
    future: Future[dict[str, str] | None] = Future()

    def run() -> None:
        try:
            future.set_result(work(time.monotonic() + seconds))
        except BaseException as error:  # noqa: BLE001 - the waiting thread gets it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="strands-index").start()
    try:
        return future.result(seconds)
    except TimeoutError:
        raise unreachable(url, f"it did not answer within {seconds:g} seconds") from None
    except urllib.error.HTTPError as error:
        raise unreachable(url, f"it answered with {error.code}") from None
    except urllib.error.URLError as error:
        reason = getattr(error.reason, "strerror", None) or str(error.reason)
        raise unreachable(url, reason) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise unreachable(url, getattr(error, "strerror", None) or type(error).__name__) from None


def unreachable(location: str, reason: str) -> NotEquipped:
    """Return the error for an index that cannot be read now."""
    message = f"the index {location} cannot be read: {reason}"
    return NotEquipped(message, findings=[Finding(INDEX_UNREACHABLE, message, Where(location))])


class _SameServer(urllib.request.HTTPRedirectHandler):
    """Follows redirects that stay at the server, since a person has named no other one."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if (old.scheme, old.netloc) != (new.scheme, new.netloc):
            fp.close()  # urllib leaves the answer open where this raises
            raise urllib.error.URLError("it leads to another server, which is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _read(
    url: str, headers: dict[str, str], limit: int, until: float, take: Callable[[bytes], Any]
) -> dict[str, str] | None:
    """Take the blocks of a file and return its headers; None where it has not changed."""
    more = {"User-Agent": "strands-cli", **headers, **_credentials(urlsplit(url).hostname or "")}
    opener = urllib.request.build_opener(_SameServer)
    try:
        # The address was parsed before: https, or http to this machine.
        request = urllib.request.Request(url, headers=more)  # noqa: S310
        with opener.open(request, timeout=max(0.1, until - time.monotonic())) as answer:
            _read_blocks(url, answer, limit, until, take)
            return {name.lower(): value for name, value in answer.headers.items()}
    except urllib.error.HTTPError as error:
        with error:
            if error.code == http.client.NOT_MODIFIED:
                return None
        raise


def _read_blocks(url: str, answer: Any, limit: int, until: float, take: Callable[[bytes], Any]) -> None:
    size, stated = 0, answer.headers.get("Content-Length", "")
    if stated.isdecimal() and int(stated) > limit:
        raise _too_large(url, limit)
    while block := answer.read1(_BLOCK):
        size += len(block)
        if size > limit:
            raise _too_large(url, limit)
        if time.monotonic() > until:
            raise TimeoutError
        take(block)
    if stated.isdecimal() and size < int(stated):
        raise http.client.IncompleteRead(b"", int(stated) - size)


def _too_large(url: str, limit: int) -> InvalidInput:
    message = f"the index cannot be used: the file is larger than {limit:,} bytes"
    return InvalidInput(message, findings=[Finding(BAD_INDEX, message, Where(url))])


def _credentials(host: str) -> dict[str, str]:
    """Return the header with the name and the password of a server from `~/.netrc`, as pip has them."""
    with contextlib.suppress(OSError, netrc.NetrcParseError, RuntimeError):
        authenticators = netrc.netrc().authenticators(host)
        if authenticators and authenticators[2]:
            pair = base64.b64encode(f"{authenticators[0]}:{authenticators[2]}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
    return {}
