"""The identity of a batch: the id that follows from its workflow, options and name, and earlier ones of a name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from strands_cli.api import RunRecordError, UsageError, suggest
from strands_cli_batch.command_parts import PARTS, first_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from strands_cli.api import PlannedRows, RunStore, StoredRun

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_ID = re.compile(r"(?P<name>[a-z0-9][a-z0-9_-]{0,39})-[0-9a-f]{8}")
LAST = "last"


def identified(rows: PlannedRows, name: str) -> str:
    """Return the id of a batch: its name, and a digest of the workflow, its files and its options."""
    return f"{name}-{rows.digest[:8]}"


def chosen_name(rows: PlannedRows, name: str | None) -> str:
    """Return the name of a batch: the one that a person chose, or that of its workflow.

    Raises:
        UsageError: The name is not one.
    """
    safe = safe_name(name or rows.plan.spec.name)
    if name is not None and safe != name:
        rule = "has letters a-z, digits, `-` and `_`, at most 40"
        raise UsageError(f"--name {name!r}: a name {rule}", fix=f"--name {safe}")
    return safe


def safe_name(text: str) -> str:
    """Return a text as a name that may be a part of an id."""
    name = re.sub(r"[^a-z0-9_-]+", "-", text.lower())[:40].strip("-_")
    return name if _NAME.fullmatch(name) else "batch"


def name_of(batch: str) -> str:
    """Return the name in the id of a batch."""
    match = _ID.fullmatch(batch)
    return match["name"] if match else batch


def batches_in(store: RunStore) -> list[StoredRun]:
    """Return the batches in a store, the newest first."""
    return [run for run in store.runs()[0] if run.command == PARTS.command]


def unused_name(name: str, batches: Sequence[StoredRun]) -> str:
    """Return the name with the first number from 2 on that no batch has."""
    used = {name_of(run.id) for run in batches}
    number = next(number for number in range(2, len(used) + 3) if f"{name[:36]}-{number}" not in used)
    return f"{name[:36]}-{number}"


def find_batch(store: RunStore, name: str) -> str:
    """Return the id of a batch, by its id, its name (the newest with it), the start of its id, or `last`.

    Raises:
        RunRecordError: There is no such batch, or the ids of several start so.
    """
    batches = {run.id: run for run in batches_in(store)}
    if name in batches:
        return name
    if name == LAST:
        matching_ids = list(batches)[:1]
    else:
        matching_ids = _of_name(name, batches)[:1] or [batch for batch in batches if name and batch.startswith(name)]
    if len(matching_ids) == 1:
        return matching_ids[0]
    if matching_ids:
        raise RunRecordError(
            f"the ids of {len(matching_ids)} batches start with {name!r}", fix=f"they are: {first_of(matching_ids, 5)}"
        )
    if (batch := PARTS.whole(name)) is not None:
        raise RunRecordError(f"{name} is a row of a batch", fix=f"name the batch: {batch}")
    names = [LAST, *batches] if batches else []
    fix = suggest(name, names, "see what there is: strands runs list")
    raise RunRecordError(f"there is no batch {name!r} in {store.place}", fix=fix)


def _of_name(name: str, batches: Mapping[str, StoredRun]) -> list[str]:
    return [batch for batch in batches if name_of(batch) == name]
