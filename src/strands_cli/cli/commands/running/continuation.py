"""Continue a stored run, or start a new one that reuses its steps, in the directory where it was started."""

from __future__ import annotations

import contextlib
import functools
import shlex
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from strands_cli.cli.commands.next_commands import EndNotice
from strands_cli.cli.commands.running.run_command import (
    json_on_failure,
    print_outcome,
    run_on_terminal,
)
from strands_cli.cli.commands.running.trust_command import require_trust
from strands_cli.cli.commands.running.waiting_elsewhere import Change, answered_elsewhere
from strands_cli.cli.foreign_output import reserved_streams, run_to_end
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import json_text, print_json
from strands_cli.cli.terminal.run_progress import open_view
from strands_cli.cli.terminal.terminal_human import is_interactive
from strands_cli.cli.terminal_text import fitted, one_line
from strands_cli.errors import (
    ExitCode,
    HungUp,
    Interrupted,
    ReaderStopped,
    RunRecordError,
    StrandsCliError,
    Terminated,
    UsageError,
    WaitingForPerson,
)
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.app.planned_rows import PlannedRows
    from strands_cli.cli.commands.command_options import Chosen, RunFlags
    from strands_cli.cli.commands.running.waiting_elsewhere import Change
    from strands_cli.cli.terminal.live_view import View
    from strands_cli.engine.corrected_workflow import Correction
    from strands_cli.engine.store_port import StoredJournal
    from strands_cli.store_place import StorePlace


# The terminal of a command that works on many runs at once: its lines, its progress in place, and its results.


Result = TypeVar("Result")
_SIGNALS = (Interrupted, Terminated, HungUp)


class ManyRunsView:
    """The terminal while this process works on many runs; tools that they call reach neither stdin nor stdout.

    Attributes:
        stdout: The stream for results.
        is_drawn: Whether the progress is drawn below the lines.
    """

    def __init__(self, view: View, stdout: TextIO, notice: EndNotice) -> None:
        self._view, self._notice = view, notice
        self.stdout, self.is_drawn = stdout, view.is_drawn

    @classmethod
    @contextlib.contextmanager
    def opened(
        cls, rows: PlannedRows, progress: Callable[[], str], *, quiet: bool, verbose: bool, draws: bool
    ) -> Iterator[ManyRunsView]:
        """Open the terminal.

        Args:
            rows: The workflow of the runs.
            progress: Returns how far they are, in words; empty where nothing is known yet.
            quiet: Show no lines.
            verbose: Show the output of tools; of many runs it is too much else.
            draws: Whether the progress may be drawn in place.
        """
        is_watched = is_interactive() and not rows.request.detach
        notice = EndNotice(watched=is_watched)
        with open_view(quiet=quiet, verbose=not draws, progress=_Progress(progress)) as view:
            of_tools = view.tool_line if verbose else _drop
            with reserved_streams(of_tools, view.error_line, verbose=verbose) as streams:
                if rows.plan.hooks is not None:
                    rows.plan.hooks.tell, rows.plan.hooks.watched = view.line, is_watched
                yield cls(view, streams.stdout, notice)

    def line(self, text: str) -> None:
        """Show one line on stderr."""
        self._view.line(one_line(text))

    def run_to_end(self, work: Callable[[], Coroutine[Any, Any, Result]], stopped: str) -> Result:
        """Run a coroutine until it ends or a signal stops it.

        Args:
            work: Returns the coroutine.
            stopped: The line for a person who has stopped it.

        Raises:
            StrandsCliError: It was stopped, or has failed.
        """
        try:
            return run_to_end(work, self._view.before_notice)
        except StrandsCliError as error:
            error.brief = stopped if isinstance(error, _SIGNALS) else error.brief
            raise
        finally:
            self._view.settle()

    def notify_later(self, place: StorePlace, run_id: str) -> None:
        """Notify those who do not watch when the results and the errors of this command are printed."""
        self._notice.send_later(place, run_id)

    @staticmethod
    def json_line(document: Any) -> str:
        """Return an object as one line of JSON for stdout, with hidden characters escaped."""
        return json_text(document)

    @staticmethod
    def reader_stopped(run_id: str, message: str, fix: str) -> StrandsCliError:
        """Return the error of results that nothing reads any more while runs are left."""
        error = ReaderStopped(message, fix=fix)
        error.run_id = run_id
        return error

    @staticmethod
    def warn_of_questions(rows: PlannedRows) -> None:
        """Warn of calls that would ask when no person can be asked: they wait, or are denied."""
        from strands_cli.cli.commands.running.run_command import warn_of_questions

        warn_of_questions(rows.plan, rows.request)

    @staticmethod
    def in_directory_of(journal: StoredJournal, *, quiet: bool) -> AbstractContextManager[None]:
        """Work where a stored run was started, so that relative paths keep their meaning.

        Raises:
            RunRecordError: That directory cannot be entered.
        """
        return in_directory_of(journal, quiet=quiet)


