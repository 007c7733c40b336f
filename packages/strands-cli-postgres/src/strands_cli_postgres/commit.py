"""One commit: the rows and facts of several runs, as one statement that stores them for the still held runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

# The mark of an absent value in a column of a list: a list with `None` in it would have another type each time, and the
# server would plan the statement for each. No JSON is empty, and a time or a cost that is not a number is none.
_NONE_TEXT, _NONE_NUMBER = "", math.nan
LISTED = ("workflow", "pattern", "file", "status", "reason")
LISTED_NUMBERS = ("started_at", "ended_at", "worked_s", "session_started_at")
_EFFECT_COLUMNS = (
    *("key", "kind", "status", "digest", "attempt", "output", "output_digest", "usage", "cost", "detail"),
    *("started_at", "ended_at", "position"),
)
_TYPES = {"attempt": "bigint", "position": "bigint", "cost": "float8", "started_at": "float8", "ended_at": "float8"}
# The first rows of each list, of no run, keep the types of all lists when nothing else is in them.
_NO_EFFECT = ("", "", "", "", 0, "", "", "", 0.0, "", 0.0, 0.0, 0)

# One statement is one transaction and one way to the server and back. The row of a run is written only where its fence
# is the one that this process has; the rows of effects and facts only where that of their run was.
_STATEMENT = """
WITH held AS (
    UPDATE {schema}.runs r SET changes = r.changes + 1, latest_at = greatest(r.latest_at, nullif(h.latest, 'NaN')),
        {listed}, listed = CASE WHEN h.is_listed THEN nextval('{schema}.listed') ELSE r.listed END
    FROM unnest({held_arrays}) AS h(number, fence, latest, is_listed, {listed_names})
    WHERE r.number = h.number AND r.fence = h.fence
    RETURNING r.number, r.stop_fence = r.fence AS is_asked
), written_effects AS (
    INSERT INTO {schema}.effects (run, {effect_names})
    SELECT e.run, {effect_values} FROM unnest({effect_arrays}) AS e(run, {effect_names})
        JOIN held ON held.number = e.run
    ON CONFLICT (run, key) DO UPDATE SET {effect_updates}
), written_facts AS (
    INSERT INTO {schema}.facts (run, name, value)
    SELECT f.run, f.name, f.value FROM unnest(%b::bigint[], %b::text[], %b::text[]) AS f(run, name, value)
        JOIN held ON held.number = f.run
    ON CONFLICT (run, name) DO UPDATE SET value = excluded.value
), written_outputs AS (
    INSERT INTO {schema}.outputs (run, digest, value)
    SELECT o.run, o.digest, o.value FROM unnest(%b::bigint[], %b::text[], %b::text[]) AS o(run, digest, value)
        JOIN held ON held.number = o.run
    ON CONFLICT (run, digest) DO NOTHING
)
SELECT number, is_asked, pg_backend_pid() FROM held
"""


def commit_statement(schema: str) -> str:
    """Return the statement for `parameters_of`."""
    names = (*LISTED, *LISTED_NUMBERS)
    values = {name: f"nullif(h.{name}, '')" for name in LISTED}
    values |= {name: f"nullif(h.{name}, 'NaN')" for name in LISTED_NUMBERS}
    effects = {name: f"e.{name}" for name in _EFFECT_COLUMNS}
    effects |= {name: f"nullif(e.{name}, '')" for name in ("output", "output_digest")}
    effects |= {name: f"nullif(e.{name}, 'NaN')" for name in ("cost", "ended_at")}
    updated = [name for name in _EFFECT_COLUMNS if name not in ("key", "kind", "position")]
    return _STATEMENT.format(
        schema=schema,
        listed=", ".join(f"{name} = CASE WHEN h.is_listed THEN {values[name]} ELSE r.{name} END" for name in names),
        listed_names=", ".join(names),
        held_arrays=", ".join(
            f"%b::{kind}[]"
            for kind in (
                "bigint",
                "bigint",
                "float8",
                "bool",
                *("text" for _ in LISTED),
                *("float8" for _ in LISTED_NUMBERS),
            )
        ),
        effect_names=", ".join(_EFFECT_COLUMNS),
        effect_values=", ".join(effects[name] for name in _EFFECT_COLUMNS),
        effect_arrays=", ".join(["%b::bigint[]", *(f"%b::{_TYPES.get(name, 'text')}[]" for name in _EFFECT_COLUMNS)]),
        effect_updates=", ".join(f"{name} = excluded.{name}" for name in updated),
    )


@dataclass
class RunChanges:
    """The rows and facts that one run has written since its last commit.

    Attributes:
        fence: The fence of the run when this process took it.
        effects: The columns of effects, by key.
        facts: The texts of facts, by name.
        outputs: The texts of large outputs, by digest.
        listed: The columns that a list of runs has, where they have changed.
    """

    fence: int
    effects: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    listed: dict[str, Any] | None = None

    def add_effect(self, columns: tuple[Any, ...]) -> None:
        """Add a row; one with the same key replaces the earlier one, whose position it keeps."""
        earlier = self.effects.get(columns[0])
        self.effects[columns[0]] = columns if earlier is None else (*columns[:-1], earlier[-1])


def parameters_of(changes: dict[int, RunChanges]) -> list[list[Any]]:
    """Return the lists of the statement for the changes of runs, by their numbers."""
    effects = [
        (run, *columns) for run, changes_of_run in changes.items() for columns in changes_of_run.effects.values()
    ]
    facts = [(run, *fact) for run, changes_of_run in changes.items() for fact in changes_of_run.facts.items()]
    outputs = [(run, *output) for run, changes_of_run in changes.items() for output in changes_of_run.outputs.items()]
    return [
        *_lists([_held(run, changes_of_run) for run, changes_of_run in changes.items()], integers=(0, 1)),
        *_lists([(0, *_NO_EFFECT), *effects], integers=(0, 5, 13)),
        *_lists([(0, "", ""), *facts], integers=(0,)),
        *_lists([(0, "", ""), *outputs], integers=(0,)),
    ]


def _held(run: int, changes: RunChanges) -> tuple[Any, ...]:
    latest = max((_time_of(columns) for columns in changes.effects.values()), default=_NONE_NUMBER)
    listed = changes.listed or {}
    texts = [listed.get(name) or _NONE_TEXT for name in LISTED]
    numbers = [_NONE_NUMBER if listed.get(name) is None else listed[name] for name in LISTED_NUMBERS]
    return (run, changes.fence, latest, changes.listed is not None, *texts, *numbers)


def _time_of(columns: Sequence[Any]) -> float:
    started_at, ended_at = columns[10], columns[11]
    return float(started_at if math.isnan(ended_at) else ended_at)


def _lists(rows: Iterable[Sequence[Any]], integers: tuple[int, ...]) -> list[list[Any]]:
    """Return rows as one list for each column; integers are of the one type that the server expects."""
    from psycopg.types.numeric import Int8

    columns = [list(values) for values in zip(*rows, strict=True)]
    for integer in integers:
        columns[integer] = [Int8(value) for value in columns[integer]]
    return columns


def effect_columns(
    row: Any, output: str | None, output_digest: str | None, usage: str, detail: str, position: int
) -> tuple[Any, ...]:
    """Return the columns of a row, as `RunChanges` has them.

    Raises:
        TypeError, ValueError, OverflowError: The row has a value that cannot be stored.
    """
    texts = [_storable(text) for text in (row.key, row.kind, row.status, row.digest)]
    cost, ended_at = (_NONE_NUMBER if number is None else float(number) for number in (row.cost, row.ended_at))
    attempt = int(row.attempt)
    if not -(2**63) <= attempt < 2**63:
        raise OverflowError(f"the attempt {attempt} is too large")
    large = (_NONE_TEXT, output_digest) if output_digest else (output or _NONE_TEXT, _NONE_TEXT)
    return (*texts, attempt, *large, usage, cost, detail, float(row.started_at), ended_at, position)


def _storable(text: str) -> str:
    """Return a text that Postgres can store as it is."""
    if "\0" in text:
        raise ValueError(f"{text!r} has a null character")
    text.encode()  # half a surrogate pair is a ValueError
    return text
