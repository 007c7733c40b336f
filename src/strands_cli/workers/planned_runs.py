"""Plans of dispatched runs: the runs of one workflow share a plan, for some minutes."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli import app
from strands_cli.texts.canonical_json import digest_of
from strands_cli.workers.submitted.id_of_run import require_id
from strands_cli.workers.submitted.relocation import install_lock, moved_request, moved_workflow

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import StoredJournal
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.planning.row_planner import RowPlanner
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.store_place import StorePlace

# A tool that is installed meanwhile, and a policy file that is changed, hold after this time.
PLANS_S = 300.0
MOST_PLANS = 64


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where a worker's runs work.

    Attributes:
        folder: A folder that all runs share; None gives each its own.
        root: Below it are the folders of the runs, and those in place of the folders of their workflows.
    """

    folder: Path | None
    root: Path

    def of_store(self, place: StorePlace) -> Workspace:
        """Return that of the runs of one store: two stores may have runs of one id."""
        return replace(self, root=self.root / digest_of(str(place)).removeprefix("sha256:")[:12])

    def left(self) -> list[Path]:
        """Return the folders that runs have left here, each with the id of its run as its name."""
        runs = self.root / "runs"
        if self.folder is not None or not runs.is_dir():
            return []
        return [one for one in runs.iterdir() if one.is_dir() and not one.is_symlink()]

    def of_run(self, run_id: str) -> Path:
        """Return the folder in which a run works; it need not exist.

        Raises:
            UsageError: The id would lead out of the folder of all runs: `submit` did not store it.
        """
        require_id(run_id)
        return self.folder or self.root / "runs" / run_id

    def of_workflow(self, key: str) -> Path:
        """Return the folder that the paths of a workflow start from."""
        return self.folder or self.root / "workflows" / key.removeprefix("sha256:")


class RunPlanner:
    """Plans runs on this machine, each as it was planned when it was submitted.

    Args:
        workspace: Where they work.
        changes: What this machine chooses in place of what was submitted: its policy file, where its lines go.
    """

    def __init__(self, workspace: Workspace, changes: dict[str, Any]) -> None:
        self._workspace, self._changes = workspace, changes
        self._plans: OrderedDict[str, tuple[float, RowPlanner]] = OrderedDict()

    def plan(self, journal: StoredJournal) -> tuple[Plan, RunRequest]:
        """Return the plan of a held run, and its request.

        Raises:
            StrandsCliError: This machine cannot run it, or would run something else.
        """
        from strands_cli.engine.run_start.corrected_workflow import without_own_artifacts
        from strands_cli.engine.run_start.run_facts import raised_budgets, require_program, require_same
        from strands_cli.planning.plan_builder import require_runnable

        request = moved_request(journal, self._workspace.of_run(journal.run_id), self._changes)
        require_program(journal, request)
        planned = without_own_artifacts(self._planned(journal, request), journal)
        require_runnable(planned)
        require_same(planned, journal, is_moved=True)
        return raised_budgets(planned, journal, {}), request

    def _planned(self, journal: StoredJournal, request: RunRequest) -> Plan:
        # A corrected workflow is that of one run.
        key = "" if journal.get("corrections") else journal.get("plan_key") or ""
        made_at, known = self._plans.get(key, (0.0, None))
        if known is not None and time.monotonic() - made_at < PLANS_S:
            self._plans.move_to_end(key)
            return known.plan(request.values, out_dir=request.out_dir, beside=request.beside)
        base = self._workspace.of_workflow(key or journal.run_id)
        install_lock(journal, base)
        rows = app.plan_rows(moved_workflow(journal, base), request)
        if key:
            self._plans[key] = time.monotonic(), rows
            if len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        return rows.planned
