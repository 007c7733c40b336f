"""The readable part of an HTML page, as Markdown or as plain text."""

from __future__ import annotations

import html.parser
import re
from collections import Counter
from dataclasses import dataclass, field

import httpx

from strands_tool_kit.markup import feed_page

_BLOCKS = frozenset(
    (
        *("p", "div", "section", "article", "main", "header", "footer", "aside", "figure", "figcaption", "address"),
        *("ul", "ol", "dl", "dt", "dd", "table", "form", "fieldset", "details", "summary", "hgroup", "body", "center"),
    )
)
_SKIPPED = frozenset({"nav", "dialog", "audio", "video", "canvas", "button", "datalist"})
_VOID = frozenset(
    {"br", "hr", "img", "input", "link", "meta", "area", "base", "col", "embed", "source", "track", "wbr"}
)
_MARKS = {"strong": "**", "b": "**", "em": "_", "i": "_", "code": "`", "del": "~~", "s": "~~"}
_SPACE = re.compile(r"[ \t\r\n\f\v]+")
_MANY_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")
# Zero-width and direction characters, with which a page says one thing to a person and another to a model.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e0fff]")
_MAX_DEPTH = 8
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Readable:
    """The content of a page.

    Attributes:
        title: The text of its `title`.
        text: Markdown or plain text.
        is_cut: Whether a limit of length or of time ended the text.
    """

    title: str
    text: str
    is_cut: bool


@dataclass(slots=True)
class _ParserState:
    """Where in the page the parser is."""

    skipped: list[str] = field(default_factory=list)
    skipped_count: Counter[str] = field(default_factory=Counter)
    lists: list[int | None] = field(default_factory=list)
    links: list[str | None] = field(default_factory=list)
    pre: int = 0
    quote: int = 0
    in_title: bool = False


async def read_page(page: str, base: httpx.URL, *, markdown: bool, limit: int, seconds: float) -> Readable:
    """Return the readable part of a page; other tasks run while it is read.

    Args:
        page: The HTML.
        base: The base of relative links.
        markdown: Whether headings, links, lists and emphasis are marked.
        limit: The greatest number of characters.
        seconds: The longest time; the text read until then is returned.
    """
    reader = _Reader(base, markdown=markdown, limit=limit)
    is_whole = await feed_page(reader, page, seconds=seconds, is_full=lambda: reader.is_full)
    text = _MANY_LINES.sub("\n\n", _INVISIBLE.sub("", "".join(reader.parts))).strip()
    title = _SPACE.sub(" ", _INVISIBLE.sub("", "".join(reader.title))).strip()[:500]
    return Readable(title, text[:limit], not is_whole or len(text) > limit)


