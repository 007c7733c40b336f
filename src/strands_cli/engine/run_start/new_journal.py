"""The journal of a new run, and the recording that is written from one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from strands_cli.engine.journal.journal_rows import Journal, Row
from strands_cli.engine.journal.recording_writer import write_recording
from strands_cli.engine.ports.clock import SystemClock
from strands_cli.engine.ports.store_port import RunStore, StoredJournal
from strands_cli.engine.run_start.run_facts import new_run_id, recorded_calls, run_facts
from strands_cli.errors import RunRecordError, StrandsCliError
from strands_cli.planning.planned_tools.planned_tool import ObjectTool
from strands_cli.planning.run_inputs import UNKNOWN_INPUT
from strands_cli.planning.workflow_tools.tool_parts import with_parts

if TYPE_CHECKING:
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.planning.run_request import RunRequest


@dataclass(frozen=True, slots=True)
class Rerun:
    """A new run that begins with what another one has done.

    Attributes:
        planned: The plan of the new run.
        request: The request that it was planned with.
        rows: The rows of the other run's journal that it takes over.
        origin: The id of the other run, and the key from which on everything is done again.
        changed: What has changed about the workflow's file since, in words.
    """

    planned: Plan
    request: RunRequest
    rows: Sequence[Row]
    origin: Mapping[str, str]
    changed: str | None

    def __post_init__(self) -> None:
        """Make a warning of an input of the other run that nothing reads any more: no person gives it now."""
        findings = (
            replace(one, severity="warning") if one.code == UNKNOWN_INPUT else one for one in self.planned.findings
        )
        object.__setattr__(self, "planned", replace(self.planned, findings=tuple(findings)))


def create_journal(
    store: RunStore,
    planned: Plan,
    request: RunRequest,
    run_id: str | None = None,
    rerun: Rerun | None = None,
    further: Mapping[str, Any] = MappingProxyType({}),
) -> StoredJournal:
    """Create the journal of a new run and hold it.

    Args:
        store: Where it is created.
        run_id: Its id; None makes one.
        rerun: What another run has done, for this one to begin with.
        further: Facts that are stored besides, or in place of others.

    Raises:
        RunRecordError: it cannot be created.
    """
    clock = SystemClock()
    run_id = run_id or new_run_id(clock)
    facts = run_facts(planned, request, run_id, clock)
    if request.python_tools is not None:
        called = with_parts(planned.called(), of_others=False)
        names = [tool.record.name for tool in called if isinstance(tool, ObjectTool)]
        facts["given"] = {name: request.python_tools.places[name] for name in names}
    if rerun is not None:
        facts["rerun_of"] = dict(rerun.origin)
    journal = _new_or_unbegun(store, run_id)
    journal.put(**{**facts, **further})
    for row in rerun.rows if rerun is not None else ():
        journal.note(row)
    return journal


def _new_or_unbegun(store: RunStore, run_id: str) -> StoredJournal:
    """Return a new journal, held, or that of a process which died before it had stored a fact of the run.

    Raises:
        RunRecordError: There is a run with this id, or the store cannot be written.
    """
    try:
        return store.create(run_id)
    except RunRecordError:
        # Only looked at first: a run that goes on must not be taken over for this.
        with contextlib.suppress(RunRecordError):
            with contextlib.closing(store.open(run_id, hold=False)) as journal:
                is_unbegun = _is_unbegun(journal)
            if is_unbegun:
                held = store.open(run_id)
                if _is_unbegun(held):
                    return held
                held.close()
        raise


def _is_unbegun(journal: StoredJournal) -> bool:
    return journal.get("status") is None and next(iter(journal.rows()), None) is None


@contextlib.contextmanager
def recorded(request: RunRequest, journal: Journal, warn: Callable[[str], None]) -> Iterator[None]:
    """Write the recording that `--record` asks for when the run has ended, however it ended.

    Raises:
        StrandsCliError: the run completed, and the recording exists or cannot be written.
    """

    def write() -> None:
        if request.record is not None:
            write_recording(request.beside / request.record, recorded_calls(journal.rows("model")), force=request.force)

    try:
        yield
    except BaseException:
        # The reason why the run ended matters more than a recording of its part.
        try:
            write()
        except StrandsCliError as error:
            warn(error.message)
        raise
    write()
