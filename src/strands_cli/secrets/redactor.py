"""The redactor of a run: hides the values of secrets and, on request, personal data in all that leaves the run."""

from __future__ import annotations

import dataclasses
import functools
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from strands_cli.provider_table import IMPORTED, PROVIDERS
from strands_cli.secrets.secret_forms import FormFinder, forms_of
from strands_cli.secrets.secret_sources import MIN_LENGTH, is_short
from strands_cli.texts.unicode_safety import printable

# Personal data, found by its form: e-mail addresses, phone, card, account and social security numbers.


# Patterns are compiled at the first use: most runs do not search for personal data.

# Registered lengths of account numbers by country (ISO 13616): only the length shows where a number ends.
_IBAN_LENGTHS: Mapping[int, str] = {
    15: "NO",
    16: "BE BI",
    18: "DK FI FO GL NL SD FK",
    19: "MK SI",
    20: "AT BA EE KZ LT LU XK MN",
    21: "CH CR HR LI LV",
    22: "BG BH DE GB GE IE ME RS VA",
    23: "AE GI IL IQ TL OM SO",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "FR GR IT MC MR SM DJ",
    28: "AL AZ BY CY DO GT HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
# First digits and lengths of card numbers by issuer: by the check digit alone, one of ten long numbers would match.
_ISSUERS = (
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|3[47]\d{13}"
    r"|(?:6011|65\d\d|64[4-9]\d|62\d\d)\d{12,15}|35(?:2[89]|[3-8]\d)\d{12,15}|3(?:0[0-5]|095|[689]\d)\d{11,16}"
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}"
)
# A number does not begin inside a word, another number, a date or a UUID.
_FREE = r"(?:(?<=\\[nrtbf])|(?<![\w+]))"  # or after an escape sequence of JSON
_START = _FREE + r"(?<!\d[-.:/])(?<!-[0-9A-Fa-f]{4}-)(?<![0-9A-Fa-f]{8}-)"
_END = r"(?!\w)(?![-.:/]\d)(?!-[0-9A-Fa-f]{4})"
# Separators between the digits of a phone number.
_GAP = r"(?:[ \u00a0.\-/]|\s?[()]\s?|\)\s?/\s?|\s[-/]\s)?"
# An address does not begin with the letter of an escape sequence: the redacted text must remain JSON.
_MAILBOX = r"(?:(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4})|(?<![\\\w.%+'-])|(?<=\\)(?![nrtbf]|u[0-9A-Fa-f]{4}))"
_CALLED = (
    r"(?:phone|mobile|fax|tel|telefon|telephone|handy|mobil|whatsapp|m\u00f3vil|t\u00e9l)"
    r"(?:[ _]?(?:no|number|nr|nummer))?"
)


class _Form(NamedTuple):
    """A form of personal data: its substitute, the pattern that finds it, and a check of the match."""

    mark: str
    pattern: str
    check: Callable[[str], bool] | None = None


