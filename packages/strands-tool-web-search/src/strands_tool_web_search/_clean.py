"""Untrusted text made safe to show: without hidden characters, of bounded length; and addresses of pages."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import httpx

_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
# Drawn as nothing although their category says letter or mark; text can be hidden in them.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]")
_LINES = re.compile(r"\n{3,}")
_HOST = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*|[0-9a-fA-F:.]+")
_MAX_URL = 2_000


def line_of(text: Any, limit: int) -> str:
    """Return a text as one line of at most `limit` characters; any other value gives an empty text."""
    if not isinstance(text, str):
        return ""
    return _cut(_one_line(text[: 4 * limit]), limit)


def lines_of(text: Any, limit: int) -> str:
    """Return a text of several lines, at most `limit` characters; any other value gives an empty text."""
    if not isinstance(text, str):
        return ""
    lines = map(_one_line, text[: 4 * limit].splitlines())
    return _cut(_LINES.sub("\n\n", "\n".join(lines)).strip(), limit)


def _one_line(text: str) -> str:
    # White space first, since a line end is a control character too; again, since a hidden one may be between two.
    return " ".join(_visible_text(" ".join(text.split())).split())


def _visible_text(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(char for char in _UNSEEN.sub("", text) if unicodedata.category(char) not in _HIDDEN)


def _cut(text: str, limit: int) -> str:
    text = text.strip()
    return text if len(text) <= limit else f"{text[: limit - 3].rstrip()}..."


def web_address(text: Any) -> str:
    """Return an http or https address in ASCII, or an empty text for everything else.

    Left out as well are addresses with a user name, which show one host and lead to another.
    """
    if not isinstance(text, str) or len(text) > _MAX_URL:
        return ""
    try:
        url = httpx.URL(text.strip())
        address = str(url)
    except (httpx.InvalidURL, ValueError, TypeError, UnicodeError):
        return ""
    is_web = url.scheme in ("http", "https") and not url.userinfo and "@" not in url.netloc.decode("ascii")
    has_host = _HOST.fullmatch(url.raw_host.decode("ascii")) and (url.port is None or 0 < url.port < 65_536)
    is_plain = (
        address.isascii() and address.isprintable() and not set(address) & set(' <>"\\') and len(address) <= _MAX_URL
    )
    return address if is_web and has_host and is_plain else ""
