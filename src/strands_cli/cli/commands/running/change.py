"""What a command gives a stored run before it continues."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Answer, Row
    from strands_cli.engine.ports.store_port import StoredJournal

# Finds out which question of a run a command answers, and with what.
Decide = Callable[["StoredJournal"], Coroutine[Any, Any, tuple["Row", "Answer"]]]


@dataclass(frozen=True, slots=True)
class Change:
    """What a stored run is given before it continues: larger limits, a file with its corrected workflow, an answer.

    Attributes:
        answers: The key of the question that is answered; None where none is, or the only one.
        decide: Finds out the answer; None where none is given.
        here: Whether a run that belongs to others, such as workers, continues in this process.
    """

    budgets: Mapping[str, str] | None = None
    spec: str | None = None
    answers: str | None = None
    decide: Decide | None = None
    here: bool = False
