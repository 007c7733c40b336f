"""One row as its file has it, before it is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from strands_cli.errors import Code, Where
from strands_cli.quick_dataclass import dataclass

BAD_ROW = Code(
    "bad-row",
    "A row cannot be read: it has more or fewer cells than there are columns, a quote out of place, or is not an object"
    " of JSON.",
    "Correct the row.",
)
BAD_COLUMN = Code(
    "bad-column",
    "A column has no name, or the name of another one, or the columns have other separators than the format.",
    "Give each column the name of an input, and put commas between them, or tabs with `--format tsv`.",
)


@dataclass(frozen=True, slots=True)
class GivenRow:
    """One row.

    Attributes:
        number: Its 1-based number among the rows; the header and empty lines do not count.
        line: The line where it begins.
        texts: Cells by column, to be converted to the types of inputs; an empty cell is absent.
        values: Values that have types already.
        place: Returns where a column of the row is.
        written: The texts of those values that their JSON would spell otherwise (`1.10`).
    """

    number: int
    line: int
    texts: Mapping[str, str]
    values: Mapping[str, Any]
    place: Callable[[str], Where]
    written: Mapping[str, str] = field(default_factory=dict)
