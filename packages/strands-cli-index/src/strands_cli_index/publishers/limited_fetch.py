"""Fetch a small document from an index: limits of size, time and redirects, and no address but of the web."""

from __future__ import annotations

import base64
import http.client
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO
from urllib.parse import unquote, urlsplit, urlunsplit

MAX_REDIRECTS = 3
SECONDS = 10.0
_CHUNK = 65_536
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class NotFetchedError(Exception):
    """A document could not be fetched; the text gives the reason, without a part of the address."""


@dataclass(frozen=True, slots=True)
class FetchedDocument:
    """A document: its bytes, its content type without parameters, and the address that it came from in the end."""

    content: bytes
    content_type: str
    url: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a document: bytes, and seconds from the request to the last byte."""

    bytes: int
    seconds: float = SECONDS


@dataclass(slots=True)
class _Outcome:
    document: FetchedDocument | None = None
    reason: str = "it does not answer in time"
    done: threading.Event = field(default_factory=threading.Event)


def fetch_limited(url: str, accept: str, limits: Limits, authorities: str | None = None) -> FetchedDocument:
    """Fetch a document.

    Args:
        url: `http` or `https`; a name and password in it are sent as basic authorisation to this host only.
        accept: The value of the header `Accept`.
        limits: Its limits.
        authorities: A file of certificates to use in place of the system's.

    Raises:
        NotFetchedError: The document cannot be had, or costs more.
    """
    outcome = _Outcome()

    def work() -> None:
        try:
            outcome.document = _fetched(url, accept, limits, authorities)
        except NotFetchedError as error:
            outcome.reason = str(error)
        except urllib.error.HTTPError as error:
            error.close()
            outcome.reason = f"it answers {error.code}"
        except (http.client.HTTPException, ValueError):
            outcome.reason = "its answer is not HTTP"
        except OSError as error:
            outcome.reason = _of_system(error)
        finally:
            outcome.done.set()

    # A thread, since a server that sends its headers byte by byte is never too slow for one read.
    threading.Thread(target=work, daemon=True, name="strands-index").start()
    if not outcome.done.wait(limits.seconds) or outcome.document is None:
        raise NotFetchedError(outcome.reason)
    return outcome.document


def _of_system(error: OSError) -> str:
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return "it does not answer in time"
    if isinstance(reason, ssl.SSLError):
        return "its certificate is not accepted"
    return f"it cannot be reached ({getattr(reason, 'strerror', None) or type(reason).__name__})"


def _fetched(url: str, accept: str, limits: Limits, authorities: str | None) -> FetchedDocument:
    plain, headers = _without_password(url)
    request = urllib.request.Request(plain, headers={"Accept": accept, "User-Agent": "strands-cli"})  # noqa: S310
    for name, value in headers.items():
        request.add_unredirected_header(name, value)
    with _opener(plain, authorities).open(request, timeout=limits.seconds) as answer:
        content = _read(answer, limits.bytes)
        return FetchedDocument(content, answer.headers.get_content_type(), answer.url)


def _opener(url: str, authorities: str | None) -> urllib.request.OpenerDirector:
    """Return an opener of the web alone: the usual one also opens files of this machine."""
    opener = urllib.request.OpenerDirector()
    is_here = urlsplit(url).hostname in _LOOPBACK  # a proxy cannot reach this machine
    context = ssl.create_default_context(cafile=authorities)
    for handler in (
        urllib.request.ProxyHandler({} if is_here else None),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=context),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        _FewRedirects(),
    ):
        opener.add_handler(handler)
    return opener


class _FewRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a few redirects, none from https to http."""

    max_redirections = MAX_REDIRECTS
    max_repeats = MAX_REDIRECTS

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Return the next request."""
        scheme = urlsplit(newurl).scheme
        reason = ""
        if scheme not in ("http", "https") or (scheme == "http" and req.type == "https"):
            reason = "it redirects to an address that is not followed"
        elif len(getattr(req, "redirect_dict", {})) >= MAX_REDIRECTS:
            reason = "it redirects too often"
        if reason:
            fp.close()  # urllib leaves the answer open where this raises
            raise NotFetchedError(reason)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _read(answer: http.client.HTTPResponse, limit: int) -> bytes:
    if int(answer.headers.get("Content-Length") or 0) > limit:
        raise NotFetchedError(_too_large(limit))
    content = bytearray()
    while chunk := answer.read1(_CHUNK):
        content += chunk
        if len(content) > limit:
            raise NotFetchedError(_too_large(limit))
    return bytes(content)


def _too_large(limit: int) -> str:
    return f"its answer is larger than {limit // 1_000_000} MB"


def _without_password(url: str) -> tuple[str, Mapping[str, str]]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise NotFetchedError("its address is not one of the web")
    user, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, {}
    name, _, password = user.partition(":")
    token = base64.b64encode(f"{unquote(name)}:{unquote(password)}".encode()).decode()
    return urlunsplit(parts._replace(netloc=host)), {"Authorization": f"Basic {token}"}
