"""The result page of DuckDuckGo's HTML search, read without trusting it."""

from __future__ import annotations

import html.parser
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from strands_tool_kit.markup import feed_page
from strands_tool_web_search._clean import line_of, web_address

MAX_TITLE = 200
MAX_SNIPPET = 500
_MAX_FOUND = 60
_MAX_PART = 4_000
SECONDS = 3.0
_SERVICE = "duckduckgo.com"
_EMPTY = re.compile(r"\s*no\s+(more\s+)?results\b", re.IGNORECASE)
# The fields of the form that leads to the next page; the query is always our own.
_FIELDS = frozenset(("s", "nextParams", "v", "o", "dc", "api", "vqd", "kl", "kp", "df", "b"))


@dataclass(frozen=True, slots=True)
class Hit:
    """One result: cleaned text, and an http or https address; news may have a source and a day."""

    title: str
    url: str
    snippet: str
    source: str = ""
    published_date: str = ""

    def described(self) -> dict[str, str]:
        """Return it as JSON, without absent fields."""
        more = {"source": self.source, "published_date": self.published_date}
        first = {"title": self.title, "url": self.url, "snippet": self.snippet}
        return {**first, **{name: value for name, value in more.items() if value}}


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a result page.

    Attributes:
        hits: The results without advertisements.
        left_out: How many results had no usable address.
        following: The fields of the form that leads on, if there is one.
        is_challenge: Whether the page asks for a proof that a person is there.
        is_known: Whether it is a result page: it has results, if only advertisements, or says that there are none.
        is_cut: Whether it was too long to be read to its end.
    """

    hits: tuple[Hit, ...]
    left_out: int
    following: Mapping[str, str] | None
    is_challenge: bool
    is_known: bool
    is_cut: bool


@dataclass(slots=True)
class _PartialHit:
    """A result whose parts are still coming."""

    is_ad: bool
    href: str = ""
    title: list[str] = field(default_factory=list)
    snippet: list[str] = field(default_factory=list)


async def read_page(text: str) -> Page:
    """Return the content of a result page; other tasks run while it is read."""
    reader = _Reader()
    is_whole = await feed_page(reader, text, seconds=SECONDS, is_full=lambda: len(reader.results) > _MAX_FOUND)
    return reader.page(is_cut=not is_whole)


class _Reader(html.parser.HTMLParser):
    """Collects results, and the form that leads to the next page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.results: list[_PartialHit] = []
        self._into: list[str] | None = None
        self._until = ""
        self._left = 0
        self._forms: list[dict[str, str]] = []
        self._is_challenge = False
        self._is_empty = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        words = {name: value or "" for name, value in reversed(attrs)}
        classes = words.get("class", "").split()
        if any(name.startswith("anomaly-modal") for name in classes) or words.get("id") == "challenge-form":
            self._is_challenge = True
        if any("no-result" in name for name in classes):
            self._is_empty = True
        if "result" in classes and tag in ("div", "article", "li"):
            self._into = None
            self.results.append(_PartialHit(is_ad=any("--ad" in name for name in classes)))
        elif tag == "a" and "result__a" in classes:
            self._begin_title(words.get("href", ""))
        elif "result__snippet" in classes and self.results:
            self._into, self._until, self._left = self.results[-1].snippet, tag, _MAX_PART
        elif tag == "form":
            self._forms.append({})
        elif tag == "input" and self._forms and words.get("name") in _FIELDS:
            self._forms[-1].setdefault(words["name"], words.get("value", "")[:500])

    def _begin_title(self, href: str) -> None:
        # A page of a simpler form may have titles without a container for each.
        if not self.results or self.results[-1].href:
            self.results.append(_PartialHit(is_ad=False))
        self.results[-1].href = href
        self._into, self._until, self._left = self.results[-1].title, "a", _MAX_PART

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        if tag == self._until:
            self._into = None

    def handle_data(self, data: str) -> None:
        """Take text of a title or a snippet."""
        if self._into is None:
            self._is_empty |= _EMPTY.match(data) is not None
        elif self._left > 0:
            self._into.append(data[: self._left])
            self._left -= len(data)

    def unknown_decl(self, data: str) -> None:
        """Pass over a declaration; the standard parser would raise for some."""

    def page(self, *, is_cut: bool) -> Page:
        """Return the collected results."""
        hits, left_out, is_known = [], 0, self._is_empty
        for result in self.results:
            url, is_ad = unwrapped(result.href)
            is_known |= bool(result.href)
            if is_ad or result.is_ad or not result.href:
                continue
            if url:
                title = line_of("".join(result.title), MAX_TITLE)
                hits.append(Hit(title or url, url, line_of("".join(result.snippet), MAX_SNIPPET)))
            else:
                left_out += 1
        return Page(tuple(hits), left_out, self._following(), self._is_challenge, is_known, is_cut)

    def _following(self) -> dict[str, str] | None:
        """Return the form that leads furthest on; the one that leads back has a smaller start."""
        leading = [form for form in self._forms if re.fullmatch("[0-9]{1,4}", form.get("s", ""))]
        return max(leading, key=lambda form: int(form["s"]), default=None)


def unwrapped(href: str) -> tuple[str, bool]:
    """Return the address that a link of the page leads to in the end, and whether it is an advertisement."""
    href = f"https:{href}" if href.startswith("//") else href
    try:
        parts = urlsplit(href)
        host = (parts.hostname or "").lower()
        if host != _SERVICE and not host.endswith(f".{_SERVICE}"):
            return web_address(href), False
        if parts.path == "/y.js":
            return "", True
        if parts.path.rstrip("/") == "/l":
            return web_address((parse_qs(parts.query, max_num_fields=20).get("uddg") or [""])[0]), False
    except ValueError:
        return "", False
    return web_address(href), False
