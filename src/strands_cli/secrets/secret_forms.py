"""The forms in which the value of a secret travels: each character escaped in any way, encoded, stripped, wrapped."""

from __future__ import annotations

import base64
import html.entities
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache

from strands_cli.secrets.first_escapes import BACKSLASH as _B
from strands_cli.secrets.first_escapes import (
    BETWEEN_BYTES,
    CUT_BYTES,
    ESCAPE,
    RUN,
    WRAP,
    FirstEscapes,
    Form,
    bytes_of,
    first_keys,
    keys_of,
    units_of,
)
from strands_cli.secrets.secret_sources import MIN_LENGTH
from strands_cli.system.protected_names import secret_in

# Texts that look like the credentials of well-known services; a value is never part of the answer.


# Kind of credential -> its written form. Each form is so particular that plain text does not have it by chance.
_FORMS = {
    "a private key": r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----",
    "a key of AWS": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a token of GitHub": r"\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{22,}",
    "a token of GitLab": r"\bglpat-[\w-]{20,}",
    "a token of Slack": r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    "a key of Google": r"\bAIza[0-9A-Za-z_-]{35}\b",
    "a key of a model's provider": r"\bsk-(?=[\w-]*\d)(?:[A-Za-z]+-){0,3}[A-Za-z0-9_]{20,}",
    "a token of Hugging Face": r"\bhf_[A-Za-z0-9]{30,}",
    "a token of a package index": r"\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{50,}",
    "a signed token": r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
}
_ANY = re.compile("|".join(f"({form})" for form in _FORMS.values()))
_MOST = 20


def credentials_in(text: str, file: str = "") -> Iterator[tuple[int | None, str]]:
    """Yield the 1-based line and the kind of each part of a text that looks like a credential, at most 20.

    Args:
        file: The name of the text's file; for a file of credentials only that is yielded, with None as the line.
    """
    if file and secret_in([file]):
        yield None, "a file of credentials"
        return
    kinds = list(_FORMS)
    for number, match in enumerate(_ANY.finditer(text)):
        if number == _MOST:
            return
        yield text.count("\n", 0, match.start()) + 1, kinds[(match.lastindex or 1) - 1]


MIN_LINE = 16

