"""The redactor of a run: hides the values of secrets and, on request, personal data in all that leaves the run."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Protocol, TypeVar
from urllib.parse import quote

from strands_cli.provider_table import PROVIDERS
from strands_cli.secrets.personal_data import (
    final_length,
    may_hold_personal,
    without_personal,
    without_personal_in,
)


class _DataClass(Protocol):
    """Any data class."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Record = TypeVar("Record", bound=_DataClass)

MARK = "[secret]"
# A shorter value would be found by chance in texts that have nothing to do with it.
MIN_LENGTH = 8

_AWS_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@dataclass(frozen=True, init=False, repr=False)
class Redactor:
    """Replaces secrets by `[secret]`, and personal data by its kind, in texts, JSON, streams and data classes.

    A secret is found as the value itself and in its JSON, URL, hexadecimal and Base64 forms, the last also inside a
    longer encoded text. Redactors compare by what they hide, and their `repr` shows no value.

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
        """Return a redactor of the model providers' key variables that are set, and of every other `*_API_KEY`."""
        names = {name for provider in PROVIDERS.values() for name in provider.keys} | set(_AWS_VARIABLES)
        return cls(value for name, value in environ.items() if name in names or name.endswith("_API_KEY"))

    def __repr__(self) -> str:
        """Return how much it hides; a value must not get into a log or a traceback."""
        return f"<Redactor: {len(self._values)} secrets{', personal data' if self.personal else ''}>"

    def union(self, *others: Redactor) -> Redactor:
        """Return a redactor that hides what this one or any of the others hides."""
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
        if self._pattern is not None:
            text = self._pattern.sub(MARK, text)
        return without_personal(text) if self.personal else text

    def json(self, value: Any) -> Any:
        """Return JSON with its texts and keys redacted; numbers only where they are personal data."""
        if self._pattern is not None:
            value = _redacted(value, self._pattern)
        return _impersonal(value) if self.personal else value

    def record(self, record: Record) -> Record:
        """Return a data class (an event, a finding, a result) with its texts and its JSON redacted."""
        names = _names_of(type(record))
        held = {name: value for name in names if isinstance(value := getattr(record, name), (str, dict, list, tuple))}
        texts = [value for value in held.values() if isinstance(value, str)]
        # One search in all texts: few records hold anything to hide.
        if len(texts) == len(held) and not self.may_hide_in("\n".join(texts)):
            return record
        changed = {name: after for name, before in held.items() if (after := self._of_same_type(before)) != before}
        return dataclasses.replace(record, **changed) if changed else record

    def stream(self) -> RedactedStream:
        """Return what redacts one text that arrives in pieces."""
        return RedactedStream(self._pattern, self._forms, personal=self.personal)

    def may_hide_in(self, text: str) -> bool:
        """Return whether a text, or a value whose JSON the text is, has to be redacted; no only where it is certain."""
        if self._pattern is not None and self._pattern.search(text) is not None:
            return True
        return self.personal and may_hold_personal(text)

    def _of_same_type(self, value: Any) -> Any:
        after = self.json(value)
        return tuple(after) if isinstance(value, tuple) else after  # JSON has no tuples

    @cached_property
    def _forms(self) -> tuple[str, ...]:
        """Every form of every value, the longest first: one may be the beginning of another."""
        forms = {form for value in self._values for form in _forms_of(value)}
        return tuple(sorted(forms, key=lambda form: (-len(form), form)))

    # Compiled at the first use: some redactors are only parts of others.
    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        return re.compile("|".join(map(re.escape, self._forms))) if self._forms else None


HIDE_NOTHING = Redactor()


class RedactedStream:
    """Redacts a text that arrives in pieces: an end that may be the beginning of a secret waits for the next piece.

    `Redactor.stream` makes it.
    """

    def __init__(self, pattern: re.Pattern[str] | None, forms: tuple[str, ...], *, personal: bool) -> None:
        self._pattern = pattern
        self._forms = forms
        self._first = {form[0] for form in forms}
        self._longest = max(map(len, forms), default=1)
        self._personal = personal
        self._unread = ""  # may be the beginning of a secret
        self._unshown = ""  # holds no secret, and may be the beginning of personal data

    def feed(self, piece: str) -> str:
        """Return what can be shown now."""
        text = piece if self._pattern is None else self._without_secrets(piece, self._pattern)
        if not self._personal:
            return text
        text = self._unshown + text
        length = final_length(text)
        self._unshown = text[length:]
        return without_personal(text[:length])

    def rest(self) -> str:
        """Return the end that was held back, after the last piece."""
        text = self._unread if self._pattern is None else self._pattern.sub(MARK, self._unread)
        text, self._unread, self._unshown = self._unshown + text, "", ""
        return without_personal(text) if self._personal else text

    def _without_secrets(self, piece: str, pattern: re.Pattern[str]) -> str:
        text, shown, done = self._unread + piece, "", 0
        beginnings = self._beginnings(text)
        for found in pattern.finditer(text):
            # With the next piece this may become a longer secret, or one that begins before it.
            if any(done <= beginning <= found.start() for beginning in beginnings):
                break
            shown, done = shown + text[done : found.start()] + MARK, found.end()
        end = next((beginning for beginning in beginnings if beginning >= done), len(text))
        self._unread = text[end:]
        return shown + text[done:end]

    def _beginnings(self, text: str) -> list[int]:
        """Return each place from which on the text is the beginning of a secret, and not yet the whole of it."""
        places = range(max(0, len(text) - self._longest + 1), len(text))
        return [place for place in places if text[place] in self._first and self._begins_a_secret(text[place:])]

    def _begins_a_secret(self, tail: str) -> bool:
        return any(len(form) > len(tail) and form.startswith(tail) for form in self._forms)


@lru_cache(maxsize=256)
def _names_of(kind: type[_DataClass]) -> tuple[str, ...]:
    """Return the names of a data class's fields; events are many, and of few classes."""
    return tuple(field.name for field in dataclasses.fields(kind))


def _redacted(value: Any, pattern: re.Pattern[str]) -> Any:
    if isinstance(value, str):
        return pattern.sub(MARK, value)
    if isinstance(value, Mapping):
        return {_redacted(key, pattern): _redacted(item, pattern) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redacted(item, pattern) for item in value]
    return value


def _impersonal(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {without_personal_in("", key): _impersonal(item, str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_impersonal(item, name) for item in value]
    return without_personal_in(name, value)


def _forms_of(secret: str) -> set[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    forms = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    forms |= {quote(raw, safe=""), quote(raw), quote(raw, safe="").replace("%20", "+"), raw.hex(), raw.hex().upper()}
    return forms | _base64_forms(raw)


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
