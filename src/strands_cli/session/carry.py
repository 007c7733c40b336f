"""Carry a plan out: load everything, take the record, execute, leave artifacts and perhaps a recording, close."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.agents.assemble import Workers, assemble, toolbox_caller
from strands_cli.engine.clock import SystemClock
from strands_cli.engine.execute import RunResult, execute
from strands_cli.engine.ports import Clock, Human, Journal, Ports
from strands_cli.engine.run_facts import recorded_calls
from strands_cli.engine.run_store import session_facts
from strands_cli.engine.standalone import OutsideRun
from strands_cli.engine.tracing_port import UNTRACED, Tracing
from strands_cli.errors import StrandsCliError
from strands_cli.events import Event, RunWarning
from strands_cli.outputs.artifacts import ArtifactWriter
from strands_cli.outputs.recording_writer import write_recording
from strands_cli.planning.build_plan import require_runnable
from strands_cli.planning.telemetry_destination import destination_of
from strands_cli.policy import Policy, Rule
from strands_cli.session.redacted import RedactedHuman, redacted, redacted_emit, redacted_errors, redacted_writer

if TYPE_CHECKING:
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.hooks.manager import Hooks
    from strands_cli.planning.plan import Plan, PlannedTool
    from strands_cli.planning.run_options import RunOptions
    from strands_cli.tools.python_objects import GivenTools

Emit = Callable[[Event], None]


async def carry_out(
    planned: Plan,
    options: RunOptions,
    human: Human,
    emit: Emit,
    take_record: Callable[[], SqliteJournal],
    given: GivenTools | None = None,
) -> RunResult:
    """Execute a plan from its first effect that is still to be done to its end.

    Args:
        planned: What to run.
        options: How.
        human: Who answers.
        emit: Who listens.
        take_record: Gives the record, which is closed in the end. Called once everything is loaded, so that what
            cannot start leaves none.
        given: The tools that the program gives; a program that gives none says so by an empty one.

    Raises:
        StrandsCliError: why it could not start or complete; what it did is in its record.
    """
    require_runnable(planned)
    clock = SystemClock()
    async with contextlib.AsyncExitStack() as stack:
        tell = None if given is not None else lambda line: emit(RunWarning(clock.now(), line))
        workers = await assemble(planned, workspace_of(planned), given, tell, reload=options.reload)
        secrets = workers.secrets
        emit = redacted_emit(emit, secrets)
        stack.enter_context(redacted_errors(secrets))
        stack.push_async_callback(_close, workers, clock, emit)
        for line in workers.warnings:
            emit(RunWarning(clock.now(), line))
        journal = take_record()
        stack.callback(journal.close)
        journal.put(**session_facts())
        # From here on: what the record began with has none in it, and must stay as it was planned.
        journal.secrets = secrets
        tracing = await stack.enter_async_context(_tracing(planned, secrets, clock, emit))
        ports = Ports(journal, workers.agents, workers.tools, RedactedHuman(human, secrets), clock, tracing)
        write = ArtifactWriter(options.out_dir, force=options.force, beside=options.beside)
        writer = redacted_writer(write, secrets)
        try:
            result = await execute(planned, ports, journal.directory.name, emit, writer)
        except BaseException:
            # The reason why the run ended matters more than a recording of its part that cannot be written.
            try:
                record_turns(options, journal)
            except StrandsCliError as error:
                emit(RunWarning(clock.now(), error.message))
            raise
        record_turns(options, journal)
        return redacted(result, secrets)


def record_turns(options: RunOptions, journal: Journal) -> None:
    """Write the recording that `--record` asks for, of every model call that was answered.

    Raises:
        StrandsCliError: the file exists or cannot be written, or the record cannot be read.
    """
    if options.record is not None:
        write_recording(options.beside / options.record, recorded_calls(journal.rows("model")), force=options.force)


@contextlib.asynccontextmanager
async def _tracing(planned: Plan, secrets: frozenset[str], clock: Clock, emit: Emit) -> AsyncIterator[Tracing]:
    """Give what traces the run: nothing, unless its workflow says where spans go."""
    destination = destination_of(planned.spec.telemetry.otel, os.environ)
    if destination is None:
        yield UNTRACED
        return
    from strands_cli.telemetry.run_spans import (
        open_tracing,  # what sends spans is imported only where they are sent
    )

    warn = lambda line: emit(RunWarning(clock.now(), line))  # noqa: E731
    async with open_tracing(planned.spec.telemetry, destination, secrets, warn) as tracing:
        yield tracing


async def _close(workers: Workers, clock: Clock, emit: Emit) -> None:
    """Close tools and models; what goes wrong then cannot undo the run, but is told."""
    for problem in await workers.close():
        emit(RunWarning(clock.now(), problem))


async def call_alone(
    planned: PlannedTool,
    arguments: Mapping[str, Any],
    policy: Policy | None = None,
    person: Human | None = None,
    tell: Callable[[str], None] | None = None,
    hooks: Hooks | None = None,
) -> Mapping[str, Any]:
    """Call one tool through the gate, outside any run: no record, and `person` is asked only what the tool asks.

    `tell` hears that its import takes long.
    """
    yes = Rule("allow", "*", "command line", "typed by hand")
    denying = [rule for rule in (policy.rules if policy else ()) if rule.effect == "deny"]
    workspace = {"root": str(Path.cwd()), "mounts": {}, "protected": []}
    caller = await toolbox_caller([planned], [*denying, yes], workspace, tell, hooks)
    try:
        return await caller.call_tool(planned, arguments, OutsideRun(person).scope())
    finally:
        await caller.close()


def workspace_of(planned: Plan) -> dict[str, Any]:
    """Return what file tools may touch: the working directory and the mounts, not what decides over the run."""
    from strands_cli.planning.file_watch import custom_places, python_folders
    from strands_cli.planning.workflow_tools import with_parts

    mounts = planned.spec.env.mounts
    rules = [file for _, file in planned.policy.files]
    python = custom_places(with_parts(planned.called()), python_folders(planned))
    return {
        "root": str(Path.cwd()),
        "mounts": {name: str((planned.base_dir / path).absolute()) for name, path in mounts.items()},
        "protected": [str(Path(file).absolute()) for file in (planned.file, *planned.files, *rules, *python)],
    }
