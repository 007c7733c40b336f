"""Hands a run over: it is planned here, and stored with all that another machine needs to work on it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from strands_cli import app
from strands_cli.engine.journal.empty_journal import FORMAT
from strands_cli.engine.run_start.new_journal import create_journal
from strands_cli.engine.stored_runs.run_owners import BELONGS_TO
from strands_cli.errors import StrandsCliError, UsageError
from strands_cli.handover.relocation import facts_to_move, moved_request, moved_workflow
from strands_cli.outputs.artifacts import ARTIFACT_EXISTS
from strands_cli.planning.checks.environment import MISSING_MOUNT, UNKNOWN_PRICE
from strands_cli.planning.data_flow.secret_values import MISSING_SECRET
from strands_cli.planning.data_flow.telemetry_destination import NO_EXPORTER
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.provider_checks import MISSING_API_KEY, MISSING_EXTRA

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore, StoredJournal
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.planning.run_request import RunRequest

# This machine may lack these: the one that works on the run must have them. Secrets do not travel.
_OF_THE_OTHER = frozenset({MISSING_API_KEY, MISSING_EXTRA, MISSING_SECRET, MISSING_MOUNT, NO_EXPORTER, UNKNOWN_PRICE})
# The facts of such a run that are those of its plan; its id, status and time are its own.
OF_THE_PLAN = (
    *("workflow", "pattern", "file", "base_dir", "text", "files", "directory", "inputs", "options", "models", "tools"),
    *("plan_digest", "packaged", "places", "variables", "secret_variables", "secret_files", "hides_personal_data"),
    *("folder", "lock", "of_others", "plan_key", "format_version", BELONGS_TO),
)


class Handover:
    """A run that another process works on.

    Args:
        planned: Its plan.
        request: The request that it was planned with.
        owner: What the run belongs to: the name of a `RunOwner`.

    Attributes:
        planned: The plan without findings about files that are here; missing keys and extras are warnings in it.
        version: The format of the journals; a process of another version may not understand them.

    Raises:
        StrandsCliError: It cannot run anywhere.
        UsageError: Its artifacts would go to a place that only this machine has.
    """

    version: ClassVar[str] = str(FORMAT)

    def __init__(self, planned: Plan, request: RunRequest, owner: str) -> None:
        findings = tuple(
            replace(finding, severity="warning") if finding.code in _OF_THE_OTHER else finding
            for finding in planned.findings
            if finding.code != ARTIFACT_EXISTS  # the other process writes in a folder of its own
        )
        self.planned, self._request, self._owner = replace(planned, findings=findings), request, owner
        require_runnable(self.planned)
        out = PurePath(request.out_dir)
        if out.is_absolute() or ".." in out.parts:
            raise UsageError(
                f"--out {request.out_dir} is a place of this machine, and a worker writes in a folder of its own",
                fix=f"name a folder below that: --out {out.name or 'artifacts'}",
            )

    @classmethod
    def of(cls, source: str | Path, request: RunRequest, owner: str) -> Handover:
        """Plan a workflow that another process runs.

        Args:
            source: A file, or `DIST/NAME`.

        Raises:
            StrandsCliError: As the class, and the file is not a valid workflow.
        """
        return cls(app.plan(source, request), request, owner)

    def missing(self) -> Iterator[str]:
        """Yield in words what the workflow uses and no journal stores: the other machine must have it by itself."""
        planned = self.planned
        facts: dict[str, Any] = {
            "file": planned.file,
            "text": planned.text,
            "files": dict(planned.files),
            "base_dir": str(planned.base_dir),
            "packaged": planned.packaged,
            "inputs": dict(planned.inputs),
            "options": self._request.to_stored(),
            **self.facts(),
        }
        nowhere = Path(planned.base_dir) / ".strands-nowhere"
        try:
            findings = app.plan(moved_workflow(facts, nowhere), moved_request(facts, nowhere, {})).findings
        except StrandsCliError as error:
            findings = error.findings
        here = {finding.message for finding in planned.findings}
        # It has its directories in a folder that it names, and writes in one of its own.
        elsewhere = _OF_THE_OTHER - {MISSING_MOUNT} | {ARTIFACT_EXISTS}
        lacking = (
            finding.message.replace(f"{nowhere}{os.sep}", "")
            for finding in findings
            if finding.severity == "error" and finding.code not in elsewhere and finding.message not in here
        )
        yield from dict.fromkeys(lacking)  # a tool of the workflow that a step names is found twice

    def facts(self) -> dict[str, Any]:
        """Return the facts that another machine needs besides those of each run."""
        return {BELONGS_TO: self._owner, **facts_to_move(self.planned, self._request)}

    def store(self, store: RunStore, run_id: str, facts: Mapping[str, Any]) -> str:
        """Store the run, which has not begun, and return its id.

        Args:
            run_id: Its id; empty for a new one.
            facts: Further facts of its journal, such as its status.

        Raises:
            RunRecordError: There is a run with this id, or the store cannot be written.
        """
        further = {**self.facts(), **facts}
        with contextlib.closing(
            create_journal(store, self.planned, self._request, run_id or None, further=further)
        ) as journal:
            return journal.run_id

    def is_in(self, journal: StoredJournal) -> bool:
        """Return whether a stored run is this one: it has the same plan."""
        return bool(journal.get("plan_digest") == self.planned.digest)

    @staticmethod
    def facts_of_plan(journal: StoredJournal) -> dict[str, Any]:
        """Return the facts that another run of the same plan has too."""
        return {name: fact for name in OF_THE_PLAN if (fact := journal.get(name)) is not None}
