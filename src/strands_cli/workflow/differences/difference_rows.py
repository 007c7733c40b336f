"""All rows of the migration page, and those that are about a file."""

from __future__ import annotations

from collections.abc import Iterator

from strands_cli.workflow.differences.earlier_rows import EARLIER
from strands_cli.workflow.differences.file_parts import Difference
from strands_cli.workflow.differences.stricter_rows import STRICTER
from strands_cli.workflow.loaded import Loaded

DIFFERENCES = (*EARLIER, *STRICTER)


def differences_in(loaded: Loaded) -> Iterator[tuple[Difference, list[str]]]:
    """Yield the rows that concern a file, each with the JSON pointers of its parts, in the order of the page."""
    for row in DIFFERENCES:
        if pointers := list(dict.fromkeys(row.concerns(loaded, row.codes))):
            yield row, pointers
