"""The only place where requests may go: one origin, and the paths below one path."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import unquote

import httpx

from strands_tool_kit import ToolError
from strands_tool_kit.http._urls import origin_of, parse_url, shown_origin

_MAX_DECODINGS = 5
_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# Controls, invisible characters, halves of pairs, line ends.
_CLOSED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Characters that some servers take for another, similar one, beyond those of Unicode itself (NFKC).
_LOOKALIKES = str.maketrans(
    {"\u2215": "/", "\u2044": "/", "\u29f8": "/", "\u2216": "\\", "\u29f5": "\\", "\u3002": "."}
)


@dataclass(frozen=True, slots=True)
class UrlScope:
    """One origin, and the paths below one path of it.

    Attributes:
        origin: Scheme, host and port, as text.
        path: The path as it is sent: empty, or with a slash at its start and none at its end.
    """

    origin: str
    path: str

    @classmethod
    def of(cls, base_url: str) -> UrlScope:
        """Read a base URL.

        Raises:
            ToolError: `invalid_input`; the URL is malformed, or has a query or a path with detours.
        """
        url = parse_url(base_url)
        written = base_url.partition("://")[2].partition("/")
        if any(char in base_url for char in "?#"):
            raise ToolError("invalid_input", "the base URL has a query or a fragment", reason="url", field="base_url")
        path = f"/{written[2]}" if written[1] else "/"
        if (fault := fault_of(path)) is not None:
            raise ToolError("invalid_input", f"the path of the base URL {fault}", reason="url", field="base_url")
        return cls(shown_origin(url), _path_of(url).rstrip("/"))

    def __str__(self) -> str:
        return f"{self.origin}{self.path}"

    def url_of(self, path: str) -> httpx.URL:
        """Return the URL of a path inside the scope.

        Raises:
            ToolError: `invalid_input`; the path could lead out of the scope.
        """
        if (fault := fault_of(path)) is not None:
            raise ToolError("invalid_input", f"the path {fault}", reason="path", field="path")
        url = parse_url(f"{self}{path}")
        if not self.holds(url):
            raise ToolError("invalid_input", f"the path leads away from {self}", reason="path", field="path")
        return url

    def holds(self, url: httpx.URL) -> bool:
        """Return whether a URL is inside the scope, however a server reads its path."""
        if origin_of(url) != origin_of(httpx.URL(self.origin)):
            return False
        path = _path_of(url)
        return (path == self.path or path.startswith(f"{self.path}/")) and fault_of(path) is None


def fault_of(path: str) -> str | None:
    """Return how some server could read a path as another place than it shows, or None.

    Servers decode once or more often, take one character for another, and treat `..;x` like `..`; a path must have
    no detour in any of these readings.
    """
    if not path.startswith("/"):
        return "must begin with a slash; it is added to the base URL"
    if "?" in path or "#" in path:
        return "has '?' or '#'; parameters are given under 'query'"
    if _NO_ESCAPE.search(path):
        return "has a '%' that begins no escape; write %25 for the sign itself"
    readings = _readings(path)
    if readings is None:
        return "is escaped too many times, or its escapes are not UTF-8"
    return next(filter(None, map(_detour_in, readings)), None)


def _readings(path: str) -> list[str] | None:
    """Return a path at each level of decoding, each also in plain characters; None if the levels have no end."""
    forms = [path]
    try:
        while (decoded := unquote(forms[-1], errors="strict")) != forms[-1]:
            forms.append(decoded)
            if len(forms) > _MAX_DECODINGS:
                return None
    except UnicodeDecodeError:
        return None
    plain = [unicodedata.normalize("NFKC", form).translate(_LOOKALIKES) for form in forms]
    return [*forms, *plain]


def _detour_in(path: str) -> str | None:
    if "\\" in path or any(unicodedata.category(char) in _CLOSED for char in path):
        return "has a backslash, or a control or invisible character"
    if "//" in path:
        return "has an empty segment ('//')"
    for segment in path.split("/"):
        # A parameter (`..;x`) and blanks at the end are not part of the name to some servers.
        name = segment.partition(";")[0].strip()
        if name and not name.strip("."):
            return "has a segment of dots, which leads elsewhere"
    return None


def _path_of(url: httpx.URL) -> str:
    return url.raw_path.partition(b"?")[0].decode("ascii")
