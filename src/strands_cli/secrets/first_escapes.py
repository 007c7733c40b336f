"""One escape of a character, and which forms of secrets may begin at a place by the first escapes there."""

from __future__ import annotations

import html.entities
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

# A backslash, itself escaped or not: JSON inside a URL, or inside an attribute of HTML.
BACKSLASH = r"(?:\\|%(?:25){0,6}5[cC]|&(?:amp;){0,4}(?:#92|#[xX]5[cC]|bsol);)"
# Text that writers put between two characters: line ends, of quoted-printable and as escapes too; zeros of UTF-16.
_ENDS = rf"\r?\n|(?:{BACKSLASH}{{1,16}}r)?{BACKSLASH}{{1,16}}n"
WRAP = re.compile(rf"=?(?:{_ENDS})[ \t]{{0,40}}|\0")
BETWEEN_BYTES = re.compile(rf"(?:[ \t:,-]|{BACKSLASH}{{1,16}}x|0x|{_ENDS}){{1,6}}")
# The end of a text that may be the beginning of an escape, or of the text between two characters.
CUT = re.compile(r"(?:[%&=\\+'\"\r\n\0][#\w;{}%&=\\+'\"\r\n \t]*)?\Z")
CUT_BYTES = re.compile(r"[ \t:,\r\n0x-]*(?:[%&\\][\w \t:,\r\n%&#;\\-]*)?\Z")
# One escape: of a byte in URLs or mail, of a character in HTML, of either or of any other character in strings.
ESCAPE = re.compile(
    r"%(?P<nested>25)?(?:25){0,6}(?P<url>[0-9a-fA-F]{2})|=(?P<mail>[0-9a-fA-F]{2})"
    r"|&(?P<amp>amp;)?(?:amp;){0,4}(?:#(?:0{0,6}(?P<code>\d{1,7})|[xX]0{0,6}(?P<hex>[0-9a-fA-F]{1,6}))|(?P<name>\w{2,6});)"
    r"|\\{1,16}(?P<char>(?:x(?P<byte>[0-9a-fA-F]{2})|(?P<octal>[0-3][0-7]{2})|u(?P<unit>[0-9a-fA-F]{4})|[^\\%&=]))"
)
# An escape of any character by its number.
_LONG = re.compile(r"\\(?:(?=(u|U))(?:u\{0*([0-9a-fA-F]+)\}|U([0-9a-fA-F]{8})))")
# A backslash may precede any character, so many times.
RUN = re.compile(rf"(?:{BACKSLASH}){{1,16}}")
_RUNS = re.compile(rf"(?:{BACKSLASH}){{17,}}")
_ONE = re.compile(BACKSLASH)
_AFTERRUN = re.compile(
    r"u\{0{0,9}[0-9a-fA-F]{1,5}\}|U000[0-9a-fA-F]{5}|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|u[0-9a-fA-F]{4}|[^\\%&=]"
)
# No escape, and no text between two characters: these begin neither.
_ALONE = re.compile(r"%|&(?=[^\w])|=(?=[^\r\n%&\\])")
# After a backslash: the beginning of an escape of any character, or a line end or a tab.
_OPEN = ("u", "U", "n", "r", "t")
# So many characters from the beginning of a form on are looked up.
_DEPTH = 8
_MOST_KNOWN = 4096


class Form(NamedTuple):
    """A secret in one encoding.

    Attributes:
        parts: Its characters; backslashes that follow each other are one.
        variants: How a character may be written besides: `-` for `+` in Base64, either case in Base32.
        between: The possible text between two characters.
        cut: The possible end of a text that ends within one.
    """

    parts: tuple[str, ...]
    variants: Mapping[str, str] = {}
    between: re.Pattern[str] = WRAP
    cut: re.Pattern[str] = CUT

    def plain(self, index: int) -> str:
        """Return the characters that may be there without an escape."""
        part = self.parts[index]
        return part[0] + self.variants.get(part, "") + {" ": "+_", "\r\n": "\n", "\n": "\r"}.get(part, "")


