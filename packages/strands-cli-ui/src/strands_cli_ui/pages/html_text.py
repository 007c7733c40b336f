"""Text from outside as HTML: escaped, with hidden characters made visible; numbers and times as people read them."""

from __future__ import annotations

import hashlib
import html
import time
from collections.abc import Iterable

from strands_cli.api import printable

# Longer texts are cut in a page; the cut is stated.
LONG = 20_000


def escape(text: object) -> str:
    r"""Return a text for HTML, also inside an attribute; control, bidi and invisible characters become `\\x1b`."""
    return html.escape(printable(str(text).replace("\r\n", "\n")), quote=True)


def anchor_of(key: str) -> str:
    """Return the id of an effect in a page: `e-` and 12 hexadecimal digits."""
    return f"e-{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def isolated(text: object) -> str:
    """Return a text whose direction does not change that of the text around it."""
    return f"<bdi>{escape(text)}</bdi>"


def cut(text: str, limit: int = LONG) -> tuple[str, str]:
    """Return the beginning of a text, and a phrase about the cut; empty where the text is whole."""
    if len(text) <= limit:
        return text, ""
    return text[:limit], f"the first {limit:,} of {len(text):,} characters"


def preformatted(text: str, limit: int = LONG) -> str:
    """Return a text as a block that keeps its lines, cut where it is long."""
    beginning, note = cut(text, limit)
    more = f'<p class="cut">{note}</p>' if note else ""
    return f'<pre dir="auto">{escape(beginning)}</pre>{more}'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names with values in HTML as a list; pairs with an empty value are left out."""
    rows = [f"<div><dt>{escape(name)}</dt><dd>{value}</dd></div>" for name, value in pairs if value]
    return f'<dl class="facts">{"".join(rows)}</dl>' if rows else ""


def money(cost: float | None) -> str:
    """Return a cost in US dollars; an unknown one is stated as such."""
    if cost is None:
        return "cost unknown"
    return f"${cost:.4f}" if cost else "$0"


def moment(seconds: float) -> str:
    """Return a time as an element that also programs read, in UTC."""
    try:
        stamp = time.gmtime(seconds)
    except (OverflowError, OSError, ValueError):  # a damaged journal
        return escape(seconds)
    machine = time.strftime("%Y-%m-%dT%H:%M:%SZ", stamp)
    return f'<time datetime="{machine}">{time.strftime("%Y-%m-%d %H:%M:%S UTC", stamp)}</time>'


def size_of(count: int) -> str:
    """Return a number of bytes as short text."""
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:,.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:,.1f} MB"


def badge(status: str) -> str:
    """Return a status as a coloured word."""
    return f'<span class="badge {escape(status)}">{escape(status)}</span>'


def table(name: str, heads: Iterable[str], rows: str, *, classes: str = "") -> str:
    """Return a table; one too wide is scrolled by itself.

    Args:
        name: Its name for people who do not see it, as text.
        heads: The HTML of the heading of each column.
        rows: The HTML of its rows.
        classes: The names of its classes.
    """
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    kind = f' class="{classes}"' if classes else ""
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(name)}"><table{kind}><thead><tr>{head}</tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )
