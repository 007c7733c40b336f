"""Rows for those who only look at a run: damaged parts of a row are left out, and named."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from strands_cli.engine.journal.journal_rows import Row, RowKind, RowStatus, StoredRow, stored_row
from strands_cli.errors import RunRecordError
from strands_cli.events import Usage
from strands_cli.secrets.redactor import Redactor

# Values of rows as the texts that a journal stores.


# Made once, as the encoder below.
_DECODER = json.JSONDecoder()


def json_value(text: Any) -> Any:
    """Return the value of a JSON text as `json.loads` does, in half the time for a text without space around it."""
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, TypeError):
        return json.loads(text)
    return value if end == len(text) else json.loads(text)


@functools.lru_cache(maxsize=1024)
def read_usage(text: str) -> Usage:
    """Return the usage of a row; a run has few different ones."""
    return Usage.from_mapping(json.loads(text))


@functools.lru_cache(maxsize=1024)
def usage_text(usage: Usage) -> str:
    """Return the usage of a row as JSON."""
    # Most rows have no estimate.
    names = (name for name in Usage.__slots__ if name != "estimated_tokens" or usage.estimated_tokens)
    return json_text({name: getattr(usage, name) for name in names})


# Made once: `json` makes one for each value not written in its default form.
_ENCODER = json.JSONEncoder(ensure_ascii=False)


def json_text(value: Any) -> str:
    """Return JSON; half a surrogate pair, which UTF-8 has no form for, becomes an escape."""
    if not value and value in (None, {}):  # half of a run's values
        return "null" if value is None else "{}"
    text = _ENCODER.encode(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


_KINDS, _STATUSES = frozenset(get_args(RowKind)), frozenset(get_args(RowStatus))
# The types of the fields of a row beside its output, as far as they are used for more than to be shown.
_TEXTS = ("agent", "model", "request", "error", "error_code", "decision", "rule", "distribution", "engine", "stopped")
_TEXTS_OF_QUESTIONS = ("kind", "prompt", "context", "pattern", "default", "problem", "edited_by")
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys((*_TEXTS, *_TEXTS_OF_QUESTIONS), str),
    **dict.fromkeys(("failures", "layers", "words"), list),
    **dict.fromkeys(("replaced", "timeout_s"), (int, float)),
    **dict.fromkeys(("call", "schema", "tried"), dict),
}
# The last second of the year 9999, the last that a time of ours can name.
_LATEST = 253402300799


class ReadableRow(StoredRow):
    """A row with its readable parts."""

    # A list that the reading of the output appends to: if that held the row, each row would be a cycle of references,
    # which stays in memory with its texts until the collector runs.
    __slots__ = ("_faults",)

    _faults: list[str]

    @property
    def damage(self) -> str | None:
        """The unreadable parts, and why; None where all read parts are sound."""
        return "; ".join(self._faults) or None


def readable_row(columns: Sequence[Any], read_output: Callable[[], Any]) -> Row:
    """Return the row of these columns, as `SqliteJournal` stores them; its output is decoded when it is first read."""
    key, kind, status, digest, attempt, _, _, usage, cost, detail, started_at, ended_at, position = columns
    faults: list[str] = []
    facts, spent = _facts(detail, faults), _usage(usage, faults)
    values = (
        key if isinstance(key, str) and key else _lost(faults, "key", f"row.{position}"),
        kind if kind in _KINDS else _lost(faults, "kind", "notes"),
        status if status in _STATUSES else _lost(faults, "status", "failed"),
        str(digest),
        attempt if isinstance(attempt, int) else _lost(faults, "attempt", 1),
        None,
        spent,
        cost if cost is None or _is_number(cost) else _lost(faults, "cost", None),
        # Where it ended is closer than 1970, from which it would have lasted for decades.
        started_at if _is_time(started_at) else _lost(faults, "started_at", ended_at if _is_time(ended_at) else 0.0),
        ended_at if ended_at is None or _is_time(ended_at) else _lost(faults, "ended_at", None),
        facts,
    )
    row = ReadableRow(*values, decode=lambda: _output(faults, read_output))
    object.__setattr__(row, "_faults", faults)
    return row


def damage_of(row: Row) -> str | None:
    """Return the unreadable parts of a row, as far as it has been read."""
    return getattr(row, "damage", None)


def _output(faults: list[str], read: Callable[[], Any]) -> Any:
    try:
        return read()
    except RunRecordError as error:
        faults.append(f"output: {error.__cause__ or error}")
        return None


def _facts(text: Any, faults: list[str]) -> Mapping[str, Any]:
    if text == "{}":
        return {}
    facts = _decoded(text, "detail", faults)
    if not isinstance(facts, dict):
        return {}
    odd = [name for name, value in facts.items() if name in _TYPES and value is not None and not _fits(name, value)]
    faults += [f"detail: {name!r} has another type" for name in sorted(odd)]
    return {name: value for name, value in facts.items() if name not in odd} if odd else facts


def _fits(name: str, value: Any) -> bool:
    if not isinstance(value, _TYPES[name]):
        return False
    return type(value) is not list or all(isinstance(item, str) for item in value)


def _usage(text: Any, faults: list[str]) -> Usage:
    try:
        return read_usage(text)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return _damaged_usage(text, faults)


def _damaged_usage(text: Any, faults: list[str]) -> Usage:
    values = _decoded(text, "usage", faults)
    try:
        return Usage.from_mapping(values) if isinstance(values, dict) else Usage()
    except (ValueError, TypeError, OverflowError) as error:
        _lost(faults, "usage", None, error)
        return Usage()


def _decoded(text: Any, name: str, faults: list[str]) -> Any:
    """Return the object that a text is as JSON, or None."""
    try:
        value = json_value(text)
    except (ValueError, TypeError, RecursionError) as error:
        return _lost(faults, name, None, error)
    return value if isinstance(value, dict) else _lost(faults, name, None)


def _lost(faults: list[str], name: str, instead: Any, error: Exception | None = None) -> Any:
    faults.append(f"{name}: {error or 'it has another type'}")
    return instead


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _is_time(value: Any) -> bool:
    # An infinite value is in no range.
    return isinstance(value, (int, float)) and 0 <= value <= _LATEST


# Rows as the columns that journals store: the texts to write, and the row from the read columns.


# A larger output is stored beside its row, and read only on demand.
LARGE_OUTPUT_BYTES = 64 * 1024


def stored_texts(row: Row, redactor: Redactor) -> tuple[Row, str, str]:
    """Return a row without secrets, and its output and its detail as JSON.

    Raises:
        TypeError, ValueError, RecursionError: The row has a value that JSON cannot represent.
    """
    output, detail = json_text(row.output), json_text(dict(row.detail))
    if row.kind == "attachment":  # it has no secrets, and its encoded bytes may look like personal data
        return row, output, detail
    if not redactor.may_hide_in(output, detail):
        return row, output, detail
    clean = redactor.json(row.output), redactor.json(dict(row.detail))
    return dataclasses.replace(row, output=clean[0], detail=clean[1]), json_text(clean[0]), json_text(clean[1])


def row_of(
    columns: Sequence[Any], read_output: Callable[[], Any], *, is_tolerant: bool = False, is_lazy: bool = False
) -> Row:
    """Return the row of stored columns.

    Args:
        columns: key, kind, status, digest, attempt, output, the name of a large output, usage, cost, detail,
            started_at, ended_at, position.
        read_output: Returns the decoded output.
        is_tolerant: Whether damaged parts are left out, and named by the row's `damage`.
        is_lazy: Whether the output is decoded when it is first read.

    Raises:
        TypeError, ValueError, RecursionError: The row is damaged.
    """
    if is_tolerant:
        return readable_row(columns, read_output)
    key, kind, status, digest, attempt, _, _, usage, cost, detail, started_at, ended_at, _ = columns
    facts = json_value(detail) if detail != "{}" else {}
    values = (read_usage(usage), cost, started_at, ended_at, facts)
    if is_lazy:
        return stored_row((key, kind, status, digest, attempt, *values), read_output)
    return Row(key, kind, status, digest, attempt, read_output(), *values)
