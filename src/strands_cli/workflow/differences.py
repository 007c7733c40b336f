"""What a workflow of the earlier format means where version 1 means something else: rows for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from strands_cli.workflow.model import WorkflowSpec


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference, as one row of the migration page.

    Attributes:
        subject: What it is about, in a few words.
        earlier: What version 0 means, in a sentence without a full stop.
        now: What version 1 means.
        codes: The codes of the findings that report it, in either version.
        concerns: Returns the JSON pointers of the parts of a workflow that it is about, whatever the version.
    """

    subject: str
    earlier: str
    now: str
    codes: tuple[str, ...]
    concerns: Callable[[WorkflowSpec], Iterable[str]]


DIFFERENCES: tuple[Difference, ...] = ()
