"""The whole program on one screen: document -> spec -> plan -> events -> files.

How a run is planned, recorded, carried out and closed is in `session/`, which is imported inside functions: it brings
the engine and the SDK, and a cold path needs neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.agents.given import GivenTools
    from strands_cli.catalog import Catalog
    from strands_cli.config import Settings
    from strands_cli.engine.execute import RunResult
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.engine.ports import Human, Row
    from strands_cli.errors import Finding
    from strands_cli.events import Event
    from strands_cli.planning.options import RunOptions
    from strands_cli.planning.plan import Plan, PlannedTool
    from strands_cli.spec.kept import Kept
    from strands_cli.spec.loader import Loaded

    Emit = Callable[[Event], None]


def load(source: str | Path, text: str | None = None, kept: Kept | None = None) -> Loaded:
    """Read a workflow (a file, `-` for standard input, or the given text) into a spec, or every finding about it."""
    from strands_cli.spec.document import read_document
    from strands_cli.spec.kept import NOTHING_KEPT
    from strands_cli.spec.loader import load_spec

    return load_spec(read_document(source, text), kept or NOTHING_KEPT)


def check(source: str | Path, text: str | None = None, kept: Kept | None = None) -> tuple[Finding, ...]:
    """Return everything that is wrong with a workflow by itself, whatever is installed here."""
    return load(source, text, kept).findings


def plan(
    source: str | Path, options: RunOptions | None = None, *, text: str | None = None, kept: Kept | None = None,
    catalog: Catalog | None = None, settings: Settings | None = None,
) -> Plan:  # fmt: skip
    """Return what `run` would do; `plan.findings` says what stands in its way.

    `kept` are the files that the workflow names, where a run has kept them.

    Raises:
        InvalidInput: the file is not a valid workflow, so that there is nothing to plan.
    """
    from strands_cli.planning.options import RunOptions
    from strands_cli.session.planned import plan_loaded

    return plan_loaded(load(source, text, kept), options or RunOptions(), catalog, settings, kept)


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


def plan_tool(name: str, *, catalog: Catalog | None = None, settings: Settings | None = None) -> PlannedTool:
    """Return one tool, ready to be called by hand; typing its name is the approval of what would ask.

    Raises:
        StrandsCliError: no tool has the name, or this machine cannot run it.
    """
    from strands_cli.catalog import discover_catalog
    from strands_cli.config import load_settings
    from strands_cli.planning.tools import plan_single_tool

    return plan_single_tool(name, catalog if catalog is not None else discover_catalog(), settings or load_settings())


async def run_tool(planned: PlannedTool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Call one tool through the gate, outside any run: no record, no questions."""
    from strands_cli.session.carry import call_alone

    return await call_alone(planned, arguments)
