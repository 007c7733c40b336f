"""Text from outside as HTML: escaped, with hidden characters made visible; numbers and times as people read them."""

from __future__ import annotations

import hashlib
import html
import re
import time
from collections.abc import Iterable

from strands_cli.api import printable

# Longer texts are cut in a page; the cut is stated.
LONG = 20_000
# The paths of the icons, in a square of 24.
_PATHS = {
    "strands": "M4 7c5 0 5 10 10 10s4-5 6-5M4 12c5 0 5 5 10 5M4 17c5 0 5-10 10-10s4 5 6 5",
    "runs": "M4 6h.01M4 12h.01M4 18h.01M9 6h11M9 12h11M9 18h11",
    "inbox": "M4 13h5l1.5 3h3L15 13h5M4 13l3-8h10l3 8v6H4z",
    "workflows": "M4 4h6v5H4zM14 15h6v5h-6zM7 9v4a4 4 0 0 0 4 4h3",
    "tools": "M15 6a4 4 0 0 0 5 5l-9 9-4-4 9-9a4 4 0 0 0-1-1z",
    "done": "M5 13l4 4L19 7",
    "failed": "M6 6l12 12M18 6L6 18",
    "waiting": "M9 5v14M15 5v14",
    "running": "M12 3a9 9 0 1 0 9 9M12 7v5l3 2",
    "stopped": "M7 7h10v10H7z",
    "step": "M12 8.5a3.5 3.5 0 1 0 .01 0",
    "model": "M12 3l2.2 6.8L21 12l-6.8 2.2L12 21l-2.2-6.8L3 12l6.8-2.2z",
    "person": "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5 20a7 7 0 0 1 14 0",
    "file": "M7 3h7l5 5v13H7zM14 3v5h5",
    "copy": "M9 9h11v11H9zM5 15H4V4h11v1",
    "open": "M9 6l6 6-6 6",
}
# What `icon` refers to; each page has it once.
ICONS = '<svg class="sprite" aria-hidden="true"><defs>{}</defs></svg>'.format(
    "".join(f'<symbol id="i-{name}" viewBox="0 0 24 24"><path d="{path}"/></symbol>' for name, path in _PATHS.items())
)
_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
_STATUS_ICONS = {
    **dict.fromkeys(("completed", "done", "reused"), "done"),
    **dict.fromkeys(("failed", "interrupted"), "failed"),
    **dict.fromkeys(("waiting", "needs-decision"), "waiting"),
    **dict.fromkeys(("running", "queued"), "running"),
}


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
        return "unknown"
    return f"${cost:.4f}" if cost else "$0"


def moment(seconds: float) -> str:
    """Return a time as an element that also programs read, in UTC."""
    try:
        stamp = time.gmtime(seconds)
    except (OverflowError, OSError, ValueError):  # a damaged journal
        return escape(seconds)
    machine = time.strftime("%Y-%m-%dT%H:%M:%SZ", stamp)
    return f'<time datetime="{machine}">{time.strftime("%Y-%m-%d %H:%M:%S UTC", stamp)}</time>'


def ago(seconds: float) -> str:
    """Return how long ago a time was; the exact one is shown where the pointer is."""
    passed = time.time() - seconds
    words = next((f"{passed // size:.0f} {name} ago" for name, size in _UNITS if passed >= max(size, 5)), "now")
    exact = moment(seconds)
    if not exact.startswith("<time"):
        return exact
    shown = re.sub("<[^>]*>", "", exact)
    return re.sub(">.*<", f">{words}<", exact.replace("<time", f'<time title="{shown}"'))


def short_id(run: str) -> str:
    """Return the end of the id of a run, and a button that copies all of it."""
    end = run.rpartition("-")[2] or run
    return (
        f'<code title="{escape(run)}">{escape(end[-8:])}</code><button type="button" class="copy" '
        f'data-copy="{escape(run)}" aria-label="Copy the id {escape(run)}">{icon("copy")}</button>'
    )


def size_of(count: int) -> str:
    """Return a number of bytes as short text."""
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:,.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:,.1f} MB"


def icon(name: str) -> str:
    """Return a picture of the size of a letter, which a reader who hears the page does without."""
    return f'<svg class="i" aria-hidden="true"><use href="#i-{name}"/></svg>'


def badge(status: str) -> str:
    """Return a status as a coloured word with a picture."""
    return f'<span class="badge {escape(status)}">{icon(_STATUS_ICONS.get(status, "stopped"))}{escape(status)}</span>'


def current(is_here: bool) -> str:
    """Return the attribute of a link to what is shown."""
    return ' aria-current="true"' if is_here else ""


def bar_of(place: float, width: float, kind: str = "", *, is_open: bool = False) -> str:
    """Return a bar by shares of the width from 0 to 1; at least a line of it is seen."""
    share = max(0.004, min(width, 1.0))
    broken = ' class="open"' if is_open else ""
    return (
        f'<svg class="bar {kind}" aria-hidden="true"><rect x="{min(place, 1 - share) * 100:.5g}%" '
        f'width="{share * 100:.4g}%" height="100%" rx="3"{broken}/></svg>'
    )


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
        f'<div class="wide" role="group" tabindex="0" aria-label="{escape(name)}"><table{kind}><thead><tr>{head}</tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )
