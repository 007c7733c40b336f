"""Match the arguments of a call with a rule's globs: strictly for an allow, loosely for an ask or a deny."""

from __future__ import annotations

import posixpath
import re
import unicodedata
import urllib.parse
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import canonical_json

# Web addresses in one form: host as resolved, no default port, a path, so that rules compare their meaning.


_URL = re.compile(r"\s*(https?|wss?|ftp):[/\\]*([^/\\?#]*)([^?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
_DOTS = str.maketrans({"。": ".", "．": ".", "｡": "."})
_NUMERIC = re.compile(r"[0-9a-fx.]+", re.IGNORECASE)


def canonical_url(text: str) -> str | None:
    """Return a web address in its usual form; None if the text is not one.

    The host is lower-case ASCII without a final dot, the port of the scheme and the user are left out, and the path
    is decoded, without `.`, `..` and empty parts; an empty one is `/`.
    """
    match = _URL.fullmatch(text)
    if match is None:
        return None
    scheme, authority, path, rest = match.groups()
    scheme = scheme.lower()
    host, port = _host_and_port(authority.rpartition("@")[2])
    host_and_port = f"{host}:{port}" if port and port != _PORTS[scheme] else host
    return f"{scheme}://{host_and_port}{_path(path)}{rest}"


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
    """Return a glob with its address in the usual form; another text, or one with an open end, as it is."""
    match = _URL.fullmatch(glob)
    if match is None or ("*" in match[2] and not match[3]):
        return glob
    return canonical_url(glob) or glob


def without_query(url: str) -> str:
    """Return an address without its query and fragment."""
    return re.split(r"[?#]", url, maxsplit=1)[0]


def host_of(url: str) -> str:
    """Return the host of an address in its usual form, with its port if that differs from the default."""
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


_MAX_DECODINGS = 5
# A separator, a dot, a percent sign or a NUL that a tool may decode after the permission check.
_ENCODED = ("%2f", "%5c", "%2e", "%25", "%00")


def fits_every(value: Any, path: str, glob: str) -> bool:
    """Return whether an argument is present and every value of it matches, in an unambiguous spelling.

    Args:
        path: The argument's name, dotted if it is nested.
        glob: The glob; `*` matches within a path segment, `**` across segments.
    """
    items = list(_values(value, path.split(".")))
    return bool(items) and all(item is not _ABSENT and _fits_plainly(item, glob) for item in items)


def fits_any(value: Any, path: str, glob: str) -> bool:
    """Return whether any value of an argument matches, in any spelling; a single `*` matches every value."""
    items = [item for item in _values(value, path.split(".")) if item is not _ABSENT]
    if glob in ("*", "**"):
        return bool(items)
    globs = {form.casefold() for form in (glob, canonical_glob(glob))}
    return any(matches_glob(text, glob) for item in items for text in _spellings(item) for glob in globs)


def values_of(arguments: Any, path: str) -> list[Any]:
    """Return the values of an argument by its dotted path, those in lists one by one; a missing one is None."""
    return [None if item is _ABSENT else item for item in _values(arguments, path.split("."))]


class _Absent:
    """The value of an argument, or of an element of it, that the call does not contain."""


_ABSENT = _Absent()


def _values(value: Any, path: list[str]) -> Iterator[Any]:
    """Yield the values at a dotted path; lists are searched at every level, an empty one yields nothing."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _values(item, path)
    elif not path:
        yield value
    elif not isinstance(value, Mapping):
        yield _ABSENT
    else:
        yield from _below(value, path)


def _below(value: Mapping[Any, Any], path: list[str]) -> Iterator[Any]:
    # A key may contain dots, so every beginning of the path is tried as a key.
    ends = [end for end in range(1, len(path) + 1) if ".".join(path[:end]) in value]
    for end in ends:
        yield from _values(value[".".join(path[:end])], path[end:])
    if not ends:
        yield _ABSENT


def _fits_plainly(value: Any, glob: str) -> bool:
    text = value if isinstance(value, str) else canonical_json(value)
    url = canonical_url(text)
    return not is_doubtful(text) and matches_glob(url or text, canonical_glob(glob) if url else glob)


def is_doubtful(text: str) -> bool:
    """Return whether a text may mean another path or URL than it shows."""
    for form in (text, unicodedata.normalize("NFKC", text)):
        if "\\" in form or ".." in form.split("/") or any(unicodedata.category(char)[0] == "C" for char in form):
            return True
        if any(code in form.lower() for code in _ENCODED):
            return True
        scheme, mark, rest = form.partition("://")
        # `https://evil.example?.good.example/` has a host that a glob for `*.good.example` does not see.
        if mark and "/" not in scheme and any(char in rest.partition("/")[0] for char in "@?# "):
            return True
    return False


def _spellings(value: Any) -> set[str]:
    """Return the possible readings of a value, casefolded; of an address also its usual form."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    forms = readings(value if isinstance(value, str) else canonical_json(value))
    urls = {url for form in forms if (url := canonical_url(form))}
    forms |= urls | {without_query(url) for url in urls}
    return {form.casefold() for form in forms | {_direct(form) for form in forms}}


def readings(text: str) -> set[str]:
    """Return the possible readings of a text: as written, decoded, with plain separators, without hidden characters."""
    forms = {text, unicodedata.normalize("NFKC", text), _decoded(text), _decoded(unicodedata.normalize("NFKC", text))}
    forms |= {form.replace("\\", "/") for form in forms}
    visible = {"".join(char for char in form if unicodedata.category(char)[0] != "C") for form in forms}
    return forms | visible | {form.strip() for form in forms | visible}


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote  # few values need it

    for _ in range(_MAX_DECODINGS):
        if (once := unquote(text)) == text:
            break
        text = once
    return text


def _direct(text: str) -> str:
    """Return a path, or the path of a URL, without `.`, `..` and doubled separators."""
    scheme, mark, rest = text.partition("://")
    if mark and "/" not in scheme:
        host, slash, path = rest.partition("/")
        return f"{scheme}://{host}{posixpath.normpath(slash + path) if slash else ''}"
    return posixpath.normpath(text) if text else text


def matches_glob(text: str, glob: str) -> bool:
    """Return whether the whole text matches: `?` and `*` within a path segment, `**` across; the rest is literal.

    The time is proportional to the text for every glob, because the text may come from a model.
    """
    machine = _machine(glob)
    states = machine.closed(1)
    for char in text:
        states = machine.step(states, char)
        if not states:
            return False
    return bool(states >> machine.end & 1)


def may_begin(text: str, glob: str) -> bool:
    """Return whether a text that begins so, and has more characters, can match a glob."""
    machine = _machine(glob)
    states = machine.closed(1)
    for char in text:
        states = machine.step(states, char)
    return bool(states & ~(1 << machine.end))


@dataclass(frozen=True, slots=True)
class _Machine:
    """The automaton of a glob; each number has one bit for each token, and `end` is the bit after the last."""

    letters: Mapping[str, int]
    anything: int
    within: int
    across: int
    optional: int
    end: int

    def step(self, states: int, char: str) -> int:
        """Return the states after one more character."""
        is_separator = char == "/"
        fitting = self.letters.get(char, 0) | (0 if is_separator else self.anything)
        loops = self.across if is_separator else self.within | self.across
        return self.closed((states & fitting) << 1 | states & loops)

    def closed(self, states: int) -> int:
        """Return the states and those reachable without a character."""
        skippable = self.within | self.across | self.optional
        while True:
            # An optional part has three tokens: `optional`, a star and a separator.
            more = states | (states & skippable) << 1 | (states & self.optional) << 3
            if more == states:
                return states
            states = more


@lru_cache(maxsize=1024)
def _machine(glob: str) -> _Machine:
    tokens = _tokens(glob)

    def bits(kind: str) -> int:
        return sum(1 << position for position, token in enumerate(tokens) if token == kind)

    letters = {token[1:]: bits(token) for token in set(tokens) if token[0] == "="}
    return _Machine(letters, bits("?"), bits("*"), bits("**"), bits("optional"), len(tokens))


def _tokens(glob: str) -> list[str]:
    """Return a glob's tokens: `?`, `*`, `**`, `=x` for the letter x, `optional` before a `**/` that may be empty."""
    tokens: list[str] = []
    position = 0
    while position < len(glob):
        if not glob.startswith("**", position):
            tokens.append(glob[position] if glob[position] in "*?" else f"={glob[position]}")
            position += 1
            continue
        begins_segment = position == 0 or glob[position - 1] == "/"
        while glob.startswith("*", position):
            position += 1
        if begins_segment and glob.startswith("/", position):
            tokens.append("optional")
        tokens.append("**")
    return tokens


# Compare the address that a call connects to with a glob of addresses, or of hosts.


def connects_to(name: str, glob: str, kind: str = "url") -> bool:
    """Return whether an address, in any reading, is one that a glob of addresses or of hosts matches.

    Args:
        name: The address, or the host, of which every path may be meant.
        glob: The glob; one of hosts has no `://` and matches every port, one of addresses without a path every path.
        kind: The kind of the resource, `url` or `host`.
    """
    address_glob = _address_glob(glob.casefold())
    urls = {url.casefold() for reading in readings(name) for url in _urls(reading)}
    if "://" not in glob:
        return any(matches_glob(form, address_glob) for url in urls for form in _hosts_of(url))
    if any(matches_glob(form, address_glob) for url in urls for form in (url, without_query(url))):
        return True
    return kind == "host" and any(may_begin(url, address_glob) for url in urls)


def _urls(text: str) -> Iterator[str]:
    """Yield the addresses, in their usual form, that a text may mean."""
    for form in (text,) if "://" in text else (text, f"https://{text}", f"http://{text}"):
        if url := canonical_url(form):
            yield url


def _hosts_of(url: str) -> tuple[str, str]:
    host = host_of(url)
    return host, re.sub(r":\d+$", "", host)


def _address_glob(glob: str) -> str:
    """Return a glob of addresses in the usual form, all paths where it has none; one of hosts likewise."""
    if "://" not in glob:
        return canonical_host(glob)
    is_whole = "/" not in glob.partition("://")[2]
    return canonical_glob(f"{glob}/**" if is_whole else glob)


def connects_only_to(name: str, glob: str) -> bool:
    """Return whether an address is certainly one that a glob of addresses or of hosts matches."""
    url = canonical_url(name)
    if url is None or is_doubtful(name):
        return False
    return matches_glob(url if "://" in glob else host_of(url), _address_glob(glob))
