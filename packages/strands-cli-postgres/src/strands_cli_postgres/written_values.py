"""The addition of a row or a fact to a commit: its texts without secrets, and its columns in a list of runs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from strands_cli.api import LARGE_OUTPUT_BYTES, Redactor, Row, json_text, stored_texts, usage_text
from strands_cli_postgres.commit import LISTED, LISTED_NUMBERS, RunChanges, effect_columns


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row to store.

    Attributes:
        row: The row without secrets.
        large: The digest and the text of an output stored beside the row.
    """

    row: Row
    columns: tuple[Any, ...]
    large: tuple[str, str] | None
    size: int

    def add(self, changes: RunChanges) -> None:
        """Add it to the changes of its run in a commit."""
        changes.add_effect(self.columns)
        if self.large is not None:
            digest, text = self.large
            changes.outputs[digest] = text


@dataclass(frozen=True, slots=True)
class FactChange:
    """Facts to store.

    Attributes:
        texts: Their JSON, by name.
        listed: The columns that a list of runs has, with these facts.
    """

    texts: Mapping[str, str]
    listed: dict[str, Any]
    is_listed: bool
    size: int

    def add(self, changes: RunChanges) -> None:
        """Add them to the changes of their run in a commit."""
        changes.facts.update(self.texts)
        if self.is_listed:
            changes.listed = self.listed


def row_change(row: Row, redactor: Redactor, position: int) -> RowChange:
    """Return the change that stores a row.

    Raises:
        TypeError, ValueError, OverflowError, RecursionError: The row has a value that cannot be stored.
    """
    row, output, detail = stored_texts(row, redactor)
    digest = _digest_of_large(output)
    stored = None if row.output is None or digest else output
    columns = effect_columns(row, stored, digest, usage_text(row.usage), detail, position)
    return RowChange(row, columns, (digest, output) if digest else None, len(output) + len(detail))


def _digest_of_large(output: str) -> str | None:
    """Return the digest of an output stored beside its row; None for one stored in it."""
    if len(output) * 4 <= LARGE_OUTPUT_BYTES:
        return None
    encoded = output.encode()
    return hashlib.sha256(encoded).hexdigest() if len(encoded) > LARGE_OUTPUT_BYTES else None


def fact_change(facts: Mapping[str, Any], redactor: Redactor, listed: Mapping[str, Any]) -> FactChange:
    """Return the change that stores facts.

    Args:
        listed: The columns that the list of runs has so far.

    Raises:
        TypeError, ValueError, RecursionError: A fact cannot be stored.
    """
    values = {name: redactor.json(value) for name, value in facts.items()}
    texts = {name: json_text(value) for name, value in values.items()}
    seen: dict[str, Any] = {name: _shown(values[name]) for name in LISTED if name in values}
    seen |= {name: _number(values[name]) for name in LISTED_NUMBERS if name in values}
    return FactChange(texts, {**listed, **seen}, bool(seen), sum(map(len, texts.values())))


def _shown(value: Any) -> str | None:
    """Return a text as a list can show it: Postgres has no null character, and UTF-8 no half of a pair."""
    if not isinstance(value, str):
        return None
    return value.replace("\0", "\ufffd").encode(errors="replace").decode()


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None
