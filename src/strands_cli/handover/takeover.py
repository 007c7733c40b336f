"""Takes runs over that began elsewhere: each is planned here as it was planned there, and continued in this process."""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from strands_cli import app
from strands_cli.engine.stored_runs.opened import opened_run
from strands_cli.engine.waiting.no_person import NoPerson
from strands_cli.errors import RunRecordError, UsageError
from strands_cli.events import RunWarning
from strands_cli.handover.relocation import install_lock, moved_request, moved_workflow
from strands_cli.system.daemon_threads import DaemonThreads

if TYPE_CHECKING:
    from strands_cli.agents.shared_runs import SharedRuns
    from strands_cli.engine.plan_execution import RunResult
    from strands_cli.engine.ports.store_port import RunStore, StoredJournal
    from strands_cli.events import Event, RunStatus
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.planning.row_planner import RowPlanner
    from strands_cli.planning.run_request import RunRequest

# A tool that is installed meanwhile, and a policy file that is changed, hold after this time.
PLANS_S = 300.0
MOST_PLANS = 64


class Folders(Protocol):
    """The folders of this machine in which runs work."""

    def of_run(self, run_id: str) -> Path:
        """Return the folder that the paths of a run's tools and artifacts start from; it need not exist."""

    def of_workflow(self, key: str) -> Path:
        """Return the folder that the paths of a workflow start from."""


class Takeover:
    """Continues runs that others have begun or stored; the runs of one workflow share a plan, for some minutes.

    Args:
        folders: Where the runs work.
        policy: A policy file that takes the place of the one beside a workflow.
        takes_approvals: Whether the approvals that a run was stored with (`--yes`, `--allow`) count here.

    Attributes:
        GOES_ON: The statuses of runs that are not over: a run in another one has ended, or waits for a person.
        threads: An executor for this process, whose threads do not delay its end.

    Raises:
        Denied: A policy file of this machine cannot be read, or is wrong, so that every run would be refused.
    """

    GOES_ON: ClassVar[tuple[RunStatus, ...]] = ("queued", "running", "interrupted")

    def __init__(self, folders: Folders, *, policy: Path | None = None, takes_approvals: bool = True) -> None:
        from strands_cli.config import load_settings
        from strands_cli.user_files.policy_files import load_policy

        load_policy(load_settings(), None, policy)
        self.threads = DaemonThreads()
        self._folders = folders
        approvals = {} if takes_approvals else {"yes": False, "allow": ()}
        self._changes: dict[str, Any] = {"policy": policy, **approvals}
        self._plans: OrderedDict[str, tuple[float, RowPlanner]] = OrderedDict()
        self._shared: SharedRuns | None = None

    @contextlib.asynccontextmanager
    async def opened(self, worker: str) -> AsyncIterator[None]:
        """Open what the runs of one event loop share, such as connections to models.

        Args:
            worker: The id of this process for people who ask where a run is worked on.
        """
        async with app.shared_runs(worker=worker) as self._shared:
            yield

    def hold(self, store: RunStore, run_id: str) -> StoredJournal | None:
        """Hold a run, and return its journal; None where the run has ended, is gone, or waits for a person.

        Raises:
            RunRecordError: Another process holds the run, or the store does not answer.
        """
        try:
            journal = opened_run(store, run_id, hold=True)
        except UsageError:  # it was cancelled
            return None
        except RunRecordError:
            with contextlib.suppress(RunRecordError):
                store.find(run_id)
                raise
            return None  # it was deleted
        if journal.get("status") in self.GOES_ON:
            return journal
        journal.close()
        return None

    def plan(self, journal: StoredJournal) -> tuple[Plan, RunRequest]:
        """Return the plan of a held run, and its request; its folder exists then.

        Raises:
            StrandsCliError: This machine cannot run it, or would run something else.
            OSError: Its folder cannot be made.
        """
        from strands_cli.engine.run_start.corrected_workflow import without_own_artifacts
        from strands_cli.engine.run_start.run_facts import raised_budgets, require_program, require_same
        from strands_cli.planning.plan_builder import require_runnable

        request = moved_request(journal, self._folders.of_run(journal.run_id), self._changes)
        require_program(journal, request)
        planned = without_own_artifacts(self._planned(journal, request), journal)
        require_runnable(planned)
        require_same(planned, journal, is_moved=True)
        planned = raised_budgets(planned, journal, {})
        request.beside.mkdir(parents=True, exist_ok=True)
        return planned, request

    def _planned(self, journal: StoredJournal, request: RunRequest) -> Plan:
        # A corrected workflow is that of one run.
        key = "" if journal.get("corrections") else journal.get("plan_key") or ""
        made_at, known = self._plans.get(key, (0.0, None))
        if known is not None and time.monotonic() - made_at < PLANS_S:
            self._plans.move_to_end(key)
            return known.plan(request.values, out_dir=request.out_dir, beside=request.beside)
        base = self._folders.of_workflow(key or journal.run_id)
        install_lock(journal, base)
        rows = app.plan_rows(moved_workflow(journal, base), request)
        if key:
            self._plans[key] = time.monotonic(), rows
            if len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        return rows.planned

    async def resume(
        self,
        planned: Plan,
        request: RunRequest,
        journal: StoredJournal,
        emit: Callable[[Event], None],
        warn: Callable[[str], None],
    ) -> RunResult:
        """Continue a held run until it ends or waits for a person; its journal is closed then.

        Args:
            planned: Its plan, with its `request`.
            emit: Takes its events, `warn` its warnings.

        Raises:
            StrandsCliError: The run could not continue or complete; its journal has how it ended.
        """

        def pass_on(event: Event) -> None:
            emit(event)
            if isinstance(event, RunWarning):
                warn(event.message)

        human = NoPerson(denies=request.deny)
        return await app.resume(planned, journal, request, human, pass_on, shared=self._shared)
