"""The row of a run's artifacts: what was written, and the texts where the journal keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from strands_cli.engine.journal.journal_rows import Row

# The name of what was written in the detail of a row whose output are the texts.
WRITTEN = "written"


def row_of_artifacts(rows: Iterable[Row]) -> Row | None:
    """Return the row of the artifacts of a run that has written them."""
    return next((row for row in rows if row.kind == "artifacts" and row.status == "done"), None)


def keeps_texts(row: Row) -> bool:
    """Return whether a row of artifacts has their texts."""
    return WRITTEN in row.detail


def written_of(row: Row) -> list[Mapping[str, Any]]:
    """Return the `path`, `digest` and `size` of each file that was written; what is damaged is left out."""
    found = row.detail[WRITTEN] if keeps_texts(row) else row.output
    return [one for one in found if _is_artifact(one)] if isinstance(found, list) else []


def texts_of(row: Row) -> Sequence[tuple[str, str]]:
    """Return for each file its path below the output directory and its text; nothing where the row has no texts.

    Raises:
        ValueError, TypeError: The row is damaged.
    """
    return [(str(path), str(text)) for path, text in row.output] if keeps_texts(row) else ()


def _is_artifact(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("path"), str) and isinstance(value.get("size"), int)
