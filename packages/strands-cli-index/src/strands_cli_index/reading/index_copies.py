"""Read a file of an index: from its folder, or from its server with a copy for the time without a network."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from strands_cli.api import Finding, NotEquipped, Where
from strands_cli_index.reading.index_places import IndexLocation
from strands_cli_index.reading.site_files import INDEX_UNREACHABLE, KIND, MAX_BYTES, refused_index
from strands_cli_index.wheel_facts import read_start


@dataclass(frozen=True, slots=True)
class Part:
    """A file of an index.

    Attributes:
        raw: Its contents.
        file: Its path or address.
        remark: Why it may be old; None if it is the present one.
    """

    raw: bytes
    file: str
    remark: str | None = None


def read_part(location: IndexLocation, name: str) -> Part:
    """Return a file of an index, of at most 20 MB; without its server the copy that was read last.

    Raises:
        NotEquipped: The folder or the server cannot be read, and there is no copy.
        InvalidInput: The file is too large.
    """
    if location.url is None:
        return _of_folder(location, name)
    from strands_cli_index.reading.web_server import fetch  # the network; a folder needs none

    url, copy = f"{location.url}{name}", _copy_of(location, name)
    etag, copy_of_part = _read_copy(copy)
    try:
        answer = fetch(url, MAX_BYTES, etag if copy_of_part is not None else None)
    except NotEquipped as error:
        if copy_of_part is None:
            raise
        return Part(copy_of_part, url, f"{error.message}; this is the copy that was read last")
    if answer.raw is None:
        if copy_of_part is None:
            raise refused_index("its server answers that a file has not changed which it never sent", Where(url))
        return Part(copy_of_part, url)
    if _may_be_index(answer.raw):  # the page of a proxy must not replace a good copy
        _write_copy(copy, answer.etag, answer.raw)
    return Part(answer.raw, url)


def _of_folder(location: IndexLocation, name: str) -> Part:
    path = (location.folder or Path()) / name
    try:
        raw = read_start(path, MAX_BYTES + 1)
    except OSError as error:
        message = f"the index {location} cannot be read: {error.strerror} ({name})"
        fix = f"name a folder that this has made: strands plugin index build WHEELHOUSE -o {location}"
        raise NotEquipped(message, findings=[Finding(INDEX_UNREACHABLE, message, Where(str(path)), fix)]) from None
    if len(raw) > MAX_BYTES:
        raise refused_index(f"the file is larger than {MAX_BYTES:,} bytes", Where(str(path)))
    return Part(raw, str(path))


def _copy_of(location: IndexLocation, name: str) -> Path | None:
    folder = _cache_folder()
    key = hashlib.sha256((location.url or "").encode()).hexdigest()[:32]
    return folder / "indexes" / key / name if folder else None


def _read_copy(copy: Path | None) -> tuple[str | None, bytes | None]:
    """Return the tag and the contents of a copy: one file, so that they belong together."""
    if copy is None:
        return None, None
    try:
        head, _, raw = copy.read_bytes().partition(b"\n")
        etag = json.loads(head)["etag"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None, None
    return (etag if isinstance(etag, str) else None), raw


def _may_be_index(raw: bytes) -> bool:
    """Return whether a file looks whole: a name for its kind, and the end, written last."""
    return KIND.encode() in raw and raw.rstrip().endswith(b"}")


def _write_copy(copy: Path | None, etag: str | None, raw: bytes) -> None:
    if copy is None:
        return
    with suppress(OSError):  # a copy is not necessary
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        head = json.dumps({"etag": etag}).encode()
        partial = copy.with_name(f".{secrets.token_hex(8)}.partial")
        try:
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
                opened.write(head + b"\n" + raw)
            partial.replace(copy)
        finally:
            partial.unlink(missing_ok=True)


def _cache_folder() -> Path | None:
    """Return this platform's folder for a user's copies (XDG, Caches, LOCALAPPDATA); None without a home."""
    try:
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA")
            return (Path(local) if local else Path.home() / "AppData" / "Local") / "strands-cli" / "cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "strands-cli"
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (named if named.is_absolute() else Path.home() / ".cache") / "strands-cli"
    except RuntimeError:
        return None
