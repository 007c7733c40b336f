"""What in a file earlier versions did otherwise, for `validate --explain-differences`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from strands_cli.cli.text_layout import one_line
from strands_cli.errors import Where
from strands_cli.workflow.differences import Difference, differences_in

if TYPE_CHECKING:
    from strands_cli.workflow import Loaded


class Explained(NamedTuple):
    """One row of the migration page, and the places in a file that it is about."""

    row: Difference
    places: tuple[Where, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the row as JSON."""
        row = self.row
        names = ("file", "line", "column", "pointer")
        return {
            "name": row.name,
            "subject": row.subject,
            "version_0": row.earlier,
            "version_1": row.now or row.earlier,
            "codes": list(row.codes),
            "places": [{name: getattr(place, name) for name in names} for place in self.places],
        }


def explained_in(loaded: Loaded) -> tuple[Explained, ...]:
    """Return the rows that concern a file."""
    return tuple(
        Explained(row, tuple(loaded.where(pointer, key=True) for pointer in pointers))
        for row, pointers in differences_in(loaded)
    )


def lines_of(name: str, differences: Sequence[Explained]) -> list[str]:
    """Return the rows of a file as lines."""
    if not differences:
        return [f"{name}: no row of the migration page is about this file"]
    return [one_line(line) for explained in differences for line in _lines(explained)]


def _lines(explained: Explained) -> list[str]:
    row = explained.row
    places = list(dict.fromkeys(f"{place.file}:{place.line}" for place in explained.places))
    meanings = [f"  version 0: {row.earlier}", f"  version 1: {row.now}"] if row.now else [f"  {row.earlier}"]
    also = [f"  also at {', '.join(places[1:])}"] if places[1:] else []
    codes = [f"  findings: {', '.join(row.codes)}"] if row.codes else []
    return [f"{places[0]}: {row.subject}", *meanings, *codes, *also]
