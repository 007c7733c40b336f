"""What a command gives a stored run before it continues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """What a stored run is given before it continues: larger limits, a file with its corrected workflow, an answer.

    Attributes:
        answers: The key of the question that is answered; None where none is, or the only one.
        here: Whether a run that was submitted continues in this process, and not at a worker.
    """

    budgets: Mapping[str, str] | None = None
    spec: str | None = None
    answers: str | None = None
    here: bool = False