# The lines around the content of a key file, the same for all.
_PEM_MARK = re.compile(r"-----[A-Z0-9 ]+-----")
# So many characters that begin a form are looked for at once: fewer are too often in other words.
_FIRST = 5
# The longest character: sixteen backslashes, each escaped in a URL inside HTML, before an escape.
_LONGEST = 400
# The longest tail in which an escape can be cut, without backslashes before it.
_TAIL = 64
# So many different escapes are remembered.
_MOST_KNOWN = 4096
_FOLDED = {one: one.lower() for one in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
# Each as escaped as it may be: the next text may look like one more escape of it, as the rest of `%25` in a secret
# does.
_NESTED = {"%": [f"%{'25' * times}" for times in range(1, 5)], "&": [f"&{'amp;' * times}" for times in range(1, 5)]}
_QUOTES = {"'": ("''", "'\"'\"'", r"'\\''"), '"': ('""',)}
_NAMED: dict[int, list[str]] = {}
for _name, _code in html.entities.name2codepoint.items():
    _NAMED.setdefault(_code, []).append(_name)
for _name, _text in html.entities.html5.items():
    if _name.endswith(";") and len(_text) == 1 and ord(_text) < 128:
        _NAMED.setdefault(ord(_text), []).append(_name[:-1])


def forms_of(secret: str) -> list[Form]:
    """Return every form of a value: of itself, of its text without the white space around it, and of its lines."""
    lines = [line.strip() for line in secret.splitlines()]
    wholes = dict.fromkeys((secret, secret.strip()))
    texts = dict.fromkeys(
        (*wholes, *(line for line in lines if len(line) >= MIN_LINE and not _PEM_MARK.fullmatch(line)))
    )
    forms = [Form(_parts(text)) for text in texts if len(text) >= MIN_LENGTH]
    return [*forms, *(form for whole in wholes if len(whole) >= MIN_LENGTH for form in _encoded(whole))]


class FormFinder:
    """Finds the forms of secrets in texts; of several that begin at one place, the longest.

    One expression finds the places where a form may begin, by its first characters; the rest is compared there.
    """

    def __init__(self, forms: Iterable[Form]) -> None:
        forms = list(forms)
        self.longest = max((len(form.parts) for form in forms), default=0) * _LONGEST + _TAIL
        self._plain: dict[str, list[Form]] = {}
        for form in forms:
            for lead in form.plain(0):
                self._plain.setdefault(lead, []).append(form)
        self._escaped = [form for form in forms if form.between is WRAP]
        self._by_first: dict[tuple[str, int], list[Form]] = {}
        for form in self._escaped:
            for key in {key for char in form.plain(0) + form.parts[0] for key in first_keys(char)}:
                self._by_first.setdefault(key, []).append(form)
        self._search = re.compile(_starts(forms)).search
        self._search_end = re.compile("|".join((*_plain_starts(forms, "|\\Z"), r"[%&=\\]"))).search
        self._by_escape: dict[str, tuple[Form, ...]] = {}
        self._first_escapes = FirstEscapes(forms)
        self._heads: dict[int, re.Pattern[str]] = {}  # by form, made where one may begin

    def find(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Return where the first form begins and ends."""
        while (match := self._search(text, start)) is not None:
            start = self._first_escapes.place_in_run(text, match.start())
            forms = self._first_escapes.forms_at(text, start)
            ends = [end for form in forms if (end := self._end_of(form, text, start)) > 0]
            if ends:
                return start, max(ends)
            start += 1
        return None

    def _end_of(self, form: Form, text: str, start: int) -> int:
        """Return `_end_of`, called only where the first characters are there."""
        head = self._heads.get(id(form))
        if head is None:
            head = self._heads[id(form)] = re.compile(_head(form))
        return _end_of(form, text, start) if head.match(text, start) is not None else -1

    def replace(self, text: str, by: str) -> str:
        """Return the text with each form replaced."""
        span = self.find(text)
        if span is None:
            return text
        pieces, done = [], 0
        while span is not None:
            pieces += [text[done : span[0]], by]
            done = span[1]
            span = self.find(text, done)
        return "".join((*pieces, text[done:]))

    def has_none_in(self, text: str) -> bool:
        """Return whether it is certain that a text holds no form, and ends with the beginning of none."""
        return self._search(text) is None and self._search_end(text, max(0, len(text) - _TAIL)) is None

    def beginnings(self, text: str) -> list[int]:
        """Return the places in a text from which on it may be the beginning of a form whose end is yet to come."""
        first, tail = max(0, len(text) - self.longest), max(0, len(text) - _TAIL)
        begun: list[int] = []
        position, whole = first, tail - _LONGEST
        while (match := self._search(text, position)) is not None and match.start() < tail:
            position = match.start()
            if position < whole:
                position = min(self._first_escapes.place_in_run(text, position), whole)
                forms: Collection[Form] = self._first_escapes.forms_at(text, position, whole)
            else:
                forms = self._at(text, position)
            if any(_may_go_on(candidate, text, position) for candidate in forms):
                begun.append(position)
            position += 1
        position = tail
        while (match := self._search_end(text, position)) is not None:
            position = match.start()
            plain = self._plain.get(text[position], [])
            # An escape near the end may have been cut, so that it could be that of any character.
            forms = [*plain, *self._escaped] if text[position] in "%&=\\" else plain
            if any(_may_go_on(candidate, text, position) for candidate in forms):
                begun.append(position)
            position += 1
        return begun

    def _at(self, text: str, position: int) -> Collection[Form]:
        """Return the forms that may begin at a place, with a whole escape or with a character as it is."""
        plain = self._plain.get(text[position], [])
        if text[position] not in "%&=\\":
            return plain
        escape = ESCAPE.match(text, position)
        written = text[position] if escape is None else escape[0]
        forms_here = self._by_escape.get(written)
        if forms_here is None:
            keys = None if escape is None else keys_of(escape)
            forms = self._escaped if keys is None else [form for key in keys for form in self._by_first.get(key, [])]
            forms_here = tuple({id(form): form for form in (*plain, *forms)}.values())
            if len(self._by_escape) < _MOST_KNOWN:
                self._by_escape[written] = forms_here
        return forms_here


def _starts(forms: list[Form]) -> str:
    """Return the expression for the first characters of a form, or for its first one as an escape.

    Each of its alternatives begins with one character, not a repeat of it: for such ones the library looks quickly.
    """
    leads = {char for form in forms if form.between is WRAP for char in form.plain(0)}
    first = "|".join(sorted({f"{byte:02x}" for char in leads for unit in bytes_of(char) for byte in unit[:1]} | {"5c"}))
    octal = "|".join(sorted({f"{byte:03o}" for char in leads for unit in bytes_of(char) for byte in unit[:1]}))
    units = "|".join(sorted({f"{unit:04x}" for char in leads for unit in units_of(char)[:1]}))
    named = {name for lead, name in (("\n", "n"), ("\n", "r"), ("\t", "t")) if lead in leads}
    odd = _class({lead for lead in leads if not lead.isalnum()} | named)
    strings = f"x(?i:{first})|u(?i:{units})|u\\{{|U00|{octal}" + (f"|[{odd}%&=]" if odd else "")
    escaped = [
        f"%(?:25){{0,6}}(?i:{first})",
        "&(?:amp;){0,4}(?:#|\\w{2,6};)",
        f"=(?i:{first})",
        f"\\\\\\\\{{0,15}}(?:{strings})",
    ]
    return "|".join((*_plain_starts(forms), *escaped))


def _plain_starts(forms: list[Form], end: str = "") -> list[str]:
    """Return the expressions for the first characters of forms as they are; `end` is the alternative to more."""
    following: dict[str, dict[str, None]] = {}
    for form in forms:
        for lead in form.plain(0):
            following.setdefault(lead, {})[_after(form, 1, end)] = None
    return [f"{re.escape(lead)}(?:{'|'.join(rests)})" for lead, rests in following.items()]


def _after(form: Form, index: int, end: str = "") -> str:
    """Return the expression for the characters of a form from an index on: more of them, or an escape."""
    if index == min(_FIRST, len(form.parts)):
        return ""
    apart = "%&=+'\"\\\r\n\0" + ("" if form.between is WRAP else " \t:,-0")
    return f"(?:[{_class(form.plain(index))}]{_after(form, index + 1, end)}|[{_class(apart)}]{end})"


def _class(chars: Iterable[str]) -> str:
    return "".join(map(re.escape, sorted(chars)))


def _end_of(form: Form, text: str, start: int) -> int:
    """Return where a form that begins at a place ends, the farthest; -1 if it does not."""
    return max((position for index, position in _walk(form, text, start) if index == len(form.parts)), default=-1)


def _may_go_on(form: Form, text: str, start: int) -> bool:
    """Return whether a text ends within a form that begins at a place."""
    places = (position for index, position in _walk(form, text, start) if index < len(form.parts))
    return any(position == len(text) or _is_cut(form, text, position) for position in places)


def _is_cut(form: Form, text: str, position: int) -> bool:
    """Return whether a text from a place on may be the beginning of one escape, with backslashes before it."""
    run = RUN.match(text, position)
    near = position if run is None else run.end()
    return near >= len(text) - _TAIL and form.cut.match(text, position) is not None


def _walk(form: Form, text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield how many characters of a form a text has from a place on, each with the place behind them."""
    pending, seen = [(0, start)], {(0, start)}
    while pending:
        index, position = pending.pop()
        yield index, position
        if index == len(form.parts):
            continue
        part = form.parts[index]
        ways, places = _ways(part, part + form.variants.get(part, "")), [position]
        if index and (gap := form.between.match(text, position)):
            # Blanks at the begin of a line may be the secret's own.
            blanks = len(gap[0]) - len(gap[0].rstrip(" \t"))
            places += range(gap.end() - blanks, gap.end() + 1)
        for begin in places:
            for way in ways:
                if (match := way.match(text, begin)) and (state := (index + 1, match.end())) not in seen:
                    seen.add(state)
                    pending.append(state)


def _head(form: Form) -> str:
    """Return an expression that begins each text of a form: its first characters in every way."""
    first = form.parts[: 2 if form.between is WRAP else 8]
    ways = ("|".join(way.pattern for way in _ways(part, part + form.variants.get(part, ""))) for part in first)
    return f"(?:{form.between.pattern})?".join(f"(?:{way})" for way in ways)


def _parts(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\\+|\r\n|.", text, re.DOTALL))


@lru_cache(maxsize=2048)
def _ways(part: str, chars: str) -> tuple[re.Pattern[str], ...]:
    """Return the expressions for a character, any of `chars`; several where one could hide another."""
    if part[0] == "\\":
        runs = (f"{_B}{{1,16}}", f"{_B}{{1,16}}(?={_B})", f"{_B}", f"(?:{'|'.join(_escapes(part[0]))}){{1,16}}")
        return tuple(map(re.compile, runs))
    if part in ("\n", "\r\n"):
        ends = "|".join((*_escapes("\n"), *("".join(way) for way in zip(*map(_escapes, "\r\n"), strict=True))))
        return re.compile(r"\r?\n"), re.compile(rf"(?:{_B}{{1,16}}r)?{_B}{{1,16}}n"), re.compile(ends)
    plain = [*_QUOTES.get(part, ()), *_NESTED.get(part, ()), *{" ": (r"\+", "_"), "\t": (f"{_B}t",)}.get(part, ())]
    plain = [f"[{''.join(map(re.escape, chars))}]", *plain]
    escaped = [f"{_B}{{0,16}}(?:{'|'.join(escape for char in chars for escape in _escapes(char)[:3])})"]
    escaped += [_escapes(char)[3] for char in chars]
    if part.isalnum():
        return (re.compile("|".join((*reversed(escaped), f"{_B}{{0,16}}{plain[0]}"))),)
    return (*(re.compile(f"{_B}{{0,16}}{pattern}") for pattern in plain), *map(re.compile, escaped))


@lru_cache(maxsize=2048)
def _escapes(char: str) -> tuple[str, str, str, str]:
    """Return the expressions for a character escaped: in URLs, in HTML, in quoted-printable, in strings of programs."""
    code = ord(char)
    encodings, units = bytes_of(char), units_of(char)
    of_urls = "|".join("".join(f"%(?:25){{0,6}}{_hex(byte)}" for byte in encoding) for encoding in encodings)
    names = "|".join(map(re.escape, _NAMED.get(code, ())))
    of_html = f"&(?:amp;){{0,4}}(?:#0{{0,6}}{code};?|#[xX]0{{0,6}}(?i:{code:x});?{f'|(?:{names});' if names else ''})"
    of_mail = "|".join("".join(f"={_hex(byte)}" for byte in encoding) for encoding in encodings)
    strings = ["".join(f"{_B}{{1,16}}u(?i:{unit:04x})" for unit in units), f"{_B}{{1,16}}u\\{{0*(?i:{code:x})\\}}"]
    strings += [f"{_B}{{1,16}}U(?i:{code:08x})"]
    strings += ["".join(f"{_B}{{1,16}}x{_hex(byte)}" for byte in encoding) for encoding in encodings]
    strings += ["".join(f"{_B}{{1,16}}{byte:03o}" for byte in encoding) for encoding in encodings]
    return f"(?:{of_urls})", of_html, f"(?:{of_mail})", f"(?:{'|'.join(strings)})"


def _hex(byte: int) -> str:
    return f"(?i:{byte:02x})"


def _encoded(text: str) -> Iterator[Form]:
    raw = text.encode("utf-8", "surrogatepass")
    yield Form(tuple(raw.hex()), {letter: letter.upper() for letter in "abcdef"}, BETWEEN_BYTES, CUT_BYTES)
    for inner in dict.fromkeys(_inner(raw, 3, 6, base64.b64encode)):
        if len(inner) >= MIN_LENGTH:
            yield Form(tuple(inner), {"+": "-", "/": "_"})
    for inner in dict.fromkeys(_inner(raw, 5, 5, base64.b32encode)):
        if len(inner) >= MIN_LENGTH:
            yield Form(tuple(inner), _FOLDED)


def _inner(raw: bytes, group: int, bits: int, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yield the characters that depend on the secret alone, for each place it may have in a longer text.

    Base64 reads three bytes at a time and Base32 five, so the same bytes look different at each offset; the characters
    at the borders depend on the neighbours and are left out.
    """
    for offset in range(group):
        encoded = encode(b"\0" * offset + raw)
        first = (offset * 8 + bits - 1) // bits
        last = (offset + len(raw)) * 8 // bits
        yield encoded[first:last].decode("ascii")
