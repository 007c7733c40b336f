"""Where indexes are: folders and addresses, from the command line or from `indexes:` in the user's config file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from strands_cli.api import ConfigPart, UsageError

# The package index that pip uses, as a word for `--index`.
PIP = "pip"
MAX_PLACES = 20
_SEE = "see: strands explain plugin-indexes"
_FIX = "name a folder (./site) or an address (https://tools.example.org/strands/)"


@dataclass(frozen=True, slots=True)
class IndexLocation:
    """An index: a folder of this machine, or an address that ends with `/`.

    Exactly one of `folder` and `url` is set, except for pip's own index, which has neither.
    """

    folder: Path | None = None
    url: str | None = None

    def __str__(self) -> str:
        return self.url or (str(self.folder) if self.folder else PIP)


def parse_location(text: str, base: Path | None = None) -> IndexLocation:
    """Return the index that a text names.

    Args:
        base: The folder that a relative path begins at; the current one by default.

    Raises:
        UsageError: It is an address that may not be used, or empty.
    """
    if text == PIP:
        return IndexLocation()
    if fault := _fault_of(text):
        raise UsageError(f"{_shown(text)} is not an index: {fault[0]}", fix=fault[1])
    if "://" in text:
        return IndexLocation(url=text if text.endswith("/") else f"{text}/")
    folder = Path(os.path.expanduser(text))  # noqa: PTH111 - a text
    return IndexLocation(folder=Path(os.path.normpath((base or Path.cwd()) / folder)))


def parse_locations(texts: Iterable[str]) -> tuple[IndexLocation, ...]:
    """Return the indexes that texts name, each once.

    Raises:
        UsageError: One of them is not an index, or there are more than `MAX_PLACES`.
    """
    places = tuple(dict.fromkeys(parse_location(text) for text in texts))
    if len(places) > MAX_PLACES:
        raise UsageError(f"there are {len(places)} indexes; at most {MAX_PLACES} are read", fix="name fewer")
    return places


def configured_locations(config: Path | None = None) -> tuple[IndexLocation, ...]:
    """Return the indexes of a config file, by default that of this user, in its order; none without a file.

    Raises:
        InvalidInput: The file cannot be read, its `indexes` are wrong, or others can change it.
    """
    part = ConfigPart.read("indexes", "plugin-indexes", config)
    if part is None:
        return ()
    value, places = part.value, []
    texts = value if isinstance(value, list) else [] if value is None else [value]
    for index, text in enumerate(texts):
        pointer = f"/indexes/{index}" if texts is value else "/indexes"
        fault = _fault_of(text) if isinstance(text, str) else ("it is not a text", _FIX)
        if fault or index >= MAX_PLACES:
            message, fix = fault or (f"at most {MAX_PLACES} are read", "remove some")
            part.report(pointer, f"{_shown(text)} is not an index: {message}", fix)
        else:
            places.append(parse_location(text, part.folder))
    part.require_valid()
    return tuple(dict.fromkeys(places))


def _fault_of(text: str) -> tuple[str, str] | None:
    """Return the fault of the text of an index and the correction; None without a fault."""
    if not text.strip() or text.startswith("-") or not text.isprintable():
        return "it is neither a folder nor an address", _FIX
    if "://" not in text:
        return None
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "it is not a whole address", _FIX
    if not host or not text.isascii() or " " in text or parts.query or parts.fragment:
        return "it is not a whole address without `?` and `#`", _FIX
    if parts.username is not None or parts.password is not None:
        return "it contains credentials", "remove them, and put them into ~/.netrc"
    try:
        is_here = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_here = False
    if parts.scheme != "https" and not (parts.scheme == "http" and is_here):
        return "an index that is not on this machine is read by https only", "write https://"
    return None


def _shown(text: object) -> str:
    """Return a text for a message, without the credentials that an address may have."""
    whole = str(text)[:200]
    if "://" in whole and "@" in whole:
        scheme, _, rest = whole.partition("://")
        whole = f"{scheme}://...@{rest.rpartition('@')[2]}"
    return repr(whole)
