"""Runs that begin in one process and are worked on in another one, here or on another machine."""

from __future__ import annotations

import contextlib
import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from strands_cli import app
from strands_cli.engine.journal.sqlite_journal import FORMAT
from strands_cli.engine.run_facts import create_journal, format_version_of, raised_budgets, stored_request
from strands_cli.engine.stored_runs.opened import opened_run
from strands_cli.engine.stored_runs.run_owners import BELONGS_TO
from strands_cli.engine.waiting.questions import NoPerson
from strands_cli.errors import RunRecordError, StrandsCliError, UsageError
from strands_cli.events import RunWarning
from strands_cli.lock.lock_reader import lock_file
from strands_cli.outputs.artifacts import ARTIFACT_EXISTS
from strands_cli.planning.data_flow.egress import NO_EXPORTER
from strands_cli.planning.data_flow.secret_values import MISSING_SECRET
from strands_cli.planning.data_flow.workflow_trust import Trust
from strands_cli.planning.environment import MISSING_MOUNT, UNKNOWN_PRICE
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.provider_checks import MISSING_API_KEY, MISSING_EXTRA
from strands_cli.system.daemon_threads import DaemonThreads
from strands_cli.texts.canonical_json import digest_of
from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document_reader import FileSnapshot, read_document

if TYPE_CHECKING:
    from strands_cli.agents.assembly import SharedRuns
    from strands_cli.engine.plan_execution import RunResult
    from strands_cli.engine.store_port import RunStore, StoredJournal
    from strands_cli.events import Event, RunStatus
    from strands_cli.planning.plan_values import Plan
    from strands_cli.planning.row_planner import RowPlanner
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.workflow.model import LoadedWorkflow


# A stored workflow on another machine: its texts are those of the journal, its paths start from a folder here.


class Facts(Protocol):
    """The facts of a run: its journal, or those about to be stored in one."""

    def get(self, name: str, /) -> Any:
        """Return one fact, or None."""


def facts_to_move(plan: Plan, request: RunRequest) -> dict[str, Any]:
    """Return the facts of a plan that another machine needs besides those of a run.

    `plan_key` is equal for runs of one workflow whose plans differ in their inputs and the folder of artifacts only.
    """
    lock = lock_file(plan.project)
    text = lock.read_text(encoding="utf-8") if lock.is_file() else ""
    options = {name: value for name, value in request.to_stored().items() if name != "out_dir"}
    of_others = Trust.of(plan).is_of_others
    version = plan.spec.version
    whole = [plan.file, plan.text, version, dict(plan.files), options, plan.packaged, text, of_others]
    folder = os.path.realpath(plan.base_dir)
    return {"folder": folder, "lock": text, "of_others": of_others, "plan_key": digest_of(whole)}


def moved_request(facts: Facts, folder: Path, changes: Mapping[str, Any]) -> RunRequest:
    """Return the request of a run on another machine, where it works in a folder.

    Args:
        folder: Where artifacts and the files of tools begin.
        changes: Fields that this machine chooses: its policy file, where its lines go.
    """
    return stored_request(facts, {"policy": None, "detach": True, "beside": folder, **changes})  # type: ignore[arg-type]


def moved_workflow(facts: Facts, base: Path) -> LoadedWorkflow:
    """Return the workflow of a run, with `base` in place of the folder that it was in.

    No other file of this machine is read: a file that the workflow names is missing here, if the journal lacks it.
    """
    file, text, packaged = facts.get("file"), facts.get("text"), facts.get("packaged") or ""
    texts: Mapping[str, str] = facts.get("files") or {}
    folder = Path(facts.get("base_dir"))
    if not packaged:
        texts, folder = _moved(texts, facts.get("folder") or str(folder), base), base
    version, of_others = format_version_of(facts), facts.get("of_others")  # type: ignore[arg-type]
    snapshot = FileSnapshot(folder, texts, is_all=True, packaged=packaged, format_version=version, of_others=of_others)
    snapshot = replace(snapshot, default_model=facts.get("default_model") or "", aliases=facts.get("aliases") or {})
    return load_spec(read_document(file, text), snapshot)


def _moved(texts: Mapping[str, str], before: str, base: Path) -> dict[str, str]:
    """Return texts by the names that their files have from `base`, and by those that they had: a path may be whole."""
    there = os.path.realpath(base)

    def place(name: str) -> str:
        return os.path.normpath(os.path.join(there, os.path.relpath(name, before)))  # noqa: PTH118 - names, not files

    return {**texts, **{place(name): text for name, text in texts.items()}}


