"""The forms in which the value of a secret travels: encoded, escaped, stripped, line by line."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
from collections.abc import Iterable
from urllib.parse import quote

# A shorter text would be found by chance in texts that have nothing to do with it.
MIN_LENGTH = 8
MIN_LINE = 16

# The lines around the content of a key file, which are the same for all.
_PEM_MARK = re.compile(r"-----[A-Z0-9 ]+-----")
_ESCAPED_BYTE = re.compile("%[0-9A-F]{2}")
# What some writers of JSON escape besides what must be, for pages of HTML.
_FOR_PAGES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"}
# How libraries spell the entities of quotes.
_QUOTES = ({"&quot;": "&#34;", "&#x27;": "&#39;"}, {"&#x27;": "&#39;"}, {"&#x27;": "&apos;"})


def forms_of(secret: str) -> set[str]:
    """Return every form of a value: of itself, of what is left without the white space around it, and of its lines."""
    forms = {form for whole in (secret, secret.strip()) for form in (*_texts_of(whole), *_encoded(whole))}
    lines = [line.strip() for line in secret.splitlines()]
    forms |= {
        form for line in lines if len(line) >= MIN_LINE and not _PEM_MARK.fullmatch(line) for form in _texts_of(line)
    }
    return {form for form in forms if len(form) >= MIN_LENGTH}


class FormFinder:
    """Finds the forms of secrets in texts; of several that begin at one place, the longest.

    The expression has only the beginnings of the forms: to compile it whole takes a tenth of a second for a key of
    several lines.
    """

    def __init__(self, forms: Iterable[str]) -> None:
        self.longest = 1
        self._by_start: dict[str, list[str]] = {}
        for form in sorted(forms, key=len, reverse=True):
            self._by_start.setdefault(form[:MIN_LENGTH], []).append(form)
            self.longest = max(self.longest, len(form))
        self.by_first: dict[str, list[str]] = {}
        for start, group in self._by_start.items():
            self.by_first.setdefault(start[0], []).extend(group)
        self._search = re.compile("|".join(map(re.escape, self._by_start))).search

    def find(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Return where the first form begins and ends."""
        while (found := self._search(text, start)) is not None:
            start = found.start()
            for form in self._by_start[found[0]]:
                if text.startswith(form, start):
                    return start, start + len(form)
            start += 1
        return None

    def replace(self, text: str, by: str) -> str:
        """Return the text with each form replaced."""
        place = self.find(text)
        if place is None:
            return text
        pieces, done = [], 0
        while place is not None:
            pieces += [text[done : place[0]], by]
            done = place[1]
            place = self.find(text, done)
        return "".join((*pieces, text[done:]))

    def begins_at(self, text: str, place: int) -> bool:
        """Return whether the text from a place on is the beginning of a form, and not yet the whole of it."""
        tail = text[place:]
        return any(len(form) > len(tail) and form.startswith(tail) for form in self.by_first.get(text[place], ()))


def _texts_of(text: str) -> set[str]:
    """Return a text as itself, and as it is written in JSON, HTML and URLs."""
    as_json = json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]
    forms = {text, *as_json, as_json[0].replace("/", "\\/"), "".join(_FOR_PAGES.get(c, c) for c in as_json[0])}
    escaped = html.escape(text)
    forms |= {html.escape(text, quote=False), escaped}
    for names in _QUOTES:
        forms.add(re.sub("|".join(names), lambda found, names=names: names[found[0]], escaped))  # type: ignore[misc]
    forms |= {json.dumps(form)[1:-1] for form in as_json}  # JSON in a string of JSON
    forms |= {repr(text)[1:-1], text.replace('"', '""'), text.replace("'", "''"), shlex.quote(text)[1:-1]}
    return forms | _percent_encoded(text.encode("utf-8", "surrogatepass"))


def _percent_encoded(raw: bytes) -> set[str]:
    """Return what the usual encoders of URLs and forms make of bytes; some write the digits in lower case."""
    forms = {quote(raw, safe=""), quote(raw), quote(raw, safe="!'()*")}
    forms |= {form.replace("%20", "+") for form in forms}
    forms |= {quote(form, safe="") for form in forms}  # an address inside another address
    return forms | {_ESCAPED_BYTE.sub(lambda found: found[0].lower(), form) for form in forms}


def _encoded(text: str) -> set[str]:
    raw = text.encode("utf-8", "surrogatepass")
    return {raw.hex(), raw.hex().upper()} | _base64_forms(raw) | _each_escaped(text, raw)


def _each_escaped(text: str, raw: bytes) -> set[str]:
    """Return a text with each of its characters escaped, in the ways of URLs, of HTML and of JSON."""
    units = [f"{unit:04x}" for unit in memoryview(text.encode("utf-16", "surrogatepass")[2:]).cast("H")]
    forms = {"".join(pattern.format(byte) for byte in raw) for pattern in ("%{:02X}", "%{:02x}")}
    forms |= {"".join(pattern.format(ord(one)) for one in text) for pattern in ("&#{};", "&#x{:x};", "&#x{:X};")}
    return forms | {"".join(f"\\u{unit}" for unit in written) for written in (units, map(str.upper, units))}


def _base64_forms(raw: bytes) -> set[str]:
    """Return the Base64 characters that depend on the secret alone, for each place it may have in a longer text.

    Base64 reads three bytes at a time, so the same bytes look different at the three offsets; the characters at the
    borders depend on the neighbours and are left out.
    """
    forms = set()
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + raw)
        first = (offset * 8 + 5) // 6
        last = (offset + len(raw)) * 8 // 6
        inner = encoded[first:last].decode("ascii")
        forms |= {inner, inner.replace("+", "-").replace("/", "_")}
    return forms
