"""The whole program on one screen: document -> spec -> plan -> events -> files.

What a cold path does not need (the engine, the agents and with them the SDK) is imported inside functions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.catalog import Catalog, discover_catalog
from strands_cli.config import Settings, load_settings
from strands_cli.errors import InvalidInput, has_errors
from strands_cli.planning.options import RunOptions

if TYPE_CHECKING:
    from strands_cli.agents.assemble import Workers
    from strands_cli.engine.execute import RunResult
    from strands_cli.engine.ports import Clock, Human
    from strands_cli.events import Event
    from strands_cli.planning.plan import Plan, PlannedTool
    from strands_cli.spec.loader import Loaded

Emit = Callable[["Event"], None]


def load(source: str | Path, text: str | None = None) -> Loaded:
    """Read a workflow (a file, `-` for standard input, or the given text) into a spec, or every finding about it."""
    from strands_cli.spec.document import read_document
    from strands_cli.spec.loader import load_spec

    return load_spec(read_document(source, text))


def plan(
    source: str | Path,
    options: RunOptions | None = None,
    *,
    text: str | None = None,
    catalog: Catalog | None = None,
    settings: Settings | None = None,
) -> Plan:
    """Return what `run` would do; `plan.findings` says what stands in its way.

    Raises:
        InvalidInput: the file is not a valid workflow, so that there is nothing to plan.
    """
    from strands_cli.planning.build import build_plan, with_findings

    loaded = load(source, text)
    if loaded.spec is None or has_errors(loaded.findings):
        raise InvalidInput(f"{loaded.document.file} is not a valid workflow", findings=loaded.findings)
    built = build_plan(
        loaded.spec,
        loaded.document,
        catalog if catalog is not None else discover_catalog(),
        settings or load_settings(runs_dir=options.runs_dir if options else None),
        options or RunOptions(),
    )
    # What `validate` can only warn of, planning knows: `undefined-variable` takes the place of the warning.
    return with_findings(built, [found for found in loaded.findings if found.code != "undeclared-variable"])


async def run(
    planned: Plan, options: RunOptions, human: Human, emit: Emit, *, settings: Settings | None = None
) -> RunResult:
    """Run a plan: load its tools, open its record, execute it, and leave artifacts and perhaps a recording.

    Raises:
        StrandsCliError: why it could not start or complete; what it did is in its record.
    """
    from strands_cli.agents.assemble import assemble
    from strands_cli.engine.clock import SystemClock
    from strands_cli.engine.execute import execute
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.engine.ports import Ports
    from strands_cli.engine.record import new_run_id, recorded_calls, run_facts
    from strands_cli.outputs.artifacts import ArtifactWriter
    from strands_cli.outputs.recording import write_recording
    from strands_cli.planning.build import require_runnable

    require_runnable(planned)
    clock = SystemClock()
    run_id = new_run_id(clock)
    settings = settings or load_settings(runs_dir=options.runs_dir)
    async with contextlib.AsyncExitStack() as stack:
        workers = await assemble(planned, workspace_of(planned))
        stack.push_async_callback(_close, workers, clock, emit)
        journal = SqliteJournal.create(settings.runs_dir / run_id)
        stack.callback(journal.close)
        journal.put(**run_facts(planned, run_id, clock))
        ports = Ports(journal, workers.agents, workers.tools, human, clock)
        writer = ArtifactWriter(options.out_dir, force=options.force)
        try:
            return await execute(planned, ports, run_id, emit, writer)
        finally:
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
