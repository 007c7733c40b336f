"""The journals of many runs to read: one query reads the rows, or the facts, of as many as memory is spared for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from strands_cli.api import Row, RowKind, RunRecordError
from strands_cli_postgres.database import Database
from strands_cli_postgres.held_runs import HELD_LOCKS, unknown_run
from strands_cli_postgres.postgres_journal import COLUMNS, PostgresJournal

# Of how many runs one query tells the sizes, and how many bytes of them are read at once.
RUNS_AT_ONCE, BYTES_AT_ONCE = 500, 4 * 2**20
# The bytes of a row beside its texts.
_BYTES_OF_ROW = 512
# Who holds a run is asked first: one that ends meanwhile must not look as if its process had died. Lengths are known
# without the texts, which are not read for them.
_SIZES = f"""
SELECT r.id, r.number, l.lock IS NOT NULL,
    (SELECT coalesce(sum({_BYTES_OF_ROW} + coalesce(octet_length(e.output), 0) + octet_length(e.detail)), 0)::bigint
        FROM {{schema}}.effects e WHERE e.run = r.number),
    (SELECT coalesce(sum(octet_length(f.value)), 0)::bigint FROM {{schema}}.facts f WHERE f.run = r.number)
FROM {{schema}}.runs r LEFT JOIN ({HELD_LOCKS}) AS l ON l.lock = r.lock WHERE r.id = ANY(%s)
"""  # noqa: S608 - constant text, as below
_COLUMNS_OF = ", ".join(f"e.{name.strip()}" for name in COLUMNS.split(","))
_ROWS = f"""
SELECT {_COLUMNS_OF}, octet_length(o.value), e.run FROM {{schema}}.effects e
LEFT JOIN {{schema}}.outputs o ON o.run = e.run AND o.digest = e.output_digest
WHERE e.run = ANY(%s) ORDER BY e.run, e.position
"""  # noqa: S608
_FACTS = "SELECT run, name, value FROM {schema}.facts WHERE run = ANY(%s) AND name = ANY(%s)"
_OUTPUTS = """
SELECT o.run, o.digest, o.value FROM unnest(%s::bigint[], %s::text[]) AS wanted (run, digest)
JOIN {schema}.outputs o USING (run, digest)
"""
_KIND, _DIGEST, _SIZE, _RUN = 1, 6, 13, 14


@dataclass(frozen=True, slots=True)
class SizedRun:
    """A run, whether it is held, and how many bytes its rows and its facts have."""

    id: str
    number: int
    is_held: bool
    rows_bytes: int
    facts_bytes: int


def read_journals(
    database: Database, run_ids: Sequence[str], names: set[str]
) -> Iterator[PostgresJournal | RunRecordError]:
    """Yield the journals of runs to read them, or why one cannot be opened.

    Args:
        names: The names of wanted facts; new ones are added.
    """
    sizes = {columns[0]: SizedRun(*columns) for columns in database.query(_SIZES, (list(run_ids),))}
    ahead = ReadAhead(database, [sizes[run_id] for run_id in dict.fromkeys(run_ids) if run_id in sizes], names)
    for run_id in run_ids:
        yield ReadJournal(database, sizes[run_id], ahead) if run_id in sizes else unknown_run(database, run_id)


class ReadAhead:
    """The rows and facts of some runs read at once, beginning with the wanted one."""

    def __init__(self, database: Database, runs: Sequence[SizedRun], names: set[str]) -> None:
        self._database, self._runs, self._names = database, runs, names
        self._places = {run.number: position for position, run in enumerate(runs)}
        self._facts: dict[int, dict[str, str]] = {}
        self._fact_names: set[str] = set()  # the names that were read of these
        self._rows: dict[int, list[Sequence[Any]]] = {}
        self._large: list[tuple[str, int, str, int]] = []  # kind, run, digest and size of outputs beside these
        self._outputs: dict[str, dict[tuple[int, str], str]] = {}

    def fact(self, number: int, name: str) -> str | None:
        """Return the JSON of a fact, or None where there is none."""
        self._names.add(name)
        if number not in self._facts:
            self._facts = {run_number: {} for run_number in self._stretch(number, lambda run: run.facts_bytes)}
            self._fact_names = set()
        if name not in self._fact_names:
            missing = self._names - self._fact_names
            for run, fact_name, value in self._database.query(_FACTS, (list(self._facts), list(missing))):
                self._facts[run][fact_name] = value
            self._fact_names |= missing
        return self._facts[number].get(name)

    def rows(self, number: int) -> Sequence[Sequence[Any]] | None:
        """Return the columns of a run's rows in their order; None where they are too many to be read at once."""
        if number not in self._rows:
            if self._runs[self._places[number]].rows_bytes > BYTES_AT_ONCE:
                return None
            self._read_rows(self._stretch(number, lambda run: run.rows_bytes))
        return self._rows[number]

    def _read_rows(self, numbers: Sequence[int]) -> None:
        self._rows, self._large, self._outputs = {}, [], {}  # before others take their memory
        read: dict[int, list[Sequence[Any]]] = {number: [] for number in numbers}
        for columns in self._database.query(_ROWS, (list(numbers),)):
            read[columns[_RUN]].append(columns)
        self._rows = read
        self._large = [
            (columns[_KIND], number, columns[_DIGEST], columns[_SIZE] or 0)
            for number, rows in read.items()
            for columns in rows
            if columns[_DIGEST] is not None
        ]

    def output(self, number: int, digest: str) -> str | None:
        """Return a large output, and read those that come after it in rows of its kind; None where it is not known."""
        for outputs in self._outputs.values():
            if (number, digest) in outputs:
                return outputs[number, digest]
        index = next((index for index, output in enumerate(self._large) if output[1:3] == (number, digest)), None)
        if index is None:
            return None
        kind = self._large[index][0]
        stretch = _first_of([output for output in self._large[index:] if output[0] == kind], lambda output: output[3])
        self._outputs.pop(kind, None)
        runs, digests = [output[1] for output in stretch], [output[2] for output in stretch]
        values = self._database.query(_OUTPUTS, (runs, digests))
        self._outputs[kind] = {(run, read): value for run, read, value in values}
        return self._outputs[kind].get((number, digest))

    def _stretch(self, number: int, size: Callable[[SizedRun], int]) -> list[int]:
        return [run.number for run in _first_of(self._runs[self._places[number] :], size)]