def _drop(_text: str) -> None:
    """Discard a line."""


class _Progress:
    """The progress as the one line of the drawn block."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text

    def lines(self, columns: int, rows: int) -> list[str]:
        """Return the lines for a terminal of this size."""
        text = self._text() if rows >= 2 else ""
        return [fitted(printable(one_line(text)), max(1, columns - 1))[0]] if text else []


# The steps of `resume --spec` before the run continues: check the corrected workflow, report, ask and store it.


def correct_run(journal: StoredJournal, file: str, changes: Mapping[str, Any], *, quiet: bool) -> None:
    """Give a stored run its corrected workflow; nothing is stored unless the run can continue with it.

    Raises:
        StrandsCliError: The run cannot continue with it.
    """
    import asyncio

    from strands_cli import app
    from strands_cli.engine.corrected_workflow import read_correction
    from strands_cli.engine.standalone import require_rehearsed

    correction = app.plan_correction(journal, read_correction(journal, file), changes)
    if not quiet:
        for line in correction.lines():
            say(one_line(line))
    asyncio.run(require_rehearsed(journal, correction))
    _require_trust(correction, may_ask=not changes.get("detach"))
    correction.store(journal)


def _require_trust(correction: Correction, *, may_ask: bool) -> None:
    """Ask about the programs and places of the corrected workflow, unless the run began with the same."""
    from strands_cli.planning.data_flow.workflow_trust import Trust

    before, after = Trust.of(correction.before), Trust.of(correction.after)
    if (before.authority.digest, before.authority.places) != (after.authority.digest, after.authority.places):
        require_trust(correction.after, may_ask=may_ask)


def name_of(file: str, typed_in: Path) -> str:
    """Return the name of a file that a person has typed in another directory than the one of the run."""
    if file == "-" or typed_in.resolve() == Path.cwd().resolve():
        return file
    return str(typed_in / file)


# Continue a run that belongs to others, such as workers: decisions are stored, and its owner continues it.


def wait_for_owner(
    name: str,
    journal: StoredJournal,
    changes: Mapping[str, Any],
    change: Change,
    act: Callable[[], None],
    document: dict[str, Any],
    flags: RunFlags,
) -> int:
    """Do a command's own work on the journal of a run, and let the run wait for its owner.

    Args:
        name: That of the owner.
        journal: The journal, held; it is closed when the run waits.
        act: The command's own work.
        document: Gets the status of the run, for `--json`.

    Raises:
        UsageError: The run is given something of this machine.
        NotEquipped: The owner is not installed.
        StrandsCliError: The owner cannot be reached, or the run cannot be given this.
    """
    from strands_cli.app.handover import raise_limits
    from strands_cli.engine.run_facts import stored_request
    from strands_cli.engine.stored_runs.run_owners import run_owner
    from strands_cli.engine.waiting.run_hooks import store_permissions

    _require_for_others(name, changes, change)
    owner = run_owner(name)
    if change.budgets:
        raise_limits(journal, change.budgets)
    store_permissions(journal, stored_request(journal, changes))
    line = owner.wait_again(journal, act)
    document["status"] = "queued"
    if flags.as_json:
        print_json(document)
    elif not flags.quiet:
        say(f"{line}; --here continues it here")
    return ExitCode.OK


def _require_for_others(name: str, changes: Mapping[str, Any], change: Change) -> None:
    options = [
        f"--{word.replace('_', '-')}" for word in ("out_dir", "policy", "record") if changes.get(word) is not None
    ]
    if change.spec is not None:
        options.append("--spec")
    if options:
        raise UsageError(
            f"the run belongs to {name!r}, which continues it, and {', '.join(options)} would be of this machine",
            fix=f"omit {options[0]}, or continue it here: --here",
        )


# How long another command may hold a run that waits: to store an answer, it plans the run first.
PATIENCE_S = 10.0
# The command's own work on the open journal.
Act = Callable[["StoredJournal"], Coroutine[Any, Any, None]]


def continue_run(
    run: str,
    chosen: Chosen,
    flags: RunFlags,
    act: Act,
    *,
    change: Change | None = None,
    ends: bool = False,
) -> int:
    """Lock a stored run, do the command's own work on its journal, and continue the run.

    That the run can continue is checked before anything is stored.

    Args:
        chosen: Options that replace the stored ones.
        act: The command's own work, done before the run continues.
        change: The changes of the run before it continues.
        ends: Whether the run does not continue.
    """
    from strands_cli import app
    from strands_cli.engine.stored_runs.run_owners import owner_name

    changes, flags = chosen.changes(), flags.placed()
    store_place = place_of(changes)
    change, typed_in = change or Change(), Path.cwd()
    document: dict[str, Any] = {"run": run, "status": "failed"}
    with json_on_failure(document if flags.as_json else None):
        flags.require_one_result()
        if change.answers is not None:
            require_unanswered(run, change.answers, store_place)
        if change.decide and not chosen.permits and answered_elsewhere(run, store_place, change, document, flags):
            return ExitCode.OK
        with contextlib.ExitStack() as stack:
            journal = stack.enter_context(contextlib.closing(_held(run, store_place)))
            document["run"] = journal.run_id
            if (owner := owner_name(journal)) is not None and not (ends or change.here):
                act_now = functools.partial(act_on, journal, act, document)
                return wait_for_owner(owner, journal, changes, change, act_now, document, flags)
            if ends:  # storing alone needs nothing of the machine where the run was started
                act_on(journal, act, document)
                return _left_there(journal, changes, document, flags)
            stack.enter_context(in_directory_of(journal, quiet=flags.quiet))
            if change.spec is not None:
                correct_run(journal, name_of(change.spec, typed_in), changes, quiet=flags.quiet)
            planned, request = app.plan_resume(journal, changes, budgets=change.budgets)
            outcome = run_on_terminal(
                planned,
                request,
                document,
                flags,
                lambda human, emit, _: app.resume(planned, journal, request, human, emit),
                first=lambda: act_on(journal, act, document),
            )
        print_outcome(planned, outcome, flags)
    return ExitCode.OK


def _left_there(
    journal: StoredJournal, changes: Mapping[str, Any], document: Mapping[str, Any], flags: RunFlags
) -> ExitCode:
    """Store the permissions of a run that does not continue now, and say how it does."""
    from strands_cli.engine.run_facts import stored_request
    from strands_cli.engine.waiting.run_hooks import store_permissions

    store_permissions(journal, stored_request(journal, changes))
    if not flags.quiet:
        _say_next(journal)
    if flags.as_json:
        print_json(document)
    return ExitCode.OK


def _held(run: str, place: StorePlace) -> StoredJournal:
    """Open a stored run and hold it; who stores an answer meanwhile, as several people do at once, is waited for.

    Raises:
        RunRecordError: There is no such run, or another process works on it.
    """
    from strands_cli import app

    began = held_at = time.monotonic()
    while True:
        try:
            return app.open_run(run, place)
        except RunRecordError:
            with contextlib.closing(app.open_run(run, place, hold=False)) as journal:
                waits, is_held = journal.get("status") == "waiting", journal.is_held()
            now = time.monotonic()
            held_at = now if is_held else held_at
            # Between two commands that answer it is free for a moment; a free one that cannot be held is damaged.
            if not waits or now - began > PATIENCE_S or now - held_at > 1:
                raise
        time.sleep(0.1)


def _say_next(journal: StoredJournal) -> None:
    """Say how a run goes on whose answer is only stored."""
    from strands_cli.run_views.open_questions import answer_commands, command

    if journal.get("status") != "waiting":
        return
    ways = answer_commands(journal)
    say(
        "\n        ".join(["next:", *ways])
        if ways
        else f"next: {command('resume', journal.run_id, store=journal.place)}"
    )


def place_of(changes: Mapping[str, Any]) -> StorePlace:
    """Return where the runs are that a command is about."""
    from strands_cli.planning.run_request import chosen_place

    return chosen_place(changes["runs_dir"], changes["store"])


def require_unanswered(run: str, key: str, place: StorePlace) -> None:
    """Say who has answered a question before the run is locked: who continues with that answer may hold it.

    Raises:
        UsageError: The question does not wait.
        RunRecordError: There is no such run.
    """
    from strands_cli import app
    from strands_cli.engine.waiting.questions import chosen_question
    from strands_cli.run_views.open_questions import with_run

    with contextlib.closing(app.open_run(run, place, hold=False)) as journal:
        try:
            chosen_question(journal, key)
        except UsageError as error:
            error.fix = with_run(error.fix, journal.run_id, journal.place)
            raise


def rerun_from(run: str, from_key: str, var: Sequence[str], chosen: Chosen, flags: RunFlags) -> int:
    """Start a new run that reuses the effects of another run before a key.

    Args:
        var: Inputs to change, as `NAME=VALUE`.
        chosen: Options that replace the stored ones.
    """
    from strands_cli import app
    from strands_cli.cli.commands.input_options import read_variables

    changes, flags = chosen.changes(), flags.placed()
    document: dict[str, Any] = {"run": None, "status": "failed"}
    with json_on_failure(document if flags.as_json else None):
        flags.require_one_result()
        changes["variables"] = read_variables(var)
        with (
            contextlib.closing(app.open_run(run, place_of(changes), hold=False)) as journal,
            in_directory_of(journal, quiet=flags.quiet),
        ):
            new = app.plan_rerun(journal, from_key, changes)
            if new.changed and not flags.quiet:
                say(new.changed)
            outcome = run_on_terminal(
                new.planned,
                new.request,
                document,
                flags,
                lambda human, emit, run_id: app.rerun(new, human, emit, run_id=run_id),
            )
        print_outcome(new.planned, outcome, flags)
    return ExitCode.OK


def act_on(journal: StoredJournal, act: Act, document: dict[str, Any]) -> None:
    """Do a command's own work; afterwards `document` has the run's status, and the questions that still wait."""
    import asyncio  # `--help` needs none of it

    from strands_cli.cli.commands.next_commands import explain_ending
    from strands_cli.run_views.open_questions import with_run

    try:
        asyncio.run(act(journal))
    except StrandsCliError as error:
        error.fix = with_run(error.fix, journal.run_id, journal.place)
        if isinstance(error, WaitingForPerson):
            document["questions"] = explain_ending(error, journal.place, journal.run_id)
        raise
    finally:
        document["status"] = journal.get("status")


def _without_directory(journal: StoredJournal, directory: Path, reason: str) -> RunRecordError:
    """Return the error for a run whose directory cannot be entered, with the remaining ways."""
    from strands_cli.engine.stored_runs.last_place import worked_on
    from strands_cli.engine.stored_runs.run_owners import owner_name
    from strands_cli.run_views.open_questions import answer_commands, command

    where, resume = worked_on(journal), command("resume", journal.run_id, store=journal.place)
    here = f"mkdir -p {shlex.quote(str(directory))}, with the files that it reads"
    if (owner := owner_name(journal)) is not None:
        message = f"the directory from which the run was submitted cannot be entered: {reason}: {directory}"
        return RunRecordError(message, fix=f"omit --here, so that {owner} continues it; or {here}")
    if where is None or where.is_here or where.worker:
        message = f"the directory where the run was started cannot be entered: {reason}: {directory}"
        return RunRecordError(message, fix=here)
    answers = [f"{way} --no-resume" for way in answer_commands(journal) if way.startswith("strands approve ")]
    first = f"store the answer here: {answers[0]}\n       and then on" if answers else "on"
    message = f"the run was started in {directory} on {where.machine}, and here that cannot be entered: {reason}"
    return RunRecordError(message, fix=f"{first} {where.machine}: {resume}\n       or continue it here: {here}")


@contextlib.contextmanager
def in_directory_of(journal: StoredJournal, *, quiet: bool) -> Iterator[None]:
    """Change to the directory where the run was started, so that relative paths keep their meaning.

    Raises:
        RunRecordError: That directory cannot be entered.
    """
    directory = Path(journal.get("directory") or Path.cwd())
    try:
        changed = contextlib.chdir(directory)
        elsewhere = directory.resolve() != Path.cwd().resolve()
        changed.__enter__()
    except OSError as error:
        raise _without_directory(journal, directory, str(error.strerror or error)) from error
    with contextlib.ExitStack() as stack:
        stack.push(changed.__exit__)
        if elsewhere and not quiet:
            say(f"in {directory}")
        yield
