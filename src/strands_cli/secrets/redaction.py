"""What is kept out of what is written and shown: values that are secrets and, where asked for, personal data."""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from strands_cli.provider_table import PROVIDERS
from strands_cli.secrets.personal_data import (
    PERSONAL,
    may_hold_personal,
    settled_length,
    without_personal,
    without_personal_in,
)

MARK = "[secret]"
# A shorter value would be found by chance in texts that have nothing to do with it.
MIN_LENGTH = 8

_AWS_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def known_secrets(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the values of the model providers' key variables that are set, and of every other `*_API_KEY`."""
    names = {name for provider in PROVIDERS.values() for name in provider.keys} | set(_AWS_VARIABLES)
    return frozenset(value for name, value in environ.items() if name in names or name.endswith("_API_KEY"))


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return the text with every secret replaced by `[secret]`.

    Found are the value itself and its JSON, URL, hexadecimal and Base64 forms, the last also inside a longer encoded
    text. Values shorter than 8 characters are let be.

    Args:
        text: The text.
        secrets: The values; `PERSONAL` among them stands for whatever looks like personal data.
    """
    values = frozenset(secrets)
    pattern = _pattern(values)
    text = text if pattern is None else pattern.sub(MARK, text)
    return without_personal(text) if PERSONAL in values else text


def redact_json(value: Any, secrets: Iterable[str]) -> Any:
    """Return JSON with every secret replaced in its texts and keys; other values as they are."""
    values = frozenset(secrets)
    pattern = _pattern(values)
    value = value if pattern is None else _redacted(value, pattern)
    return _impersonal(value) if PERSONAL in values else value


def holds_secret(text: str, secrets: Iterable[str]) -> bool:
    """Return whether any form of a secret may be in a text, such as a value that is written as JSON."""
    values = frozenset(secrets)
    pattern = _pattern(values)
    if pattern is not None and pattern.search(text) is not None:
        return True
    return PERSONAL in values and may_hold_personal(text)


class RedactedStream:
    """Redacts a text that comes in pieces; the end of one that may be the beginning of a secret is held back.

    Args:
        secrets: The values.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        values = frozenset(secrets)
        self._pattern, self._forms = _pattern(values), _all_forms(values)
        self._is_impersonal = PERSONAL in values
        self._longest = max(map(len, self._forms), default=1)
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown now."""
        if self._pattern is None and not self._is_impersonal:
            return piece
        text = self._held + piece
        if self._pattern is not None:
            text = self._pattern.sub(MARK, text)
        tails = (text[-length:] for length in range(min(self._longest - 1, len(text)), 0, -1))
        length = len(text) - len(next((tail for tail in tails if self._begins_a_form(tail)), ""))
        if self._is_impersonal:
            length = min(length, settled_length(text))
        said, self._held = text[:length], text[length:]
        return without_personal(said) if self._is_impersonal else said

    def rest(self) -> str:
        """Return what was held back, now that nothing follows."""
        held, self._held = self._held, ""
        return without_personal(held) if self._is_impersonal else held

    def _begins_a_form(self, tail: str) -> bool:
        return any(form.startswith(tail) for form in self._forms)


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


@functools.lru_cache(maxsize=32)
def _pattern(secrets: frozenset[str]) -> re.Pattern[str] | None:
    forms = _all_forms(secrets)
    return re.compile("|".join(map(re.escape, forms))) if forms else None


@functools.lru_cache(maxsize=32)
def _all_forms(secrets: frozenset[str]) -> tuple[str, ...]:
    """Return every form of every value, the longest first: one may be the beginning of another."""
    forms = {form for secret in secrets - {PERSONAL} if len(secret) >= MIN_LENGTH for form in _forms(secret)}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _forms(secret: str) -> set[str]:
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
