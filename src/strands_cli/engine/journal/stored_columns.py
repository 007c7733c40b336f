"""Rows as the columns that journals store: the texts of what is written, and the row of what was read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from strands_cli.engine.journal.damaged_rows import readable_row
from strands_cli.engine.journal.journal_rows import Row, stored_row
from strands_cli.engine.journal.row_texts import json_text, json_value, read_usage
from strands_cli.secrets.redactor import Redactor

# An output that is larger is stored beside its row, and read only when it is asked for.
LARGE_OUTPUT_BYTES = 64 * 1024


def stored_texts(row: Row, redactor: Redactor) -> tuple[Row, str, str]:
    """Return a row without secrets, and its output and its detail as JSON.

    Raises:
        TypeError, ValueError, RecursionError: The row has a value that JSON cannot represent.
    """
    output, detail = json_text(row.output), json_text(dict(row.detail))
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
        is_tolerant: Whether what is damaged is left out, and named by the row's `damage`.
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
