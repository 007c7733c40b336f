"""The differences of an earlier strands-cli: the rows of the page on moving from it, with their places in a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from strands_cli.api import ExitCode, Workflow, print_json, print_result, say_findings

if TYPE_CHECKING:
    from strands_cli.api import Finding, Where

# The rows of the tables in docs/how-to/migrate.md; scripts/make_reference.py writes it.
ROWS = "differences.json"


class Difference(NamedTuple):
    """One row of the page, and the places in a file of the findings that report it."""

    subject: str
    earlier: str
    now: str
    codes: tuple[str, ...]
    places: tuple[Where, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the row as JSON."""
        names = ("file", "line", "column", "pointer")
        places = [{name: getattr(position, name) for name in names} for position in self.places]
        return {**self._asdict(), "codes": list(self.codes), "places": places}


def known_differences() -> list[Difference]:
    """Return the rows of the page."""
    rows = json.loads(files(__package__).joinpath(ROWS).read_text(encoding="utf-8"))
    return [Difference(row["subject"], row["earlier"], row["now"], tuple(row["codes"])) for row in rows]


def print_differences(names: Sequence[str], *, as_json: bool) -> int:
    """Print the differences of each file, and return the exit code of its findings."""
    findings_by_file = {name: Workflow.from_file(name).validate() for name in dict.fromkeys(names)}
    for findings in findings_by_file.values():
        say_findings(findings)
    differences = {name: [*_differences_in(findings)] for name, findings in findings_by_file.items()}
    if as_json:
        rows = {name: [row.as_dict() for row in rows] for name, rows in differences.items()}
        print_json({"files": [{"file": name, "differences": rows[name]} for name in rows]})
    else:
        print_result("\n".join(line for rows in differences.values() for row in rows for line in _lines(row)))
    is_wrong = any(finding.severity == "error" for findings in findings_by_file.values() for finding in findings)
    return ExitCode.INVALID if is_wrong else ExitCode.OK


def _differences_in(findings: Sequence[Finding]) -> Iterator[Difference]:
    """Yield the rows that findings report, then those that no finding ever does."""
    rows = known_differences()
    for row in rows:
        places = tuple(
            dict.fromkeys(
                finding.where for finding in findings if finding.code in row.codes and finding.where is not None
            )
        )
        if places:
            yield row._replace(places=places)
    yield from (row for row in rows if not row.codes)


def _lines(row: Difference) -> Iterator[str]:
    places = list(dict.fromkeys(f"{position.file}:{position.line}" for position in row.places))
    yield f"{places[0] if places else 'any file'}: {row.subject}"
    yield f"  earlier: {row.earlier}"
    yield f"  now: {row.now}"
    if row.codes:
        yield f"  findings: {', '.join(row.codes)}"
    if places[1:]:
        yield f"  also at {', '.join(places[1:])}"