class _Reader(html.parser.HTMLParser):
    """Collects text with its marks."""

    def __init__(self, base: httpx.URL, *, markdown: bool, limit: int) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self.is_full = False
        self._base = base
        self._markdown = markdown
        self._limit = limit
        self._length = 0
        self._at = _ParserState()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        at = self._at
        words = {name: value or "" for name, value in reversed(attrs)}
        if at.skipped or tag in _SKIPPED or _is_hidden(words):
            if tag not in _VOID:
                at.skipped.append(tag)
                at.skipped_count[tag] += 1
            return
        self._begin(tag, words)

    def _begin(self, tag: str, words: dict[str, str]) -> None:
        at = self._at
        if tag == "title":
            at.in_title = True
        elif tag == "br":
            self._put("\n")
        elif tag == "hr":
            self._break("---\n\n" if self._markdown else "")
        elif tag == "img":
            self._put(_SPACE.sub(" ", words.get("alt", ""))[:300])
        elif tag == "a":
            self._begin_link(words.get("href", ""))
        elif tag in ("ul", "ol"):
            at.lists.append(0 if tag == "ol" else None)
            self._break("" if len(at.lists) == 1 else None)
        elif tag == "li":
            self._begin_item()
        elif tag == "pre":
            at.pre += 1
            self._break("```\n" if self._markdown else "")
        elif tag == "blockquote":
            self._break("> " if self._markdown else "")
        elif tag == "tr":
            self._put("\n")
        elif tag in ("td", "th"):
            self._put(" | " if self._markdown else "\t")
        elif tag[0] == "h" and tag[1:].isdigit() and len(tag) == 2:
            self._break(f"{'#' * min(int(tag[1]), 6)} " if self._markdown else "")
        elif tag in _BLOCKS:
            self._break("")
        elif tag in _MARKS and self._markdown and not at.pre:
            self._put(_MARKS[tag])

    def handle_endtag(self, tag: str) -> None:
        """End an element; one that was never begun is passed over."""
        at = self._at
        if at.skipped:
            # An element that was not closed inside a skipped one ends with it.
            last = "" if at.skipped_count[tag] else tag
            while last != tag:
                last = at.skipped.pop()
                at.skipped_count[last] -= 1
            return
        if tag == "title":
            at.in_title = False
        elif tag == "a":
            self._end_link()
        elif tag in ("ul", "ol"):
            if at.lists:
                at.lists.pop()
            self._break("" if not at.lists else None)
        elif tag == "pre" and at.pre:
            at.pre -= 1
            self._break("```\n\n" if self._markdown else "", lines=1)
        elif tag in _BLOCKS or tag == "blockquote" or (tag[0] == "h" and tag[1:].isdigit()):
            self._break("")
        elif tag in _MARKS and self._markdown and not at.pre:
            self._put(_MARKS[tag])

    def handle_data(self, data: str) -> None:
        """Take text; outside `pre` white space is one space."""
        if self._at.in_title:
            if len(self.title) < 100:
                self.title.append(data[:500])
        elif not self._at.skipped:
            self._put(data if self._at.pre else _SPACE.sub(" ", data))

    def unknown_decl(self, data: str) -> None:
        """Pass over a declaration; the standard parser would raise for some."""

    def _begin_item(self) -> None:
        at = self._at
        indent = "  " * min(max(len(at.lists) - 1, 0), _MAX_DEPTH)
        mark = "-"
        if at.lists and (number := at.lists[-1]) is not None:
            at.lists[-1] = number + 1
            mark = f"{number + 1}."
        self._break(f"{indent}{mark} ", lines=1)

    def _begin_link(self, href: str) -> None:
        target = self._target(href)
        self._at.links.append(target)
        if target is not None:
            self._put("[")

    def _end_link(self) -> None:
        target = self._at.links.pop() if self._at.links else None
        if target is not None:
            self._put(f"]({target})")

    def _target(self, href: str) -> str | None:
        """Return the target of a link, when it is shown: http and https only."""
        href = href.strip()
        if not self._markdown or not href or href.startswith("#") or len(href) > 2_000 or self._at.pre:
            return None
        try:
            url = self._base.join(href)
        except (httpx.InvalidURL, ValueError, TypeError):
            return None
        text = str(url)
        fits = url.scheme in ("http", "https") and url.host and text.isprintable() and not set(text) & set("()<> ")
        return text if fits else None

    def _break(self, mark: str | None, lines: int = 2) -> None:
        """Begin a new block, or with None as little as a new line, and put a mark at its start."""
        last = self.parts[-1] if self.parts else "\n\n"
        newlines = 1 if mark is None else lines
        present = len(last) - len(last.rstrip("\n"))
        self._append("\n" * max(newlines - present, 0) + (mark or ""))

    def _put(self, text: str) -> None:
        if not text or self.is_full:
            return
        if text[0] == " " and (not self.parts or self.parts[-1][-1] in " \n") and not self._at.pre:
            text = text[1:]
        self._append(text)

    def _append(self, text: str) -> None:
        if text and not self.is_full:
            self.parts.append(text)
            self._length += len(text)
            # Twice the limit, since empty lines go at the end.
            self.is_full = self._length > 2 * self._limit + 1_000


def _is_hidden(words: dict[str, str]) -> bool:
    """Return whether an element is not shown to a person; such text could only be meant for a machine."""
    return (
        "hidden" in words
        or words.get("aria-hidden", "").lower() == "true"
        or bool(_HIDDEN_STYLE.search(words.get("style", "")[:500]))
    )
