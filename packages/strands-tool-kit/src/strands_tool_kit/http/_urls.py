"""URLs in the one form to check and connect to."""

from __future__ import annotations

import re

import httpx

from strands_tool_kit import ToolError
from strands_tool_kit.http._addresses import parse_address

_PORTS = {"http": 80, "https": 443}
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
# A name whose last label is a number is an address in disguise to some resolvers: 127.1, 0x7f.1, 2130706433.
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_MAX_URL = 8192


def port_of(url: httpx.URL) -> int:
    """Return the port that a URL leads to."""
    return url.port if url.port is not None else _PORTS[url.scheme]


def origin_of(url: httpx.URL) -> tuple[str, str, int]:
    """Return scheme, host and port."""
    return url.scheme, url.raw_host.decode("ascii"), port_of(url)


def shown_origin(url: httpx.URL) -> str:
    """Return scheme, host and port as text, without possible private parts in a path or query."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def parse_url(text: str, base: httpx.URL | None = None) -> httpx.URL:
    """Parse a URL as it will be used, relative to `base` if there is one.

    Raises:
        ToolError: `invalid_input` for a form that could mean another place than it shows.
    """
    if len(text) > _MAX_URL:
        raise _bad_url(f"has {len(text)} characters; the limit is {_MAX_URL}", "length")
    # Parsers disagree about these, so that one host could be checked and another one meant.
    if any(char <= " " or char in "\\\x7f" or 0xD800 <= ord(char) <= 0xDFFF for char in text):
        raise _bad_url("has a space, a control character or a backslash", "url")
    try:
        url = base.join(text) if base is not None else httpx.URL(text)
    except (httpx.InvalidURL, ValueError, TypeError, UnicodeError) as error:
        raise _bad_url(f"cannot be parsed: {str(error)[:200]}", "url") from None
    if url.scheme not in _PORTS:
        raise _bad_url("must begin with http:// or https://", "scheme")
    if url.userinfo or "@" in text.partition("://")[2].partition("/")[0].partition("?")[0].partition("#")[0]:
        raise _bad_url("may not carry a user name or password", "userinfo")
    host = ascii_host(url.raw_host.decode("ascii"))
    if host is None:
        raise _bad_url("has no host, or a host in a form that is not accepted", "host")
    if url.port is not None and not 0 < url.port < 65_536:
        raise _bad_url("has an impossible port", "port")
    try:
        parsed = url.copy_with(host=host, fragment=None)
        _ = parsed.host  # decodes `xn--` names, as the client will, and raises where that cannot be done
        return parsed
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise _bad_url(f"cannot be parsed: {str(error)[:200]}", "url") from None


def _bad_url(problem: str, reason: str) -> ToolError:
    return ToolError("invalid_input", f"the URL {problem}", reason=reason, field="url")


def ascii_host(host: str) -> str | None:
    """Return a host in the one form to compare and connect to, or None for another text."""
    if (address := parse_address(host)) is not None:
        return str(address)
    try:
        name = (host if host.isascii() else httpx.URL(f"http://{host}").raw_host.decode("ascii")).lower()
    except (httpx.InvalidURL, UnicodeError):
        return None
    name = name.removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or _NUMBER.fullmatch(labels[-1]) or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    return name
