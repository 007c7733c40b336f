"""The whole program on one screen: document -> spec -> plan -> events -> files.

What a cold path does not need (the engine, the agents and with them the SDK) is imported inside functions.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.catalog import Catalog, discover_catalog
from strands_cli.config import Settings, load_settings
from strands_cli.errors import InvalidInput, StrandsCliError, UsageError, has_errors
from strands_cli.planning.options import RunOptions

if TYPE_CHECKING:
    from strands_cli.agents.assemble import Workers
    from strands_cli.agents.given import GivenTools
    from strands_cli.engine.execute import RunResult
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.engine.ports import Clock, Human, Journal, Row
    from strands_cli.events import Event
    from strands_cli.planning.plan import Plan, PlannedTool
    from strands_cli.spec.kept import Kept
    from strands_cli.spec.loader import Loaded

Emit = Callable[["Event"], None]


def load(source: str | Path, text: str | None = None, kept: Kept | None = None) -> Loaded:
    """Read a workflow (a file, `-` for standard input, or the given text) into a spec, or every finding about it."""
    from strands_cli.spec.document import read_document
    from strands_cli.spec.kept import NOTHING_KEPT
    from strands_cli.spec.loader import load_spec

    return load_spec(read_document(source, text), kept or NOTHING_KEPT)


def plan(
    source: str | Path,
    options: RunOptions | None = None,
    *,
    text: str | None = None,
    catalog: Catalog | None = None,
    settings: Settings | None = None,
    kept: Kept | None = None,
) -> Plan:
    """Return what `run` would do; `plan.findings` says what stands in its way.

    `kept` are the files that the workflow names, where a run has kept them.

    Raises:
        InvalidInput: the file is not a valid workflow, so that there is nothing to plan.
    """
    from strands_cli.planning.build import build_plan, with_findings
    from strands_cli.spec.kept import NOTHING_KEPT, place_of

    loaded = load(source, text, kept)
    if loaded.spec is None or has_errors(loaded.findings):
        raise InvalidInput(f"{loaded.document.file} is not a valid workflow", findings=loaded.findings)
    built = build_plan(
        loaded.spec,
        loaded.document,
        catalog if catalog is not None else discover_catalog(),
        settings or load_settings(runs_dir=options.runs_dir if options else None),
        options or RunOptions(),
        kept=kept or NOTHING_KEPT,
    )
    named = {place_of(document.file): document.text for document in loaded.files}
    built = dataclasses.replace(built, files={**built.files, **named})
    # What `validate` can only warn of, planning knows: `undefined-variable` takes the place of the warning.
    return with_findings(built, [found for found in loaded.findings if found.code != "undeclared-variable"])


async def run(
    planned: Plan,
    options: RunOptions,
    human: Human,
    emit: Emit,
    *,
    settings: Settings | None = None,
    given: GivenTools | None = None,
) -> RunResult:
    """Run a plan: load its tools, open its record, execute it, and leave artifacts and perhaps a recording.

    A program that runs it passes what it has `given`, if only nothing: the process is then its own, not ours.

    Raises:
        StrandsCliError: why it could not start or complete; what it did is in its record.
    """
    from strands_cli.engine.clock import SystemClock
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.engine.record import new_run_id, run_facts
    from strands_cli.planning.build import require_runnable

    require_runnable(planned)
    clock = SystemClock()
    run_id = new_run_id(clock)
    runs_dir = (settings or load_settings(runs_dir=options.runs_dir)).runs_dir

    def begin() -> SqliteJournal:
        journal = SqliteJournal.create(runs_dir / run_id)
        journal.put(**run_facts(planned, options, run_id, clock))
        return journal

    return await _carry_out(planned, options, human, emit, begin, given)


def open_run(run_id: str, settings: Settings) -> SqliteJournal:
    """Open a stored run's record and hold it.

    Raises:
        RunRecordError: there is none, it cannot be used, or another process has it.
        UsageError: the run was cancelled.
    """
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.engine.store import find_run

    journal = SqliteJournal.open(find_run(settings.runs_dir, run_id))
    try:
        if journal.get("status") == "cancelled":
            raise UsageError(f"the run {run_id} was cancelled", fix=f"strands rerun {run_id} --from KEY")
    except BaseException:
        journal.close()
        raise
    return journal


def plan_again(
    journal: SqliteJournal,
    options: RunOptions,
    *,
    budgets: Mapping[str, str] | None = None,
    catalog: Catalog | None = None,
    settings: Settings | None = None,
) -> Plan:
    """Plan a stored run as it was planned when it began, from what its record has kept.

    Args:
        journal: The record.
        options: Those of the run (`engine.record.options_of`), with what has been chosen anew.
        budgets: Limits of `runtime.budgets` to raise, as text; they count from now on.
        catalog: The installed tools.
        settings: This machine's settings.

    Raises:
        StrandsCliError: this machine can no longer run it.
        RunRecordError: the plan is not the one that the run began with.
        UsageError: a budget cannot be raised so.
    """
    from strands_cli.engine.record import kept_files, raised_budgets, require_same
    from strands_cli.planning.build import require_runnable

    kept = kept_files(journal)
    planned = plan(
        journal.get("file"), options, text=journal.get("text"), catalog=catalog, settings=settings, kept=kept
    )
    # Warnings were given when the run began; files in the way may be those that it has begun to write.
    writing = journal.row("artifacts") is not None
    standing = [
        finding for finding in planned.findings
        if finding.severity == "error" and not (writing and finding.code == "artifact-exists")
    ]  # fmt: skip
    planned = dataclasses.replace(planned, findings=tuple(standing))
    require_runnable(planned)
    require_same(planned, journal)
    return raised_budgets(planned, journal, budgets or {})


async def resume(planned: Plan, journal: SqliteJournal, options: RunOptions, human: Human, emit: Emit) -> RunResult:
    """Go on with a stored run, whose record is held; it is closed in the end.

    Raises:
        StrandsCliError: why it could not go on or complete; what it did is in its record.
    """
    return await _carry_out(planned, options, human, emit, lambda: journal)


async def rerun(
    planned: Plan, options: RunOptions, taken_over: Sequence[Row], origin: Mapping[str, str], human: Human, emit: Emit
) -> RunResult:
    """Start a new run with what another has done: `taken_over` rows, `origin` says of which run and from which key.

    Raises:
        StrandsCliError: why it could not start or complete, also where a row's input is no longer what it was.
    """
    from strands_cli.engine.clock import SystemClock
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.engine.record import new_run_id, run_facts
    from strands_cli.planning.build import require_runnable

    require_runnable(planned)
    clock = SystemClock()
    run_id = new_run_id(clock)

    def begin() -> SqliteJournal:
        journal = SqliteJournal.create(load_settings(runs_dir=options.runs_dir).runs_dir / run_id)
        journal.put(**run_facts(planned, options, run_id, clock), rerun_of=dict(origin))
        for row in taken_over:
            journal.note(row)
        return journal

    return await _carry_out(planned, options, human, emit, begin)


async def _carry_out(
    planned: Plan,
    options: RunOptions,
    human: Human,
    emit: Emit,
    begin: Callable[[], SqliteJournal],
    given: GivenTools | None = None,
) -> RunResult:
    """Load everything, then take the record, execute, and leave artifacts and perhaps a recording."""
    from strands_cli.agents.assemble import assemble
    from strands_cli.engine.clock import SystemClock
    from strands_cli.engine.execute import execute
    from strands_cli.engine.ports import Ports
    from strands_cli.engine.store import session_facts
    from strands_cli.events import RunWarning
    from strands_cli.outputs.artifacts import ArtifactWriter

    clock = SystemClock()
    async with contextlib.AsyncExitStack() as stack:
        workers = await assemble(planned, workspace_of(planned), given)
        stack.push_async_callback(_close, workers, clock, emit)
        journal = begin()
        stack.callback(journal.close)
        journal.put(**session_facts())
        ports = Ports(journal, workers.agents, workers.tools, human, clock)
        writer = ArtifactWriter(options.out_dir, force=options.force)
        try:
            result = await execute(planned, ports, journal.directory.name, emit, writer)
        except BaseException:
            # The reason why the run ended matters more than a recording of its part that cannot be written.
            try:
                record(options, journal)
            except StrandsCliError as error:
                emit(RunWarning(clock.now(), error.message))
            raise
        record(options, journal)
        return result


def record(options: RunOptions, journal: Journal) -> None:
    """Write the recording that `--record` asks for, of every model call that was answered.

    Raises:
        StrandsCliError: the file exists or cannot be written, or the record cannot be read.
    """
    from strands_cli.engine.record import recorded_calls
    from strands_cli.outputs.recording import write_recording

    if options.record is not None:
        write_recording(options.record, recorded_calls(journal.rows("model")), force=options.force)


async def _close(workers: Workers, clock: Clock, emit: Emit) -> None:
    """Close tools and models; what goes wrong then cannot undo the run, but is told."""
    from strands_cli.events import RunWarning

    for problem in await workers.close():
        emit(RunWarning(clock.now(), problem))


def plan_tool(name: str, *, catalog: Catalog | None = None, settings: Settings | None = None) -> PlannedTool:
    """Return one tool, ready to be called by hand; typing its name is the approval of what would ask.

    Raises:
        StrandsCliError: no tool has the name, or this machine cannot run it.
    """
    from strands_cli.planning.tools import plan_single_tool

    return plan_single_tool(name, catalog if catalog is not None else discover_catalog(), settings or load_settings())


async def run_tool(planned: PlannedTool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Call one tool through the gate, outside any run: no record, no questions."""
    from strands_cli.agents.assemble import toolbox_caller
    from strands_cli.engine.outside import OutsideRun
    from strands_cli.policy import Rule

    yes = Rule("allow", "*", "command line", "typed by hand")
    workspace = {"root": str(Path.cwd()), "mounts": {}, "protected": []}
    caller = await toolbox_caller([planned], [yes], workspace)
    try:
        return await caller.call_tool(planned, arguments, OutsideRun().scope())
    finally:
        await caller.close()


def workspace_of(planned: Plan) -> dict[str, Any]:
    """Return what file tools may touch: the working directory and the mounts, but not the workflow itself."""
    mounts = planned.spec.env.mounts
    return {
        "root": str(Path.cwd()),
        "mounts": {name: str((planned.base_dir / path).absolute()) for name, path in mounts.items()},
        "protected": [str(Path(planned.file).absolute())],
    }