def _is_card(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    return re.fullmatch(_ISSUERS, digits) is not None and len(set(digits)) > 1 and _luhn(digits)


def _luhn(digits: str) -> bool:
    doubled = (2 * int(digit) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(value - 9 if value > 9 else value for value in doubled)) % 10 == 0


def _is_account(text: str) -> bool:
    plain = re.sub(r"[\s\u00a0-]", "", text).upper()
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


def _is_phone(text: str) -> bool:
    return sum(char.isdigit() for char in text) >= 7


def _is_trunk_call(text: str) -> bool:
    return sum(char.isdigit() for char in text) >= 9


def _accounts() -> str:
    """Return the pattern of account numbers, one branch per length: one for all would match the next word."""
    branches = []
    for length, countries in _IBAN_LENGTHS.items():
        groups, rest = divmod(length - 4, 4)
        for gap in ("", "[ \\u00a0]", "-"):  # without separators, or in groups of four
            tail = f"{gap}[A-Z0-9]{{{rest}}}" if rest else ""
            branches.append(f"(?:{'|'.join(countries.split())})\\d\\d(?:{gap}[A-Z0-9]{{4}}){{{groups}}}{tail}")
    return rf"(?<![A-Za-z0-9])(?=[A-Za-z]{{2}}\d\d)(?i:{'|'.join(branches)})(?![A-Za-z0-9])"


_FORMS = (
    # `git@host` is not a person's address, and `a@b.dot(c)` is code.
    _Form("[e-mail]", _MAILBOX + r"(?!git@)[\w.%+'-]{1,64}(?:@|%40)(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w(])"),
    _Form("[account number]", _accounts(), _is_account),
    _Form("[social security number]", rf"{_START}(?!000|666|9\d\d)\d{{3}}-(?!00)\d\d-(?!0000)\d{{4}}{_END}"),
    _Form(
        "[card number]",
        rf"{_START}(?:\d{{4}}([ -])\d{{4}}\1\d{{4}}\1\d{{1,7}}|\d{{4}}([ -])\d{{6}}\2\d{{4,5}}|\d{{12,19}}){_END}",
        _is_card,
    ),
    # International: a plus, the country, groups. Numbers in a row are one match, because no rule shows where one ends.
    _Form("[phone number]", rf"{_FREE}\+[1-9]\d{{0,2}}(?:{_GAP}\d){{6,40}}(?!\d)", _is_phone),
    # North America, with separators.
    _Form("[phone number]", rf"{_START}(?:1[-. ])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[-. ])[2-9]\d\d[-. ]\d{{4}}{_END}"),
    # National numbers that begin with 0, with separators; the last form is the French one, in pairs.
    _Form(
        "[phone number]",
        rf"{_START}(?:\(0[1-9]\d{{0,3}}\) ?/? ?|0(?:[1-9]\d|0[1-9])\d{{0,2}} ?[ /-] ?)"
        rf"\d{{2,4}}(?:[ /-]?\d{{2,5}}){{1,9}}{_END}",
        _is_trunk_call,
    ),
    _Form("[phone number]", rf"{_START}0[1-9]([ .])\d\d(?:\1\d\d){{3}}{_END}"),
    # Any number after a word such as `phone`.
    _Form(
        "[phone number]",
        rf"(?i:(?<![^\W\d_]){_CALLED})[\\\"'.]{{0,3}}[ \t]?[:=]?[ \t]?[\\\"']{{0,3}}"
        rf"(?P<number>\(?\d(?:{_GAP}\d){{6,40}})(?!\d)",
        _is_phone,
    ),
)


def without_personal(text: str) -> str:
    """Return a text with personal data, by its form, replaced by its kind in brackets.

    Takes time in proportion to the text. It does not find names, postal addresses, birthdays, or numbers without a
    check digit or separators.
    """
    if not may_hold_personal(text):
        return text
    for form, pattern in _compiled():
        text = pattern.sub(functools.partial(_replaced, form), text)
    return text


def without_personal_in(name: str, value: Any) -> Any:
    """Return a text or a number of JSON without personal data; `name` is its key, or empty."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return value
    text = str(value)
    if name and _is_phone(text) and re.fullmatch(_DIALLED, text) and re.fullmatch(f"(?i:.*{_CALLED})", name):
        return "[phone number]"
    if isinstance(value, str):
        return without_personal(text)
    return "[card number]" if 12 <= len(text) <= 19 and _is_card(text) else value


def may_hold_personal(text: str) -> bool:
    """Return whether a text, or a text escaped as JSON, may contain personal data."""
    return "@" in text or "%40" in text or re.search(_HAS_NUMBER, text) is not None


def final_length(text: str) -> int:
    """Return the length of the part of an unfinished text that cannot become part of personal data any more."""
    start = max(0, len(text) - _REACH)
    while start > max(0, len(text) - _LONGEST_WORD) and not text[start - 1].isspace():
        start -= 1
    match = re.compile(_SUSPICIOUS).search(text, start)
    length = match.start() if match else len(text)
    spans = [match.span() for form, pattern in _compiled() for match in pattern.finditer(text) if _holds(form, match)]
    while cut_spans := [begin for begin, end in spans if begin < length < end]:
        length = min(cut_spans)
    return length


# How many characters before the end personal data of several words, and of one word, may begin.
_REACH, _LONGEST_WORD = 80, 400
# A word with a part of a number or an address, a word such as `phone`, or the last word.
_SUSPICIOUS = rf"\S*[\d@+(]\S*|\S*(?i:{_CALLED})\S*|\S+\Z"
# The shortest number that any form has: seven digits, with up to three other characters between two of them.
_HAS_NUMBER = r"\d(?:[^\d]{0,3}\d){6}"
_DIALLED = r"\+?[\d\s().\-/]+"


@functools.cache
def _compiled() -> tuple[tuple[_Form, re.Pattern[str]], ...]:
    return tuple((form, re.compile(form.pattern)) for form in _FORMS)


def _holds(form: _Form, match: re.Match[str]) -> bool:
    return form.check is None or form.check(match.groupdict().get("number") or match[0])


def _replaced(form: _Form, match: re.Match[str]) -> str:
    if not _holds(form, match):
        return match[0]
    number = match.groupdict().get("number") or match[0]
    return match[0].removesuffix(number) + form.mark


class _DataClass(Protocol):
    """Any data class."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Record = TypeVar("Record", bound=_DataClass)

MARK = "[secret]"
# A character in no form of a secret: a line end could be, so that a form would seem to begin at the end of many texts.
_APART = "\1"

# The fields of a record that can hold something to hide, and those of a text or without such values.
_REDACTED = (str, dict, list, tuple)
_FLAT = frozenset({str, int, float, bool, type(None)})

_AWS_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@dataclass(frozen=True, init=False, repr=False)
class Redactor:
    """Replaces secrets by `[secret]`, and personal data by its kind, in texts, JSON, streams and data classes.

    A secret is found as the value itself, with and without the white space around it, with each of its characters
    escaped or not as in JSON, HTML, URLs, mails and strings of programs, and in its hexadecimal, Base64 and Base32
    forms, the last two also inside a longer encoded text; line ends in it do not hide it, and of several lines each one
    is found. Redactors compare by their hidden values, and their `repr` shows no value.

    Attributes:
        personal: Whether it hides personal data too.
    """

    personal: bool
    _values: frozenset[str]

    def __init__(self, values: Iterable[str] = (), *, personal: bool = False) -> None:
        """Hide these values, except those shorter than `MIN_LENGTH`."""
        object.__setattr__(self, "personal", personal)
        object.__setattr__(self, "_values", frozenset(value for value in values if len(value) >= MIN_LENGTH))

    @classmethod
    def of_environment(cls, environ: Mapping[str, str]) -> Redactor:
        """Return a redactor of the set key variables of model providers, and of every other `*_API_KEY`."""
        return cls(environ[name] for name in _key_variables(environ))

    def __repr__(self) -> str:
        """Return how much it hides; a value must not get into a log or a traceback."""
        return f"<Redactor: {len(self._values)} secrets{', personal data' if self.personal else ''}>"

    def union(self, *others: Redactor) -> Redactor:
        """Return a redactor of the values that this one or any of the others hides."""
        values = self._values.union(*(other._values for other in others))
        personal = self.personal or any(other.personal for other in others)
        # A redactor keeps its compiled pattern, so one that hides all of it already is used again.
        if (values, personal) == (self._values, self.personal):
            return self
        return Redactor(values, personal=personal)

    @cached_property
    def without_personal_data(self) -> Redactor:
        """The redactor that hides the same secrets and no personal data."""
        return Redactor(self._values) if self.personal else self

    def text(self, text: str) -> str:
        """Return the text with every secret replaced by `[secret]`, and personal data by its kind in brackets."""
        if self._finder is not None:
            text = self._finder.replace(text, MARK)
        return without_personal(text) if self.personal else text

    def json(self, value: Any) -> Any:
        """Return JSON with its texts and keys redacted; numbers only where they are personal data."""
        if self._finder is not None:
            value = _redacted(value, self._finder)
        return _impersonal(value) if self.personal else value

    def record(self, record: Record) -> Record:
        """Return a data class (an event, a finding, a result) with its texts and its JSON redacted."""
        names, read = _reader_of(type(record))
        values = read(record)
        nested_values = [
            value for value in values if value and value.__class__ not in _FLAT and isinstance(value, _REDACTED)
        ]
        # One search in all texts: few records hold anything to hide.
        if not nested_values and not self.may_hide_in(*[value for value in values if value.__class__ is str]):
            return record
        texts = ((name, text) for name, text in zip(names, values, strict=True) if text and isinstance(text, _REDACTED))
        changed = {name: after for name, before in texts if (after := self._of_same_type(before)) != before}
        return dataclasses.replace(record, **changed) if changed else record

    def stream(self) -> RedactedStream:
        """Return the redactor of one text that arrives in pieces."""
        return RedactedStream(self._finder, personal=self.personal)

    def may_hide_in(self, *texts: str) -> bool:
        """Return whether texts, or values whose JSON they are, have to be redacted; no only where it is certain."""
        text = _APART.join(texts)
        if self._finder is not None and self._finder.find(text) is not None:
            return True
        return self.personal and may_hold_personal(text)

    def _of_same_type(self, value: Any) -> Any:
        after = self.json(value)
        return tuple(after) if isinstance(value, tuple) else after  # JSON has no tuples

    # Made at the first use: some redactors are only parts of others.
    @cached_property
    def _finder(self) -> FormFinder | None:
        forms = [form for value in self._values for form in forms_of(value)]
        return FormFinder(forms) if forms else None


# For values without secrets: it returns every text as it is.
HIDE_NOTHING = Redactor()


def short_keys(environ: Mapping[str, str]) -> list[str]:
    """Return the variables of `Redactor.of_environment` whose values are too short to be hidden."""
    return [name for name in _key_variables(environ) if is_short(environ[name])]


def _key_variables(environ: Mapping[str, str]) -> list[str]:
    providers = (*PROVIDERS.values(), *IMPORTED.values())
    names = {name for provider in providers for name in provider.keys} | set(_AWS_VARIABLES)
    return sorted(name for name in environ if name in names or name.endswith("_API_KEY"))


class RedactedStream:
    """Redacts a text that arrives in pieces: an end that may be the beginning of a secret waits for the next piece.

    `Redactor.stream` makes it.
    """

    def __init__(self, finder: FormFinder | None, *, personal: bool) -> None:
        self._finder = finder
        self._personal = personal
        self._unread = ""  # may be the beginning of a secret
        self._late = ""  # came after that, and is not looked at yet
        self._unshown = ""  # holds no secret, and may be the beginning of personal data

    def feed(self, piece: str) -> str:
        """Return the text that can be shown now."""
        text = piece if self._finder is None else self._without_secrets(piece, self._finder)
        if not self._personal:
            return text
        text = self._unshown + text
        length = final_length(text)
        self._unshown = text[length:]
        return without_personal(text[:length])

    def rest(self) -> str:
        """Return the end that was held back, after the last piece."""
        text = self._unread + self._late
        if self._finder is not None:
            text = self._finder.replace(text, MARK)
        text, self._unread, self._late, self._unshown = self._unshown + text, "", "", ""
        return without_personal(text) if self._personal else text

    def _without_secrets(self, piece: str, finder: FormFinder) -> str:
        self._late += piece
        # A text of escapes alone, in pieces of a few characters, would be looked at again for each of them.
        if len(self._late) < len(self._unread) // 2:
            return ""
        text, output, done = self._unread + self._late, "", 0
        self._late = ""
        if finder.has_none_in(text):  # as most pieces
            self._unread = ""
            return text
        beginnings = finder.beginnings(text)
        while (span := finder.find(text, done)) is not None:
            start, end = span
            # With the next piece this may become a longer secret, or one that begins before it.
            if any(done <= beginning <= start for beginning in beginnings):
                break
            output, done = output + text[done:start] + MARK, end
        end = next((beginning for beginning in beginnings if beginning >= done), len(text))
        self._unread = text[end:]
        return output + text[done:end]


@lru_cache(maxsize=256)
def _reader_of(kind: type[_DataClass]) -> tuple[tuple[str, ...], Callable[[_DataClass], tuple[Any, ...]]]:
    """Return the names of a data class's fields, and the reader of all of them; events are many, and of few classes."""
    names = tuple(field.name for field in dataclasses.fields(kind))
    if len(names) > 1:
        return names, attrgetter(*names)
    return names, lambda record: tuple(getattr(record, name) for name in names)


def _redacted(value: Any, finder: FormFinder) -> Any:
    if isinstance(value, str):
        return finder.replace(value, MARK)
    if isinstance(value, Mapping):
        return {_redacted(key, finder): _redacted(item, finder) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redacted(item, finder) for item in value]
    return value


def _impersonal(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {without_personal_in("", key): _impersonal(item, str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_impersonal(item, name) for item in value]
    return without_personal_in(name, value)


# Redaction of the process's output and logs: its streams are shared by all runs of the process.


_hidden = HIDE_NOTHING


def hide_in_output(redactor: Redactor) -> None:
    """Hide secrets in the output of the process until it ends; threads that outlive a run may still print them."""
    global _hidden
    _hidden = _hidden.union(redactor)


def redact_output(text: str) -> str:
    """Return a text without all that `hide_in_output` has received."""
    return _hidden.text(text)


class RedactedFormatter(logging.Formatter):
    """Formats log records, with their stack traces, without secrets and without control characters for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the redacted and escaped text."""
        return printable(redact_output(super().format(record)))
