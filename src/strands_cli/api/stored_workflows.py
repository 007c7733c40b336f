"""Go on with stored runs from a program: in the directory they began in, with the tools it gives again."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strands_cli import app
from strands_cli.api.run_choices import StoredRunChoices, options_of_stored, tools_given
from strands_cli.api.run_following import Emit, reasons_in_traceback
from strands_cli.config import Settings, load_settings
from strands_cli.engine.decisions import rows_before
from strands_cli.engine.execute import RunResult
from strands_cli.engine.journal import SqliteJournal
from strands_cli.engine.ports import Human, Journal
from strands_cli.engine.run_facts import options_of
from strands_cli.engine.run_store import find_run
from strands_cli.errors import UsageError
from strands_cli.session.planned import plan_again, plan_anew
from strands_cli.session.record import open_record


async def go_on(
    run_id: str, human: Human, emit: Emit, budgets: Mapping[str, str], choices: StoredRunChoices
) -> RunResult:
    """Hold a stored run and carry it on.

    Raises:
        StrandsCliError: why it could not go on or did not complete.
    """
    with reasons_in_traceback():
        async with tools_given(choices, emit) as given:
            settings = settings_of(choices)
            with contextlib.closing(open_record(run_id, settings)) as journal:
                require_its_directory(journal)
                options = options_of_stored(options_of(journal), choices, given)
                planned = plan_again(
                    journal, options, budgets=budgets, catalog=choices.get("catalog"), settings=settings
                )
                return await app.resume(planned, journal, options, human, emit, given)


async def start_anew(
    run_id: str,
    from_key: str,
    inputs: Mapping[str, Any] | None,
    human: Human,
    emit: Emit,
    choices: StoredRunChoices,
) -> RunResult:
    """Start a new run with what another did before a key.

    Raises:
        StrandsCliError: why it could not start or did not complete.
    """
    with reasons_in_traceback():
        async with tools_given(choices, emit) as given:
            settings = settings_of(choices)
            with contextlib.closing(SqliteJournal.open(find_run(settings.runs_dir, run_id), hold=False)) as journal:
                require_its_directory(journal)
                taken_over = rows_before(journal, from_key)
                options = options_of_stored(options_of(journal), choices, given)
                options = dataclasses.replace(options, values={**options.values, **(inputs or {})})
                planned, _ = plan_anew(journal, options, catalog=choices.get("catalog"), settings=settings)
            origin = {"run": run_id, "from": from_key}
            return await app.rerun(planned, options, taken_over, origin, human, emit, given)


def settings_of(choices: StoredRunChoices) -> Settings:
    """Return this machine's settings, with the directory of runs that the program has chosen."""
    runs_dir = choices.get("runs_dir")
    return load_settings(runs_dir=Path(runs_dir) if runs_dir is not None else None)


def require_its_directory(journal: Journal) -> None:
    """Check that this process works where the run began: the command goes there, but a program's place is its own.

    Raises:
        UsageError: it works elsewhere, where the run's relative paths would mean other files.
    """
    began, here = Path(journal.get("directory") or Path.cwd()), Path.cwd()
    if began.resolve() != here.resolve():
        raise UsageError(
            f"the run {journal.get('id')} was started in {began}, and this program works in {here}",
            fix=f"call os.chdir({str(began)!r}) before",
        )
