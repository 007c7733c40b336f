"""Web addresses in one form: host as resolved, no default port, a path, so that rules compare what is meant."""

from __future__ import annotations

import re
import unicodedata
import urllib.parse

_URL = re.compile(r"\s*(https?|wss?|ftp):[/\\]*([^/\\?#]*)([^?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
_DOTS = str.maketrans({"。": ".", "．": ".", "｡": "."})
_NUMERIC = re.compile(r"[0-9a-fx.]+", re.IGNORECASE)


def canonical_url(text: str) -> str | None:
    """Return a web address in its usual form; None if the text is not one.

    The host is lower-case ASCII without a final dot, the port of the scheme and the user are left out, and the path
    is decoded, without `.`, `..` and empty parts; an empty one is `/`.
    """
    found = _URL.fullmatch(text)
    if found is None:
        return None
    scheme, authority, path, rest = found.groups()
    scheme = scheme.lower()
    host, port = _host_and_port(authority.rpartition("@")[2])
    shown = f"{host}:{port}" if port and port != _PORTS[scheme] else host
    return f"{scheme}://{shown}{_path(path)}{rest}"


def _path(path: str) -> str:
    """Return a path as a server may read it: decoded, without `.`, `..` and empty parts."""
    plain = urllib.parse.unquote(path).replace("\\", "/")
    parts: list[str] = []
    for part in plain.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts) + ("/" if parts and plain.endswith("/") else "")


def canonical_glob(glob: str) -> str:
    """Return a glob with its address in the usual form; what is not an address, or has an open end, as it is."""
    found = _URL.fullmatch(glob)
    if found is None or ("*" in found[2] and not found[3]):
        return glob
    return canonical_url(glob) or glob


def without_query(url: str) -> str:
    """Return an address without its query and fragment."""
    return re.split(r"[?#]", url, maxsplit=1)[0]


def host_of(url: str) -> str:
    """Return the host of an address in its usual form, with its port if that is not the default one."""
    return url.partition("://")[2].partition("/")[0]


def _host_and_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        host, _, port = authority.partition("]")
        address = _address(host[1:])
        return f"[{address}]" if ":" in address else address, port.removeprefix(":")
    host, _, port = authority.partition(":")
    return canonical_host(host), port.strip().lstrip("0")


def canonical_host(host: str) -> str:
    """Return a host as it is resolved: lower-case ASCII, without a final dot, numbers as a dotted address."""
    plain = unicodedata.normalize("NFKC", host).translate(_DOTS).strip().lower()
    if plain != ".":
        plain = plain.rstrip(".")
    if _NUMERIC.fullmatch(plain) and (number := _dotted(plain)):
        return number
    if plain.isascii():
        return plain
    try:
        return plain.encode("idna").decode("ascii")
    except UnicodeError:
        return plain


def _dotted(text: str) -> str | None:
    """Return an address of numbers as resolvers read it (`0x7f.1`, `2130706433`), in four decimal parts."""
    import socket  # only where a host is a number

    try:
        return socket.inet_ntoa(socket.inet_aton(text))
    except OSError:
        return None


def _address(text: str) -> str:
    import ipaddress  # only where a host is in brackets

    try:
        address = ipaddress.IPv6Address(text.partition("%")[0])
    except ValueError:
        return text.lower()
    return str(address.ipv4_mapped or address)