class FirstEscapes:
    """Says which forms may begin at a place; all but few places are refused after one or two looks into a table.

    A set of forms is a number with one bit for each. For each escape a table has two of them: those of which it is a
    character as a whole, and in no other reading; and those of which any reading may begin a character. The first are
    followed to the next escape, the others may be there.
    """

    def __init__(self, forms: Iterable[Form]) -> None:
        self._forms = tuple(forms)
        self._all = (1 << len(self._forms)) - 1
        self._tables = [_Table(self._forms, index) for index in range(_DEPTH)]
        self._by_set: dict[int, tuple[Form, ...]] = {}
        self._skips_runs = not any(form.parts[0][0] in "%&=\\" for form in self._forms)

    def place_in_run(self, text: str, position: int) -> int:
        """Return the place, or where it is in a long run of backslashes, the first there at which a form may begin."""
        run = _RUNS.match(text, position) if self._skips_runs and text[position] in "%&\\" else None
        return position if run is None else [match.start() for match in _ONE.finditer(text, position, run.end())][-16]

    def forms_at(self, text: str, position: int, end: int | None = None) -> tuple[Form, ...]:
        """Return the forms that may begin at a place; an escape from `end` on may be cut, and is not looked at."""
        open_, form_set = self._all, 0
        for table in self._tables:
            if end is not None and position >= end:
                break
            written, position = _escape_at(text, position)
            if written is None:
                break
            exact, odd = table.forms_of(written)
            form_set |= open_ & odd
            open_ &= exact
            if not open_:
                break
        form_set |= open_
        forms = self._by_set.get(form_set)
        if forms is None:
            forms = self._by_set[form_set] = tuple(form for at, form in enumerate(self._forms) if form_set >> at & 1)
        return forms


def _escape_at(text: str, position: int) -> tuple[str | None, int]:
    """Return a character as written at a place, and where it ends; None where that is unknown.

    Backslashes before it, however they are escaped, are one.
    """
    char = text[position : position + 1]
    if char not in "%&=\\":
        return char, position + 1
    before, run = "", RUN.match(text, position) if char else None
    if run is not None:
        before, position = "\\", run.end()
        if (after := _AFTERRUN.match(text, position)) is not None:
            return before + after[0], after.end()
    match = ESCAPE.match(text, position) if char and text[position : position + 1] != "\\" else None
    if match is None:
        return (char, position + 1) if not before and _ALONE.match(text, position) else (None, position)
    end = match.end()
    if (match["code"] or match["hex"]) and text[end : end + 1] == ";":
        return f"{before}{match[0]};", end + 1
    return before + match[0], end


class _Table:
    """The possible meanings of each escape as one character of every form, the one with an index."""

    def __init__(self, forms: tuple[Form, ...], index: int) -> None:
        self._is_first = index == 0
        self._all = (1 << len(forms)) - 1
        self._chars: dict[str, int] = {}  # letters and digits of ASCII, written in one way each
        self._plain: dict[str, int] = {}  # every other character as it is
        self._keys: dict[tuple[str, int], int] = {}
        self._escaped = 0
        self._bytes = 0
        self._odd = 0
        self._forms_by_text: dict[str, tuple[int, int]] = {}
        for bit, form in ((1 << at, form) for at, form in enumerate(forms)):
            if index >= len(form.parts):
                self._odd |= bit
            else:
                self._add(bit, form, index)

    def _add(self, bit: int, form: Form, index: int) -> None:
        chars, of_bytes = form.plain(index), form.between is not WRAP
        is_simple = all(char.isascii() and char.isalnum() for char in chars)
        for char in chars:
            simple = is_simple and not (of_bytes and char in "0x")
            table = self._chars if simple else self._plain
            table[char] = table.get(char, 0) | bit
        if of_bytes:
            self._bytes |= bit
            if self._is_first:
                return
        self._escaped |= bit
        if chars[0] in "%&=\\" or form.parts[index][0] in "%&=\\":
            self._odd |= bit
        for key in {key for char in chars + form.parts[index][0] for key in first_keys(char)}:
            self._keys[key] = self._keys.get(key, 0) | bit

    def forms_of(self, text: str) -> tuple[int, int]:
        """Return the forms of which it is a character in one reading, and those of which it may begin one."""
        forms = self._forms_by_text.get(text)
        if forms is None:
            forms = self._plain_forms(text) if len(text) == 1 else self._escaped_forms(text)
            if len(self._forms_by_text) < _MOST_KNOWN:
                self._forms_by_text[text] = forms
        return forms

    def _plain_forms(self, char: str) -> tuple[int, int]:
        # Text between two characters may begin with these.
        if char in "\r\n\0" and not self._is_first:
            return 0, self._all
        apart = self._bytes if char in "0 \t:,-" and not self._is_first else 0
        odd = self._plain.get(char, 0) | self._odd | apart
        return self._chars.get(char, 0) & ~odd, odd

    def _escaped_forms(self, text: str) -> tuple[int, int]:
        if (long := _LONG.fullmatch(text)) is not None:
            return self._between(chr(int(long[2] or long[3], 16)), [long[1]])
        match = ESCAPE.match(text[1:] if text[0] == "\\" and text[1] in "%&=" else text)
        if match is None or match["char"] in ("r", "n", "t"):
            return 0, self._all
        if (keys := keys_of(match)) is None:
            return 0, self._escaped | self._odd
        apart = self._bytes if match["char"] and match["char"][0] == "x" and not self._is_first else 0
        exact, odd = self._between(*_readings(match, text), keys)
        return exact & ~apart, odd | apart

    def _between(self, whole: str, others: list[str], keys: list[tuple[str, int]] | None = None) -> tuple[int, int]:
        """Return the two sets of an escape, from its meaning as a whole and by its beginning."""
        may = 0
        for key in keys if keys is not None else (key for char in (whole, *others) for key in first_keys(char)):
            may |= self._keys.get(key, 0)
        exact, more = self._chars.get(whole, 0) & self._escaped, 0
        for char in others:
            more |= self._chars.get(char, 0)
        exact &= ~(more | self._odd)
        return exact, (may & ~exact) | self._odd


