"""Parts of the SVG pictures: their frame, escaped and cut texts, links to effects."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from strands_cli_ui.pages.html_text import escape

# Characters that HTML allows, but no XML: the pictures are also read as files of their own.
_NOT_IN_XML = re.compile("[\ufffe\uffff\U0001fffe\U0001ffff]")


def label(text: str, limit: int) -> str:
    """Return a text of at most so many columns on one line, escaped; an ellipsis is for the rest."""
    line = " ".join(text.split()) if any(char in text for char in "\n\t\r") else text
    chars, columns = [], 0
    for char in line:
        # A character of East Asia or a picture is as wide as two others.
        columns += 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if columns > limit:
            chars.append("…")
            break
        chars.append(char)
    return shown("".join(chars))


def shown(text: str) -> str:
    """Return a text for SVG or an attribute, with hidden characters made visible."""
    return _NOT_IN_XML.sub("\ufffd", escape(text))


def title(text: str) -> str:
    """Return the element that shows a text where the pointer is."""
    return f"<title>{label(text, 300)}</title>"


def number(value: float) -> str:
    """Return a length in pixels, without digits that no eye sees."""
    return f"{value:.1f}".removesuffix(".0")


def linked(address: str | None, name: str, inner: str) -> str:
    """Return a named part of a picture as a link; without an address as a group."""
    if address is None:
        return f"<g>{title(name)}{inner}</g>"
    return f'<a href="{escape(address)}" aria-label="{label(name, 300)}">{title(name)}{inner}</a>'


def picture(
    kind: str, size: tuple[float, float], name: str, about: str, parts: Iterable[str], *, has_links: bool
) -> str:
    """Return a picture in a frame that scrolls where the page is narrower.

    A picture with links is a group: the children of an image are hidden from people who do not see it.

    Args:
        kind: The class of the frame, with `picture`.
        size: Width and height in pixels.
        name: Its subject, in a few words.
        about: Its content, in sentences.
    """
    width, height = (number(length) for length in size)
    name, about = label(name, 100), label(about, 3000)
    role = "group" if has_links else "img"
    return (
        f'<div class="picture {kind}" tabindex="0" role="group" aria-label="{name}">'
        f'<svg xmlns="http://www.w3.org/2000/svg" role="{role}" aria-label="{name}. {about}"'
        f' viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"<title>{name}</title><desc>{about}</desc>{''.join(parts)}</svg></div>"
    )


def text_at(x: float, y: float, text: str, classes: str = "", limit: int = 40) -> str:
    """Return a text at a place; `end` and `middle` among the classes say which part of it is there."""
    names = f' class="{classes}"' if classes else ""
    return f'<text x="{number(x)}" y="{number(y)}"{names}>{label(text, limit)}</text>'


def rectangle(x: float, y: float, width: float, height: float, classes: str, radius: float = 2) -> str:
    """Return a rectangle, at least one pixel wide."""
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(max(1.0, width))}" height="{number(height)}"'
        f' rx="{number(radius)}" class="{classes}"/>'
    )


def time_span(seconds: float) -> str:
    """Return a length of time in its two largest units: `340 ms`, `2.1 s`, `3 min 05 s`, `2 h 10 min`, `3 d 4 h`."""
    if seconds < 0.9995:
        return "0 s" if not seconds else f"{seconds * 1000:.0f} ms" if seconds >= 0.0005 else "under 1 ms"
    if seconds < 60:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    for unit, name, part, part_name in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= unit:
            rest = whole % unit // part
            return f"{whole // unit} {name}" + (f" {rest} {part_name}" if rest else "")
    return f"{whole} s"
