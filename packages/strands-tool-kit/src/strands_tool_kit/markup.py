"""HTML read in linear time: without scripts, comments and tags of unbounded length."""

from __future__ import annotations

import asyncio
import html.parser
import re
import time
from collections.abc import Callable, Iterator

# Elements whose content is not markup; an element without an end reaches to the end of the page, as in a browser.
_RAW = re.compile(r"(script|style|noscript|template|svg|math|iframe|object|textarea|select)\b", re.IGNORECASE)
_NAME = re.compile(r"/?[A-Za-z][A-Za-z0-9:-]{0,40}")
_MAX_TAG = 8_192


async def feed_page(
    parser: html.parser.HTMLParser, page: str, *, seconds: float, is_full: Callable[[], bool] = lambda: False
) -> bool:
    """Feed a page to a parser piece by piece; other tasks run in between.

    Args:
        parser: Takes the pieces.
        page: The HTML.
        seconds: The longest time to spend.
        is_full: Whether the parser needs no more.

    Returns:
        Whether the page was read to its end.
    """
    end = time.monotonic() + seconds
    for count, piece in enumerate(pieces(page)):
        parser.feed(piece)
        # A construct unfinished after a whole piece stays so.
        if len(parser.rawdata) > len(piece):
            parser.rawdata = ""
        if count % 256 == 0:
            await asyncio.sleep(0)
        if is_full() or (count % 64 == 0 and time.monotonic() > end):
            return False
    return True


def pieces(page: str) -> Iterator[str]:
    """Yield text and tags in order, without scripts, styles, comments and declarations.

    Each tag is one piece of a bounded length. `html.parser` looks at an unfinished construct again with every feed,
    which takes quadratic time for a page made for it; here nothing is looked at twice.
    """
    position, has_end = 0, True
    while position < len(page):
        start = page.find("<", position)
        if start < 0:
            yield page[position:]
            return
        if start > position:
            yield page[position:start]
        if page.startswith("<!--", start):
            position = _after(page, "-->", start + 4)
            continue
        end = page.find(">", start) if has_end else -1
        has_end = end >= 0
        name = _NAME.match(page, start + 1)
        if name is None or not has_end:
            # A declaration is left out; a lone `<` is text.
            is_declaration = page.startswith(("<!", "<?", "</"), start)
            position = end + 1 if is_declaration and has_end else start + 1
            if not is_declaration:
                yield "&lt;"
        elif _RAW.fullmatch(name.group()):
            position = _after_element(page, name.group().lower(), end + 1)
        else:
            yield page[start : end + 1] if end - start < _MAX_TAG else f"<{name.group()}>"
            position = end + 1


def _after(page: str, word: str, start: int) -> int:
    index = page.find(word, start)
    return len(page) if index < 0 else index + len(word)


def _after_element(page: str, name: str, start: int) -> int:
    """Return where an element of raw content has ended."""
    closing = re.compile(f"</{name}", re.IGNORECASE).search(page, start)
    return len(page) if closing is None else _after(page, ">", closing.end())