def _first_of(values: Sequence[Any], size: Callable[[Any], int]) -> list[Any]:
    """Return the first values to read at once, at least one."""
    total, count = 0, 0
    for count, value in enumerate(values):
        total += size(value)
        if count and total > BYTES_AT_ONCE:
            return list(values[:count])
    return list(values[: count + 1])


class ReadJournal(PostgresJournal):
    """The journal of one of many runs, read together."""

    def __init__(self, database: Database, run: SizedRun, ahead: ReadAhead) -> None:
        super().__init__(database, run.id, run.number)
        self._is_held, self._ahead = run.is_held, ahead

    def is_held(self) -> bool:
        """Return whether a process worked on the run when its facts and rows were not read yet."""
        return self._is_held

    def row(self, key: str) -> Row | None:
        """Return the row of this key, or None."""
        read = self._ahead.rows(self.number)
        if read is None:
            return super().row(key)
        return next((self._row(columns[:_SIZE]) for columns in read if columns[0] == key), None)

    def rows(self, kind: RowKind | None = None, below: str = "") -> Iterator[Row]:
        """Yield rows in the order in which their effects first started; with `below` those whose keys are below it."""
        read = self._ahead.rows(self.number)
        if read is None:
            yield from super().rows(kind, below)
            return
        for columns in read:
            if kind in (None, columns[_KIND]) and (not below or columns[0].startswith(f"{below}/")):
                yield self._row(columns[:_SIZE], is_lazy=True)

    def _text(self, name: str) -> str | None:
        return self._ahead.fact(self.number, name)

    def _output(self, text: str | None, digest: str | None) -> Any:
        large = None if digest is None else self._ahead.output(self.number, digest)
        return super()._output(text, digest) if large is None else super()._output(large, None)