def _readings(match: re.Match[str], text: str) -> tuple[str, list[str]]:
    """Return the character that a whole escape means, and those that its beginning may; empty where it is none."""
    of, others = match.groupdict(), []
    if of["char"] and len(of["char"]) > 1:
        others.append(of["char"][0])
    if number := of["url"] or of["mail"] or of["byte"] or of["unit"]:
        return chr(int(number, 16)), others
    if of["octal"]:
        return chr(int(of["octal"], 8)), others
    if of["char"]:
        return of["char"], others
    digits, base = (of["code"], 10) if of["code"] else (of["hex"] or "", 16)
    codes = [int(digits[:end], base) for end in range(1, len(digits) + 1)]
    chars = [chr(code) if code < 128 else "" for code in codes]
    return (chars[-1], chars[:-1]) if chars and text.endswith(";") else ("", chars)


def first_keys(char: str) -> Iterator[tuple[str, int]]:
    """Yield the possible beginnings of a character's escape: a byte, half of a pair or the character."""
    yield "code", ord(char)
    yield "unit", units_of(char)[0]
    yield from (("byte", encoded[0]) for encoded in bytes_of(char))


def keys_of(escape: re.Match[str]) -> list[tuple[str, int]] | None:
    """Return the possible beginnings of an escape; None where that may be any character."""
    of = escape.groupdict()
    keys: list[tuple[str, int]] = []
    if of["char"]:
        keys.append(("code", ord(of["char"][0])))
    if number := of["url"] or of["mail"] or of["byte"]:
        keys.append(("byte", int(number, 16)))
    elif of["octal"]:
        keys.append(("byte", int(of["octal"], 8)))
    elif of["unit"]:
        keys.append(("unit", int(of["unit"], 16)))
    elif digits := of["code"] or of["hex"]:
        # Without a `;` it may end before a digit, the next character.
        base = 10 if of["code"] else 16
        keys += [("code", int(digits[:end], base)) for end in range(1, len(digits) + 1)]
    elif of["name"]:
        if len(named := html.entities.html5.get(f"{of['name']};", "")) != 1:
            return None
        keys.append(("code", ord(named)))
    # `%25` and `&amp;` may be the character itself, before a text like the rest of an escape.
    keys += [("byte", ord("%"))] if of["nested"] else [("code", ord("&"))] if of["amp"] else []
    # Some mean another character than their letter, and an escaped backslash may precede any.
    return None if ord("\\") in (number for _, number in keys) or of["char"] in _OPEN else keys


def bytes_of(char: str) -> list[bytes]:
    """Return a character in UTF-8, and in Latin-1 where that has another byte."""
    return [char.encode("utf-8", "surrogatepass"), *([bytes([ord(char)])] if 127 < ord(char) < 256 else [])]


def units_of(char: str) -> list[int]:
    """Return a character in UTF-16, as numbers."""
    return memoryview(char.encode("utf-16-le", "surrogatepass")).cast("H").tolist()
