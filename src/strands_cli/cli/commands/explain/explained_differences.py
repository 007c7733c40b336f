"""What earlier versions did otherwise, for `validate --explain-differences`: the rows of the migration page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from strands_cli.cli.commands.explain_pages import page_text
from strands_cli.cli.text_layout import one_line
from strands_cli.errors import Where

if TYPE_CHECKING:
    from strands_cli.workflow.loaded import Loaded

_PAGE = "migrate"
_HEAD = "| what | version 0 | version 1 | findings |"
_CELLS = re.compile(r"(?<!\\)\|")


class Explained(NamedTuple):
    """One row of the migration page, and the places in a file of the findings that report it."""

    subject: str
    earlier: str
    now: str
    codes: tuple[str, ...]
    places: tuple[Where, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the row as JSON."""
        names = ("file", "line", "column", "pointer")
        return {
            "name": "-".join(re.findall(r"[a-z0-9]+", self.subject.lower())[:6]),
            "subject": self.subject,
            "version_0": self.earlier,
            "version_1": self.now,
            "codes": list(self.codes),
            "places": [{name: getattr(place, name) for name in names} for place in self.places],
        }


def explained_in(loaded: Loaded) -> tuple[Explained, ...]:
    """Return the rows that findings of a file report, then those that no finding ever does."""
    rows = explained_rows()
    reported = (row._replace(places=_places(loaded, row.codes)) for row in rows if row.codes)
    return (*(row for row in reported if row.places), *(row for row in rows if not row.codes))


def explained_rows() -> list[Explained]:
    """Return the rows of both tables of the page."""
    return list(_rows())


def _rows() -> Iterator[Explained]:
    is_table = False
    for line in page_text(_PAGE).splitlines():
        if not line.startswith("|"):
            is_table = False
        elif line == _HEAD:
            is_table = True
        elif is_table and not line.startswith("| ---"):
            subject, earlier, now, found = (cell.strip().replace("\\|", "|") for cell in _CELLS.split(line)[1:-1])
            yield Explained(subject, earlier, now, tuple(re.findall("`([^`]+)`", found)))


def _places(loaded: Loaded, codes: Sequence[str]) -> tuple[Where, ...]:
    return tuple(dict.fromkeys(one.where for one in loaded.findings if one.code in codes and one.where is not None))


def lines_of(name: str, differences: Sequence[Explained]) -> list[str]:
    """Return the rows of a file as lines."""
    if not any(row.places for row in differences):
        yes = f"{name}: no finding is about a difference from an earlier strands-cli"
        return [yes, *(one_line(line) for row in differences for line in _lines(row))]
    return [one_line(line) for row in differences for line in _lines(row)]


def _lines(row: Explained) -> list[str]:
    places = list(dict.fromkeys(f"{place.file}:{place.line}" for place in row.places))
    meanings = [f"  version 0: {row.earlier}", f"  version 1: {row.now}"]
    also = [f"  also at {', '.join(places[1:])}"] if places[1:] else []
    codes = [f"  findings: {', '.join(row.codes)}"] if row.codes else []
    return [f"{places[0] if places else 'any file'}: {row.subject}", *meanings, *codes, *also]
