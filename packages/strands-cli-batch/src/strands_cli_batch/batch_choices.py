"""How a batch runs, as its options say it and as its journal stores it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Order = Literal["rows", "done"]
DEFAULT_CONCURRENCY = 4
MAX_CONCURRENCY = 1000

# The queue of rows that name none.
DEFAULT_QUEUE = "default"


@dataclass(frozen=True, slots=True)
class BatchChoices:
    """How the rows of a batch run; the journal of the batch stores it, and commands that continue it can change it.

    Attributes:
        out: The absolute path of the file of results; `-` is standard output.
        order: Whether results are in the order of the rows, or of their ends.
        concurrency: How many rows run at a time; None lets the engine have its own number.
        rate: How many rows may begin in a period, such as `60/m`.
        limits: How often providers may be asked: `PROVIDER=4` at a time, `PROVIDER=60/m` in a period.
        budget: The limits of all rows together, by names of `runtime.budgets`.
        fail_fast: After how many failed rows no further row begins.
        engine: The engine that hands rows to workers; empty for this process.
        queue: The queue in which they wait then.
    """

    out: str = "-"
    order: Order = "rows"
    concurrency: int | None = None
    rate: str | None = None
    limits: tuple[str, ...] = ()
    budget: Mapping[str, float] = dataclasses.field(default_factory=dict)
    fail_fast: int | None = None
    engine: str = ""
    queue: str = DEFAULT_QUEUE

    @property
    def at_a_time(self) -> int:
        """How many rows are begun and not ended: in a queue all may wait, unless a number was chosen."""
        return self.concurrency or (MAX_CONCURRENCY if self.engine else DEFAULT_CONCURRENCY)

    def to_stored(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> BatchChoices:
        """Return the choices that a journal has."""
        names = {field.name for field in dataclasses.fields(cls)}
        values = {name: value for name, value in stored.items() if name in names}
        return cls(**{**values, "limits": tuple(values.get("limits") or ())})

    def changed(self, changes: Mapping[str, Any]) -> BatchChoices:
        """Return the choices with the given values over them; limits of a budget are replaced one by one."""
        changes_made = {name: value for name, value in changes.items() if value not in (None, ())}
        if "budget" in changes_made:
            changes_made["budget"] = {**self.budget, **changes_made["budget"]}
        return dataclasses.replace(self, **changes_made)
