"""The record of a session: of a new run, of a new one that takes over from another, or of a stored one."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.config import Settings, load_settings
from strands_cli.engine.clock import SystemClock
from strands_cli.engine.journal import SqliteJournal
from strands_cli.engine.run_facts import kept_files, new_run_id, run_facts
from strands_cli.engine.run_store import find_run
from strands_cli.errors import StrandsCliError, UsageError
from strands_cli.planning.secret_values import values_at_hand
from strands_cli.secrets import PERSONAL
from strands_cli.secrets.process_streams import hide
from strands_cli.workflow.document_reader import read_document
from strands_cli.workflow.file_source import FileSnapshot
from strands_cli.workflow.loader import load_spec

if TYPE_CHECKING:
    from strands_cli.engine.ports import Row
    from strands_cli.planning.plan import Plan
    from strands_cli.planning.run_options import RunOptions
    from strands_cli.tools.python_objects import GivenTools


def begin_record(
    planned: Plan,
    options: RunOptions,
    settings: Settings | None = None,
    given: GivenTools | None = None,
    taken_over: Sequence[Row] = (),
    origin: Mapping[str, str] | None = None,
) -> SqliteJournal:
    """Make the record of a new run and hold it.

    Args:
        planned: What will be run.
        options: How.
        settings: This machine's settings.
        given: The tools that the program gives; the record names them, since nobody else can give them again.
        taken_over: What another run has done, for this one to begin with.
        origin: Of which run that is, and the key from which on it is done anew.

    Raises:
        RunRecordError: it cannot be made.
    """
    clock = SystemClock()
    run_id = new_run_id(clock)
    facts = run_facts(planned, options, run_id, clock)
    if given is not None:
        facts["given"] = given_to(planned, given)
    if origin is not None:
        facts["rerun_of"] = dict(origin)
    journal = SqliteJournal.create((settings or load_settings(runs_dir=options.runs_dir)).runs_dir / run_id)
    journal.put(**facts)
    for row in taken_over:
        journal.note(row)
    return journal


def given_to(planned: Plan, given: GivenTools) -> dict[str, str]:
    """Return the program's tools that something in the plan may call, each with the file it came from."""
    from strands_cli.agents.assemble import tools_of_plan  # brings the SDK, which opening a record does not need
    from strands_cli.planning.planned_tool import ObjectTool

    names = [tool.record.name for tool in tools_of_plan(planned) if isinstance(tool, ObjectTool)]
    return {name: given.places[name] for name in names}


def secrets_at_hand(journal: SqliteJournal) -> frozenset[str]:
    """Return the values of a stored run's secrets that are in variables and files; no program is run for it.

    Among them is `PERSONAL` where its workflow, or one that is a tool of it, keeps personal data out.
    """
    kept = kept_files(journal)
    files = [(journal.get("file"), journal.get("text"), kept.folder or Path.cwd())]
    files += [(file, text, Path(file).parent) for file, text in kept.texts.items()]
    return frozenset().union(*(_at_hand(*one, kept) for one in files))


def _at_hand(file: str, text: Any, folder: Path, kept: FileSnapshot) -> frozenset[str]:
    """Return the values that one file of a run names; files that are no workflows name none."""
    if not isinstance(text, str) or ("secrets" not in text and "pii_redaction" not in text):
        return frozenset()
    try:
        spec = load_spec(read_document(file, text), dataclasses.replace(kept, folder=folder)).spec
    except StrandsCliError:
        return frozenset()
    if spec is None:
        return frozenset()
    kinds = {PERSONAL} if spec.security.guardrails.pii_redaction else set()
    return frozenset(values_at_hand(spec, folder, os.environ)) | kinds


def open_record(run_id: str, settings: Settings) -> SqliteJournal:
    """Open a stored run's record and hold it.

    Raises:
        RunRecordError: there is none, it cannot be used, or another process has it.
        UsageError: the run was cancelled.
    """
    journal = SqliteJournal.open(find_run(settings.runs_dir, run_id))
    try:
        if journal.get("status") == "cancelled":
            raise UsageError(f"the run {run_id} was cancelled", fix=f"strands rerun {run_id} --from KEY")
        # What a person answers is written before the run goes on.
        journal.secrets = secrets_at_hand(journal)
        hide(journal.secrets)
    except BaseException:
        journal.close()
        raise
    return journal
