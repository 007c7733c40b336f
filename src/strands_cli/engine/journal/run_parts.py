"""Runs that consist of other runs: each part has the id of the whole and a digest, and a command continues all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

DIGEST_CHARS = 16
# The journal of a whole has this, with the name of the command, in the place of the pattern of a workflow.
_PATTERN = re.compile(r"parts:(?P<command>[a-z][a-z0-9-]{0,63})")
# The form of the ids of other runs, which begin with the second of their start.
_TIMED = re.compile(r"\d{8}-\d{6}-.*", re.DOTALL)
_PART = re.compile(r"(?P<whole>.+-[0-9a-f]{8})\.(?P<digest>[0-9a-f]{16})", re.DOTALL)


class Listed(Protocol):
    """One run as a list has it."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def command(self) -> str | None:
        """The command that continues it, if it consists of other runs."""


AnyRun = TypeVar("AnyRun", bound=Listed)


def pattern_of_whole(command: str) -> str:
    """Return the pattern of a run that consists of others, which a command makes and continues."""
    return f"parts:{command}"


def command_of(pattern: object) -> str | None:
    """Return the command that continues a run with a pattern, if it consists of other runs."""
    match = _PATTERN.fullmatch(str(pattern))
    return match["command"] if match else None


def part_id(whole: str, digest: str) -> str:
    """Return the id of a part."""
    return f"{whole}.{digest[:DIGEST_CHARS]}"


def whole_of(run_id: str) -> str | None:
    """Return the id of the run that a run is a part of; None for a run of its own."""
    match = _PART.fullmatch(run_id)
    return match["whole"] if match else None


def without_parts(runs: Iterable[AnyRun]) -> list[AnyRun]:
    """Return runs without those that are parts of one among them."""
    runs = list(runs)
    wholes = {run.id for run in runs if run.command is not None}
    return [run for run in runs if not wholes or whole_of(run.id) not in wholes]


def newest_ids(ids: Iterable[str]) -> Sequence[str]:
    """Return the ids among which that of the newest run is: those of the latest second, and those without a time.

    Parts are left out.
    """
    ids = [run for run in ids if whole_of(run) is None]
    second = max((run for run in ids if _TIMED.fullmatch(run)), default="")[: len("20261121-033012")]
    return [run for run in ids if not _TIMED.fullmatch(run) or run.startswith(second)]
