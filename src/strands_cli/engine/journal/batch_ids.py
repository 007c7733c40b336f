"""The ids of batches and of their rows: a row is a run whose id is that of its batch and a digest of its inputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar

# The pattern that the journal of a batch has in the place of that of a workflow.
BATCH = "batch"
DIGEST_CHARS = 16
# The form of the ids of other runs, which begin with the second of their start.
_TIMED = re.compile(r"\d{8}-\d{6}-.*", re.DOTALL)
_ROW = re.compile(r"(?P<batch>.+-[0-9a-f]{8})\.(?P<digest>[0-9a-f]{16})", re.DOTALL)


class Listed(Protocol):
    """One run as a list has it."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def pattern(self) -> str:
        """Its pattern."""


class Facts(Protocol):
    """A journal, as far as it has the facts of its run."""

    def get(self, name: str) -> Any:
        """Return one fact."""


AnyRun = TypeVar("AnyRun", bound=Listed)


def row_id(batch: str, digest: str) -> str:
    """Return the id of the run of a row."""
    return f"{batch}.{digest[:DIGEST_CHARS]}"


def batch_of(run_id: str) -> str | None:
    """Return the id of the batch whose row a run is; None for a run of its own."""
    found = _ROW.fullmatch(run_id)
    return found["batch"] if found else None


def is_batch(journal: Facts) -> bool:
    """Return whether a journal is that of a batch."""
    return bool(journal.get("pattern") == BATCH)


def without_rows(runs: Iterable[AnyRun]) -> list[AnyRun]:
    """Return runs without those that are rows of a batch among them."""
    runs = list(runs)
    batches = {run.id for run in runs if run.pattern == BATCH}
    return [run for run in runs if not batches or batch_of(run.id) not in batches]


def newest_ids(known: Iterable[str]) -> Sequence[str]:
    """Return the ids among which that of the newest run is: those of the latest second, and those without a time.

    Rows of batches are left out.
    """
    ids = [run for run in known if batch_of(run) is None]
    second = max((run for run in ids if _TIMED.fullmatch(run)), default="")[: len("20261121-033012")]
    return [run for run in ids if not _TIMED.fullmatch(run) or run.startswith(second)]
