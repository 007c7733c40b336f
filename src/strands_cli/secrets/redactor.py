"""The redactor of a run: hides the values of secrets and, on request, personal data in all that leaves the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any, ClassVar, Protocol, TypeVar

from strands_cli.provider_table import IMPORTED, PROVIDERS
from strands_cli.secrets.personal_data import final_length, may_hold_personal, without_personal, without_personal_in
from strands_cli.secrets.secret_forms import FormFinder, forms_of
from strands_cli.secrets.short_secrets import MIN_LENGTH, is_short


class _DataClass(Protocol):
    """Any data class."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Record = TypeVar("Record", bound=_DataClass)

MARK = "[secret]"
# What is in no form of a secret: a line end could be, so that a form would seem to begin at the end of many texts.
_APART = "\1"

# The fields of a record that can hold something to hide, and those that are a text or can hold nothing.
_REDACTED = (str, dict, list, tuple)
_FLAT = frozenset({str, int, float, bool, type(None)})

_AWS_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@dataclass(frozen=True, init=False, repr=False)
class Redactor:
    """Replaces secrets by `[secret]`, and personal data by its kind, in texts, JSON, streams and data classes.

    A secret is found as the value itself, with and without the white space around it, with each of its characters
    escaped or not as in JSON, HTML, URLs, mails and strings of programs, and in its hexadecimal, Base64 and Base32
    forms, the last two also inside a longer encoded text; line ends in it do not hide it, and of several lines each one
    is found. Redactors compare by what they hide, and their `repr` shows no value.

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
        return cls(environ[name] for name in _key_variables(environ))

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
        held = [one for one in values if one and one.__class__ not in _FLAT and isinstance(one, _REDACTED)]
        # One search in all texts: few records hold anything to hide.
        if not held and not self.may_hide_in(*[one for one in values if one.__class__ is str]):
            return record
        texts = ((name, one) for name, one in zip(names, values, strict=True) if one and isinstance(one, _REDACTED))
        changed = {name: after for name, before in texts if (after := self._of_same_type(before)) != before}
        return dataclasses.replace(record, **changed) if changed else record

    def stream(self) -> RedactedStream:
        """Return what redacts one text that arrives in pieces."""
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
        """Return what can be shown now."""
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
        text, shown, done = self._unread + self._late, "", 0
        self._late = ""
        if finder.has_none_in(text):  # as most pieces
            self._unread = ""
            return text
        beginnings = finder.beginnings(text)
        while (found := finder.find(text, done)) is not None:
            start, end = found
            # With the next piece this may become a longer secret, or one that begins before it.
            if any(done <= beginning <= start for beginning in beginnings):
                break
            shown, done = shown + text[done:start] + MARK, end
        end = next((beginning for beginning in beginnings if beginning >= done), len(text))
        self._unread = text[end:]
        return shown + text[done:end]


@lru_cache(maxsize=256)
def _reader_of(kind: type[_DataClass]) -> tuple[tuple[str, ...], Callable[[_DataClass], tuple[Any, ...]]]:
    """Return the names of a data class's fields, and what reads all of them; events are many, and of few classes."""
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
