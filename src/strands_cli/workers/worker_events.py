"""What a worker reports: one value for each line of its log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal

from strands_cli.quick_dataclass import dataclass

EventName = Literal[
    "started",
    "dispatched",
    "finished",
    "lost",
    "returned",
    "refused",
    "recovered",
    "fired",
    "removed",
    "draining",
    "ended",
    "warning",
]


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """One thing that happened at a worker.

    Attributes:
        name: What.
        text: The line for a person.
        run_id: The run that it is about; empty where it is about none.
        facts: Further values for programs.
    """

    name: EventName
    text: str
    run_id: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


Report = Callable[[WorkerEvent], None]
