"""Personal data, found by its form: e-mail addresses, phone, card, account and social security numbers."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

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
    """A form of personal data: what replaces it, the pattern that finds it, and a check of what was found."""

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
    """Return a text with what looks like personal data replaced by its kind in brackets.

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
    """Return whether a text, or a text that is escaped as JSON, may contain personal data."""
    return "@" in text or "%40" in text or re.search(_HAS_NUMBER, text) is not None


def final_length(text: str) -> int:
    """Return the length of the part of an unfinished text that cannot become part of personal data any more."""
    start = max(0, len(text) - _REACH)
    while start > max(0, len(text) - _LONGEST_WORD) and not text[start - 1].isspace():
        start -= 1
    found = re.compile(_SUSPICIOUS).search(text, start)
    length = found.start() if found else len(text)
    spans = [one.span() for form, pattern in _compiled() for one in pattern.finditer(text) if _holds(form, one)]
    while cut := [begin for begin, end in spans if begin < length < end]:
        length = min(cut)
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


def _holds(form: _Form, found: re.Match[str]) -> bool:
    return form.check is None or form.check(found.groupdict().get("number") or found[0])


def _replaced(form: _Form, found: re.Match[str]) -> str:
    if not _holds(form, found):
        return found[0]
    number = found.groupdict().get("number") or found[0]
    return found[0].removesuffix(number) + form.mark
