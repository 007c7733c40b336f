"""The whole program on one screen: document -> spec -> plan -> events -> files.

How a run is planned, recorded, carried out and closed is in `session/`, imported inside functions: it brings the SDK.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.catalog import Catalog
    from strands_cli.config import Settings
    from strands_cli.engine.execute import RunResult
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.engine.ports import Human, Row
    from strands_cli.errors import Finding
    from strands_cli.events import Event
    from strands_cli.hooks.manager import Hooks
    from strands_cli.planning.plan import Plan, PlannedTool
    from strands_cli.planning.run_options import RunOptions
    from strands_cli.policy import Policy
    from strands_cli.tools.python_objects import GivenTools
    from strands_cli.workflow.file_source import FileSnapshot
    from strands_cli.workflow.loaded import Loaded

    Emit = Callable[[Event], None]


def load(source: str | Path, text: str | None = None, kept: FileSnapshot | None = None) -> Loaded:
    """Read a workflow (a file, `-` for standard input, or the given text) into a spec, or every finding about it."""
    from strands_cli.workflow.document_reader import read_document
    from strands_cli.workflow.file_source import NO_SNAPSHOT
    from strands_cli.workflow.loader import load_spec

    return load_spec(read_document(source, text), kept or NO_SNAPSHOT)


def check(source: str | Path, text: str | None = None, kept: FileSnapshot | None = None) -> tuple[Finding, ...]:
    """Return everything that is wrong with a workflow by itself, whatever is installed here."""
    return load(source, text, kept).findings


def plan(
    source: str | Path, options: RunOptions | None = None, *, text: str | None = None, kept: FileSnapshot | None = None,
    catalog: Catalog | None = None, settings: Settings | None = None, hooks: Hooks | None = None,
) -> Plan:  # fmt: skip
    """Return what `run` would do, and in `findings` what stands in its way; `kept` are files that a run has kept.

    Raises:
        InvalidInput: the file is not a valid workflow, so that there is nothing to plan.
    """
    from strands_cli.planning.run_options import RunOptions
    from strands_cli.session.planned import plan_loaded

    return plan_loaded(load(source, text, kept), options or RunOptions(), catalog, settings, kept, hooks)


async def run(
    planned: Plan, options: RunOptions, human: Human, emit: Emit, *,
    settings: Settings | None = None, given: GivenTools | None = None,
) -> RunResult:  # fmt: skip
    """Run a plan: load its tools, open its record, execute it, and leave artifacts and perhaps a recording.

    A program that runs it passes what it has `given`, if only nothing: the process is then its own, not ours.

    Raises:
        StrandsCliError: why it could not start or complete; what it did is in its record.
    """
    from strands_cli.session.carry import carry_out
    from strands_cli.session.record import begin_record

    begin = partial(begin_record, planned, options, settings, given)
    return await carry_out(planned, options, human, emit, begin, given)


async def resume(
    planned: Plan, journal: SqliteJournal, options: RunOptions, human: Human, emit: Emit,
    given: GivenTools | None = None,
) -> RunResult:  # fmt: skip
    """Go on with a stored run, planned again and its record held (`session`); the record is closed in the end.

    Raises:
        StrandsCliError: why it could not go on or complete; what it did is in its record.
    """
    from strands_cli.session.carry import carry_out

    return await carry_out(planned, options, human, emit, lambda: journal, given)


async def rerun(
    planned: Plan, options: RunOptions, taken_over: Sequence[Row], origin: Mapping[str, str], human: Human, emit: Emit,
    given: GivenTools | None = None,
) -> RunResult:  # fmt: skip
    """Start a new run with what another has done: `taken_over` rows, `origin` says of which run and from which key.

    Raises:
        StrandsCliError: why it could not start or complete, also where a row's input is no longer what it was.
    """
    from strands_cli.session.carry import carry_out
    from strands_cli.session.record import begin_record

    begin = partial(begin_record, planned, options, None, given, taken_over, origin)
    return await carry_out(planned, options, human, emit, begin, given)


def plan_tool(
    name: str, policy: Policy | None = None, *, locked: bool = False,
    catalog: Catalog | None = None, settings: Settings | None = None, hooks: Hooks | None = None,
) -> PlannedTool:  # fmt: skip
    """Return one tool, ready to be called by hand; typing its name is the approval of what would ask.

    Raises:
        StrandsCliError: no tool has the name, policy or the lock denies it, or this machine cannot run it.
    """
    from strands_cli.session.planned import plan_alone

    return plan_alone(name, policy, catalog, settings, locked=locked, hooks=hooks)


async def run_tool(
    planned: PlannedTool, arguments: Mapping[str, Any], policy: Policy | None = None, person: Human | None = None,
    tell: Callable[[str], None] | None = None, hooks: Hooks | None = None,
) -> Mapping[str, Any]:  # fmt: skip
    """Call one tool outside any run: no record, `person` is asked what the tool asks, `tell` hears of a slow import."""
    from strands_cli.session.carry import call_alone

    return await call_alone(planned, arguments, policy, person, tell, hooks)