def install_lock(facts: Facts, base: Path) -> None:
    """Put the lock of a run beside its workflow, so that the distributions here are compared with it.

    Raises:
        RunRecordError: Another lock is there: that of this worker's own project.
    """
    text, file = facts.get("lock") or "", lock_file(base)
    here = file.read_text(encoding="utf-8") if file.is_file() else ""
    if here == text or not text:
        return
    if here:
        raise RunRecordError(
            f"the run was submitted with another {file.name} than {file}: {_difference(text, here)}",
            fix="give the worker the project that the run was submitted from, or start it without --workspace",
        )
    base.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _difference(left: str, right: str) -> str:
    """Return the first lines in which two locks differ."""
    both = {*left.splitlines()} ^ {*right.splitlines()}
    lines = [line.strip() for line in (*left.splitlines(), *right.splitlines()) if line in both and "=" in line]
    return "; ".join(lines[:3]) or "they have other entries"


def raise_limits(journal: StoredJournal, limits: Mapping[str, str]) -> None:
    """Store limits that were raised in a held run; the process that continues it applies them.

    Raises:
        UsageError: There is no such limit, or it is not raised.
    """
    base = Path(journal.get("base_dir"))
    raised_budgets(app.plan(moved_workflow(journal, base), moved_request(journal, base, {})), journal, limits)


# Hands a run over: it is planned here, and stored with all that another machine needs to work on it.


# This machine may lack these: the one that works on the run must have them. Secrets do not travel.
_OF_THE_OTHER = frozenset({MISSING_API_KEY, MISSING_EXTRA, MISSING_SECRET, MISSING_MOUNT, NO_EXPORTER, UNKNOWN_PRICE})
# The facts of such a run that come from its plan; its id, status and time are its own.
OF_THE_PLAN = (
    "user",
    *("workflow", "pattern", "file", "base_dir", "text", "files", "directory", "inputs", "options", "models", "tools"),
    *("plan_digest", "packaged", "places", "variables", "secret_variables", "secret_files", "hides_personal_data"),
    *("folder", "lock", "of_others", "plan_key", "format_version", "default_model", "aliases", BELONGS_TO),
)


class Handover:
    """A run that another process works on.

    Args:
        planned: Its plan.
        request: The request that it was planned with.
        owner: The owner of the run: the name of a `RunOwner`.

    Attributes:
        planned: The plan without findings about files of this machine; missing keys and extras are warnings in it.
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
        """Yield in words the parts of the workflow that no journal stores: the other machine must have its own."""
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
        """Store the run before its beginning, and return its id.

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


# A tool installed meanwhile, and a changed policy file, hold after this time.
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
        GOES_ON: The statuses of unfinished runs: a run in another one has ended, or waits for a person.
        threads: An executor for this process, whose threads do not delay its end.

    Raises:
        Denied: A policy file of this machine cannot be read, or is wrong, so that every run would be refused.
    """

    GOES_ON: ClassVar[tuple[RunStatus, ...]] = ("queued", "running", "interrupted")

    def __init__(self, folders: Folders, *, policy: Path | None = None, takes_approvals: bool = True) -> None:
        from strands_cli.config import read_settings
        from strands_cli.user_files.policy_files import read_policies

        read_policies(read_settings(), None, policy)
        self.threads = DaemonThreads()
        self._folders = folders
        approvals = {} if takes_approvals else {"yes": False, "allow": ()}
        self._changes: dict[str, Any] = {"policy": policy, **approvals}
        self._plans: OrderedDict[str, tuple[float, RowPlanner]] = OrderedDict()
        self._shared: SharedRuns | None = None

    @contextlib.asynccontextmanager
    async def opened(self, worker: str) -> AsyncIterator[None]:
        """Open the shared parts of the runs of one event loop, such as connections to models.

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
        from strands_cli.engine.corrected_workflow import without_own_artifacts
        from strands_cli.engine.run_facts import raised_budgets, require_program, require_same
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
        made_at, planner = self._plans.get(key, (0.0, None))
        if planner is not None and time.monotonic() - made_at < PLANS_S:
            self._plans.move_to_end(key)
            return planner.plan(request.values, out_dir=request.out_dir, beside=request.beside)
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
