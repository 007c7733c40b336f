"""The facts of a stored run in its journal, and how a person names a run."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from strands_cli.engine.journal.journal_rows import whole_of
from strands_cli.engine.store_port import StoredRun
from strands_cli.errors import RunRecordError, suggest
from strands_cli.events import RunStatus
from strands_cli.texts.phrases import first_of

if TYPE_CHECKING:
    from strands_cli.engine.store_port import StoredJournal
    from strands_cli.store_place import StorePlace

# In seconds since the epoch: where the year 9999 ends, the last that a date of ours can name.
LAST_MOMENT = 253402300800.0
# The name of the newest run.
LAST = "last"
# Of a new id: `20261121-033012-` is the moment when the run was started.
_MOMENT = 16


def named_run(name: str, run_ids: Collection[str], place: StorePlace, newest: Callable[[], list[str]]) -> str:
    """Return the id that a name means: an id, the start of one, or `last`.

    Args:
        run_ids: The ids of all runs of the store.
        newest: Returns the id of the newest run, in an empty list if there is none.

    Raises:
        RunRecordError: No run has this name, or several have it.
    """
    # Only names that exist are accepted, so that none can lead out of a directory.
    if name in run_ids:
        return name
    matching_ids = newest() if name == LAST else [run for run in run_ids if name and run.startswith(name)]
    if len(matching_ids) > 1:  # the start of the id of a whole is that of its parts too, and means the whole
        matching_ids = [run for run in matching_ids if whole_of(run) is None] or matching_ids
    if len(matching_ids) == 1:
        return matching_ids[0]
    if matching_ids:
        several = f"they are: {first_of(sorted(matching_ids, reverse=True), 5)}"
        raise RunRecordError(f"the ids of {len(matching_ids)} runs in {place} start with {name!r}", fix=several)
    if not run_ids:
        raise RunRecordError(f"there are no runs in {place}", fix="name another place with --runs-dir or --store")
    otherwise = "see `strands runs list`, or name another place with --runs-dir or --store"
    # Ids of other moments are alike too: a person who answers a run must not be led to another one.
    alike = [run for run in run_ids if run[:_MOMENT] == name[:_MOMENT] or run[_MOMENT:] == name[_MOMENT:]]
    fix = suggest(name, [LAST, *alike], otherwise)
    raise RunRecordError(f"there is no run {name!r} in {place}", fix=fix)


def run_status(journal: StoredJournal) -> RunStatus:
    """Return the status of a run; one with status `running` and no process was interrupted."""
    status: RunStatus = journal.get("status")
    return "interrupted" if status == "running" and not journal.is_held() else status


def run_of(journal: StoredJournal) -> StoredRun:
    """Return the run of an open journal.

    Raises:
        RunRecordError: The journal does not have the facts of a run, or they are damaged.
    """
    from strands_cli.engine.effects.budget import worked_before

    require_begun(journal)
    status, ended_at, reason = run_status(journal), journal.get("ended_at"), journal.get("reason")
    try:
        if not isinstance(status, str):
            raise TypeError(f"the status is {status!r}")
        return StoredRun(
            id=journal.run_id,
            record=journal.record,
            workflow=str(journal.get("workflow") or ""),
            pattern=str(journal.get("pattern") or ""),
            file=str(journal.get("file") or ""),
            status=status,
            started_at=_time(journal.get("started_at")),
            ended_at=None if ended_at is None else _time(ended_at),
            reason=None if reason is None else str(reason),
            worked_s=worked_before(journal),
            user=str(journal.get("user") or ""),
            spent=spent if isinstance(spent := journal.get("spent"), list) else None,
        )
    except (TypeError, ValueError) as error:
        raise damaged_facts(journal, error) from error


def damaged_facts(journal: StoredJournal, error: Exception) -> RunRecordError:
    """Return the error for facts of a run in a form that nothing here writes."""
    return RunRecordError(
        f"the facts of the run in {journal.record} are damaged: {type(error).__name__}: {error}",
        fix=f"what it did cannot be used any more; remove it: strands runs delete {journal.run_id}",
    )


def _time(value: Any) -> float:
    """Return seconds since the epoch that can be shown as a date; raise `ValueError` or `TypeError` otherwise."""
    if not 0 <= float(value) < LAST_MOMENT:
        raise ValueError(f"{value} is not a time")
    return float(value)


def require_begun(journal: StoredJournal) -> None:
    """Raise `RunRecordError` for a journal without the facts of its run: it has no effects either."""
    if journal.get("status") is None or journal.get("started_at") is None:
        raise RunRecordError(
            f"the journal in {journal.record} has neither the status of the run nor its start",
            fix=f"the process died before it did anything; start a new run, and: strands runs delete {journal.run_id}",
        )
