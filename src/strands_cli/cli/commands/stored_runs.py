"""Hold a stored run, do with its record what a command is for, and carry the run on in the directory it began in."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.cli.commands.run_execution import execute, json_on_failure, print_outcome
from strands_cli.cli.terminal.output import print_json, say
from strands_cli.errors import ExitCode, RunRecordError, WaitingForPerson

if TYPE_CHECKING:
    from strands_cli.cli.commands.command_options import RunFlags
    from strands_cli.engine.journal import SqliteJournal

# Does to an open record what the command is for; says whether the run goes on.
Act = Callable[["SqliteJournal"], Coroutine[Any, Any, bool]]


def go_on(run: str, manner: RunFlags, act: Act, *, budgets: Mapping[str, str] | None = None) -> int:
    """Hold a stored run, do with its record what the command is for, and carry the run on.

    Args:
        run: The run's id.
        manner: How.
        act: What to do before; it says whether the run goes on.
        budgets: Limits to raise.
    """
    from strands_cli import app
    from strands_cli.config import load_settings
    from strands_cli.engine.run_facts import options_of
    from strands_cli.session.planned import plan_again
    from strands_cli.session.record import open_record

    manner = manner.placed()
    known: dict[str, Any] = {"run": run, "status": "failed"}
    with json_on_failure(known if manner.as_json else None):
        manner.require_one_result()
        settings = load_settings(runs_dir=manner.runs_dir)
        journal = open_record(run, settings)
        with contextlib.closing(journal), in_its_directory(journal, quiet=manner.quiet):
            if not act_on(journal, act, known, settings.runs_dir):
                if manner.as_json:
                    print_json(known)
                return ExitCode.OK
            options = manner.over(options_of(journal), settings.runs_dir)
            planned = plan_again(journal, options, budgets=budgets, settings=settings)
            outcome = execute(
                planned, options, known, manner,
                lambda human, emit: app.resume(planned, journal, options, human, emit),
            )  # fmt: skip
        print_outcome(planned, outcome, manner)
    return ExitCode.OK


def start_anew(run: str, from_key: str, var: Sequence[str], manner: RunFlags) -> int:
    """Start a new run with what another did before a key.

    Args:
        run: The other run's id.
        from_key: The key.
        var: Inputs to change, as `NAME=VALUE`.
        manner: How.
    """
    from strands_cli import app
    from strands_cli.cli.commands.input_options import read_given
    from strands_cli.config import load_settings
    from strands_cli.engine.decisions import rows_before
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.engine.run_facts import options_of
    from strands_cli.engine.run_store import find_run
    from strands_cli.session.planned import plan_anew

    manner = manner.placed()
    known: dict[str, Any] = {"run": None, "status": "failed"}
    with json_on_failure(known if manner.as_json else None):
        manner.require_one_result()
        settings = load_settings(runs_dir=manner.runs_dir)
        given = read_given(var)
        journal = SqliteJournal.open(find_run(settings.runs_dir, run), hold=False)
        with contextlib.closing(journal), in_its_directory(journal, quiet=manner.quiet):
            taken_over = rows_before(journal, from_key)
            options = dataclasses.replace(manner.over(options_of(journal), settings.runs_dir), given=given)
            planned, changed = plan_anew(journal, options)
            if changed and not manner.quiet:
                say(changed)
            origin = {"run": run, "from": from_key}
            outcome = execute(
                planned, options, known, manner,
                lambda human, emit: app.rerun(planned, options, taken_over, origin, human, emit),
            )  # fmt: skip
        print_outcome(planned, outcome, manner)
    return ExitCode.OK


def act_on(journal: SqliteJournal, act: Act, known: dict[str, Any], runs_dir: Path) -> bool:
    """Do what a command is for; `known` gets how the run stands then, and what it still waits for."""
    import asyncio  # `--help` needs none of it

    from strands_cli.cli.commands.next_commands import explain_ending

    try:
        return asyncio.run(act(journal))
    except WaitingForPerson as error:
        known["questions"] = explain_ending(error, runs_dir, journal.directory.name)
        raise
    finally:
        known["status"] = journal.get("status")


@contextlib.contextmanager
def in_its_directory(journal: SqliteJournal, *, quiet: bool) -> Iterator[None]:
    """Work where the run was started, so that every relative path means what it meant then.

    Raises:
        RunRecordError: that directory cannot be entered.
    """
    directory = Path(journal.get("directory") or Path.cwd())
    try:
        changed = contextlib.chdir(directory)
        elsewhere = directory.resolve() != Path.cwd().resolve()
        changed.__enter__()
    except OSError as error:
        reason = error.strerror or error
        raise RunRecordError(
            f"the directory the run was started in cannot be entered: {reason}: {directory}", fix="make it again"
        ) from error
    with contextlib.ExitStack() as stack:
        stack.push(changed.__exit__)
        if elsewhere and not quiet:
            say(f"in {directory}")
        yield
