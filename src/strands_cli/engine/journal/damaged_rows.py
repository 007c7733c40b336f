"""Rows for those who only look at a run: what of a row is damaged is left out, and named."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from strands_cli.engine.journal.journal_rows import Row, RowKind, RowStatus, StoredRow
from strands_cli.engine.journal.row_texts import json_value, read_usage
from strands_cli.errors import RunRecordError
from strands_cli.events import Usage

_KINDS, _STATUSES = frozenset(get_args(RowKind)), frozenset(get_args(RowStatus))
# The types of what a row keeps beside its output, as far as anything is done with it but to show it.
_TEXTS = ("agent", "model", "request", "error", "error_code", "decision", "rule", "distribution", "engine", "stopped")
_TEXTS_OF_QUESTIONS = ("kind", "prompt", "context", "pattern", "default")
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys((*_TEXTS, *_TEXTS_OF_QUESTIONS), str),
    **dict.fromkeys(("failures", "layers", "words"), list),
    **dict.fromkeys(("replaced", "timeout_s"), (int, float)),
    "call": dict,
}
# The last second of the year 9999, the last that a time of ours can name.
_LATEST = 253402300799


class ReadableRow(StoredRow):
    """A row with what of it can be read."""

    # A list that the reading of the output appends to: if that held the row, each row would be a cycle of references,
    # which stays in memory with its texts until the collector runs.
    __slots__ = ("_found",)

    _found: list[str]

    @property
    def damage(self) -> str | None:
        """What cannot be read, and why; None where all that was read is sound."""
        return "; ".join(self._found) or None


def readable_row(columns: Sequence[Any], read_output: Callable[[], Any]) -> Row:
    """Return the row of these columns, as `SqliteJournal` stores them; its output is decoded when it is first read."""
    key, kind, status, digest, attempt, _, _, usage, cost, detail, started_at, ended_at, position = columns
    found: list[str] = []
    facts, spent = _facts(detail, found), _usage(usage, found)
    values = (
        key if isinstance(key, str) and key else _lost(found, "key", f"row.{position}"),
        kind if kind in _KINDS else _lost(found, "kind", "notes"),
        status if status in _STATUSES else _lost(found, "status", "failed"),
        str(digest),
        attempt if isinstance(attempt, int) else _lost(found, "attempt", 1),
        None,
        spent,
        cost if cost is None or _is_number(cost) else _lost(found, "cost", None),
        # Where it ended is closer than 1970, from which it would have lasted for decades.
        started_at if _is_time(started_at) else _lost(found, "started_at", ended_at if _is_time(ended_at) else 0.0),
        ended_at if ended_at is None or _is_time(ended_at) else _lost(found, "ended_at", None),
        facts,
    )
    row = ReadableRow(*values, decode=lambda: _output(found, read_output))
    object.__setattr__(row, "_found", found)
    return row


def damage_of(row: Row) -> str | None:
    """Return what of a row cannot be read, as far as it has been read."""
    return getattr(row, "damage", None)


def _output(found: list[str], read: Callable[[], Any]) -> Any:
    try:
        return read()
    except RunRecordError as error:
        found.append(f"output: {error.__cause__ or error}")
        return None


def _facts(text: Any, found: list[str]) -> Mapping[str, Any]:
    if text == "{}":
        return {}
    facts = _decoded(text, "detail", found)
    if not isinstance(facts, dict):
        return {}
    odd = [name for name, value in facts.items() if name in _TYPES and value is not None and not _fits(name, value)]
    found += [f"detail: {name!r} has another type" for name in sorted(odd)]
    return {name: value for name, value in facts.items() if name not in odd} if odd else facts


def _fits(name: str, value: Any) -> bool:
    if not isinstance(value, _TYPES[name]):
        return False
    return type(value) is not list or all(isinstance(one, str) for one in value)


def _usage(text: Any, found: list[str]) -> Usage:
    try:
        return read_usage(text)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return _damaged_usage(text, found)


def _damaged_usage(text: Any, found: list[str]) -> Usage:
    values = _decoded(text, "usage", found)
    try:
        return Usage.from_mapping(values) if isinstance(values, dict) else Usage()
    except (ValueError, TypeError, OverflowError) as error:
        _lost(found, "usage", None, error)
        return Usage()


def _decoded(text: Any, name: str, found: list[str]) -> Any:
    """Return the object that a text is as JSON, or None."""
    try:
        value = json_value(text)
    except (ValueError, TypeError, RecursionError) as error:
        return _lost(found, name, None, error)
    return value if isinstance(value, dict) else _lost(found, name, None)


def _lost(found: list[str], name: str, instead: Any, error: Exception | None = None) -> Any:
    found.append(f"{name}: {error or 'it has another type'}")
    return instead


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _is_time(value: Any) -> bool:
    # What is not finite is in no range.
    return isinstance(value, (int, float)) and 0 <= value <= _LATEST
