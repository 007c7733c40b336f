"""Commands that go on with a stored run: resume, approve, reject, rerun."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.carry import execute, json_on_failure, print_outcome
from strands_cli.cli.output import print_json, say
from strands_cli.errors import ExitCode, RunFailed, RunRecordError, UsageError, WaitingForPerson

if TYPE_CHECKING:
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.planning.options import RunOptions

RUN = Annotated[str, typer.Argument(metavar="RUN", help="The run's id, as `strands runs list` shows it.")]
KEY = Annotated[str | None, typer.Argument(metavar="KEY", help="The question; not needed where only one waits.")]
VAR = Annotated[list[str], typer.Option("--var", metavar="NAME=VALUE", help="Change an input; may be repeated.")]
OUT = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where artifacts go, if not where they went.")]
FORCE = Annotated[bool, typer.Option("--force", help="Overwrite artifacts and recordings that exist.")]
DETACH = Annotated[bool, typer.Option("--detach", help="Never prompt: questions wait, exit code 19.")]
RECORD = Annotated[
    Path | None, typer.Option("--record", metavar="FILE", help="Write the model's turns to a recording.")
]
EVENTS = Annotated[
    str | None, typer.Option("--events", metavar="FILE", help="Write events as JSON Lines; `-`: stdout.")
]
RUNS_DIR = Annotated[Path | None, typer.Option("--runs-dir", metavar="DIR", help="Where records of runs are kept.")]
JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
VERBOSE = Annotated[bool, typer.Option("--verbose", "-v", help="Show what models say and what the SDK logs.")]
QUIET = Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")]
NO_RESUME = Annotated[bool, typer.Option("--no-resume", help="Record the answer and leave the run as it is.")]


def register(program: typer.Typer) -> None:
    """Add these commands to the program."""
    for verb in (resume, approve, reject, rerun):
        program.command()(verb)


@dataclass(frozen=True, slots=True)
class Manner:
    """How a run goes on: what the options say that all these commands have."""

    out: Path | None = None
    force: bool = False
    detach: bool = False
    record: Path | None = None
    events: str | None = None
    runs_dir: Path | None = None
    as_json: bool = False
    verbose: bool = False
    quiet: bool = False

    def over(self, kept: RunOptions, runs_dir: Path) -> RunOptions:
        """Return the options a run was started with, with what has been chosen anew over them."""
        from strands_cli.cli.human import is_interactive

        # What was detached stays so, rather than being denied; but a person at a terminal can be asked.
        detach = self.detach or (kept.detach and not is_interactive())
        return dataclasses.replace(
            kept, detach=detach, record=self.record, runs_dir=runs_dir,
            force=self.force or kept.force, out_dir=self.out or kept.out_dir,
        )  # fmt: skip

    def placed(self) -> Manner:
        """Return it with paths that stay what they are when the working directory changes."""
        events = str(Path(self.events).absolute()) if self.events not in (None, "-") else self.events
        places = {name: getattr(self, name) for name in ("out", "record", "runs_dir")}
        return dataclasses.replace(
            self, events=events, **{name: place and place.absolute() for name, place in places.items()}
        )


# Does to an open record what the command is for; says whether the run goes on.
Act = Callable[["SqliteJournal"], Coroutine[Any, Any, bool]]


def resume(
    run: RUN,
    redo: Annotated[list[str], typer.Option(metavar="KEY", help="Do a call again that was cut off.")] = [],  # noqa: B006
    skip: Annotated[list[str], typer.Option(metavar="KEY", help="Do not; take --result for it.")] = [],  # noqa: B006
    result: Annotated[list[str], typer.Option(metavar="JSON", help="The result for --skip, in order.")] = [],  # noqa: B006
    fail: Annotated[list[str], typer.Option(metavar="KEY", help="Let the run fail with this call.")] = [],  # noqa: B006
    budget: Annotated[list[str], typer.Option(metavar="NAME=LIMIT", help="Raise a limit of the run.")] = [],  # noqa: B006
    force_stale: Annotated[
        bool, typer.Option("--force-stale", help="Accepted and not needed: no lock outlives its process.")
    ] = False,
    out: OUT = None,
    force: FORCE = False,
    detach: DETACH = False,
    record: RECORD = None,
    events: EVENTS = None,
    runs_dir: RUNS_DIR = None,
    as_json: JSON = False,
    verbose: VERBOSE = False,
    quiet: QUIET = False,
) -> int:
    """Go on with a run that was interrupted, failed or waits; what it has done is not done again.

    Example: strands resume 20261121-033012-a1b2c3 --budget max_tokens=50000
    """
    if force_stale and not quiet:
        say("--force-stale is not needed: the lock of a run goes with the process that holds it")

    async def decide(journal: SqliteJournal) -> bool:
        from strands_cli.engine import decisions
        from strands_cli.engine.clock import SystemClock

        again = [decisions.cut_off_call(journal, key) for key in redo]
        skipped = [decisions.cut_off_call(journal, key) for key in skip]
        failed = [decisions.cut_off_call(journal, key) for key in fail]
        for call in again:
            await decisions.redo(journal, call)
        for call, value in zip(skipped, results_of(skip, result), strict=True):
            await decisions.skip(journal, SystemClock(), call, value)
        if failed:
            raise RunFailed(decisions.give_up(journal, SystemClock(), failed))
        return True

    manner = Manner(out, force, detach, record, events, runs_dir, as_json, verbose, quiet)
    return go_on(run, manner, decide, budgets=read_limits(budget))


def approve(
    run: RUN,
    key: KEY = None,
    answer: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What to answer, where a yes is not enough.")
    ] = None,
    no_resume: NO_RESUME = False,
    out: OUT = None,
    force: FORCE = False,
    detach: DETACH = False,
    events: EVENTS = None,
    runs_dir: RUNS_DIR = None,
    as_json: JSON = False,
    verbose: VERBOSE = False,
    quiet: QUIET = False,
) -> int:
    """Answer a question of a waiting run, and go on with it unless others wait.

    Example: strands approve 20261121-033012-a1b2c3 steps.1 --answer "ship it"
    """
    manner = Manner(out, force, detach, None, events, runs_dir, as_json, verbose, quiet)
    return go_on(run, manner, answering(run, key, answer, manner, no_resume=no_resume))


def reject(
    run: RUN,
    key: KEY = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; the run's record and the model get it.")] = "",
    no_resume: NO_RESUME = False,
    out: OUT = None,
    force: FORCE = False,
    detach: DETACH = False,
    events: EVENTS = None,
    runs_dir: RUNS_DIR = None,
    as_json: JSON = False,
    verbose: VERBOSE = False,
    quiet: QUIET = False,
) -> int:
    """Refuse what a waiting run asks: a gate fails its step, and a tool call is not made and its model told so.

    Example: strands reject 20261121-033012-a1b2c3 steps.1 --reason stale
    """

    async def refuse(journal: SqliteJournal) -> bool:
        from strands_cli.engine.clock import SystemClock
        from strands_cli.engine.decisions import chosen_question, give_answer

        question = chosen_question(journal, key)
        text = "no" if question.detail.get("kind") == "approval" else ""
        await give_answer(journal, SystemClock(), question, text, reason)
        if not quiet:
            say(f"{question.key}: rejected")
        return not no_resume

    manner = Manner(out, force, detach, None, events, runs_dir, as_json, verbose, quiet)
    return go_on(run, manner, refuse)


def rerun(
    run: RUN,
    from_key: Annotated[str, typer.Option("--from", metavar="KEY", help="Where to begin; what is before is reused.")],
    var: VAR = [],  # noqa: B006
    out: OUT = None,
    force: FORCE = False,
    detach: DETACH = False,
    record: RECORD = None,
    events: EVENTS = None,
    runs_dir: RUNS_DIR = None,
    as_json: JSON = False,
    verbose: VERBOSE = False,
    quiet: QUIET = False,
) -> int:
    """Start a new run from one key of another, with the workflow as its file is now and the same inputs.

    Example: strands rerun 20261121-033012-a1b2c3 --from steps.2 --var tone=formal
    """
    from strands_cli import app
    from strands_cli.cli.inputs import read_given
    from strands_cli.config import load_settings
    from strands_cli.engine.decisions import rows_before
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.engine.record import current_source, options_of
    from strands_cli.engine.store import find_run

    manner = Manner(out, force, detach, record, events, runs_dir, as_json, verbose, quiet).placed()
    known: dict[str, Any] = {"run": None, "status": "failed"}
    with json_on_failure(known if as_json else None):
        settings = load_settings(runs_dir=manner.runs_dir)
        given = read_given(var)
        journal = SqliteJournal.open(find_run(settings.runs_dir, run), hold=False)
        with contextlib.closing(journal), in_its_directory(journal, quiet=quiet):
            taken_over = rows_before(journal, from_key)
            options = dataclasses.replace(manner.over(options_of(journal), settings.runs_dir), given=given)
            source, text, kept, changed = current_source(journal)
            if changed and not quiet:
                say(f"{source}: {changed}")
            planned = app.plan(source, options, text=text, kept=kept)
            origin = {"run": run, "from": from_key}
            outcome = execute(
                planned, options, known, events=manner.events, verbose=verbose, quiet=quiet,
                go=lambda human, emit: app.rerun(planned, options, taken_over, origin, human, emit),
            )  # fmt: skip
        print_outcome(planned, outcome, as_json=as_json, quiet=quiet, events=events)
    return ExitCode.OK


def answering(run: str, key: str | None, answer: str | None, manner: Manner, *, no_resume: bool = False) -> Act:
    """Return what `approve` does: record an answer; the run goes on unless other questions wait."""

    async def act(journal: SqliteJournal) -> bool:
        from strands_cli.engine.clock import SystemClock
        from strands_cli.engine.decisions import approving_text, chosen_question, give_answer, open_questions

        question = chosen_question(journal, key)
        text = approving_text(question, answer)
        await give_answer(journal, SystemClock(), question, text)
        if not manner.quiet:
            say(f"{question.key}: {text}")
        waiting = open_questions(journal)
        if waiting and not no_resume:
            listed = ", ".join(row.key for row in waiting)
            raise WaitingForPerson(f"the run {run} waits for {len(waiting)} more: {listed}")
        return not no_resume

    return act


def go_on(run: str, manner: Manner, act: Act, *, budgets: Mapping[str, str] | None = None) -> int:
    """Hold a stored run, do with its record what the command is for, and carry the run on.

    Args:
        run: The run's id.
        manner: How.
        act: What to do before; it says whether the run goes on.
        budgets: Limits to raise.
    """
    from strands_cli import app
    from strands_cli.config import load_settings
    from strands_cli.engine.record import options_of

    manner = manner.placed()
    known: dict[str, Any] = {"run": run, "status": "failed"}
    with json_on_failure(known if manner.as_json else None):
        if manner.as_json and manner.events == "-":
            raise UsageError("--json and --events - both want stdout", fix="write the events to a file")
        settings = load_settings(runs_dir=manner.runs_dir)
        journal = app.open_run(run, settings)
        with contextlib.closing(journal), in_its_directory(journal, quiet=manner.quiet):
            if not act_on(journal, act, known, settings.runs_dir):
                if manner.as_json:
                    print_json(known)
                return ExitCode.OK
            options = manner.over(options_of(journal), settings.runs_dir)
            planned = app.plan_again(journal, options, budgets=budgets, settings=settings)
            outcome = execute(
                planned, options, known, events=manner.events, verbose=manner.verbose, quiet=manner.quiet,
                go=lambda human, emit: app.resume(planned, journal, options, human, emit),
            )  # fmt: skip
        print_outcome(planned, outcome, as_json=manner.as_json, quiet=manner.quiet, events=manner.events)
    return ExitCode.OK


def resume_as_before(spec: str | None, run: str, response: str | None, manner: Manner) -> int:
    """Do what `run --resume RUN --hitl-response TEXT` of the older CLI did.

    Raises:
        UsageError: a workflow is named too.
    """
    if spec is not None:
        raise UsageError(
            f"--resume goes on with a stored run, which has its workflow: {spec}", fix="leave the file out"
        )

    async def as_it_is(journal: SqliteJournal) -> bool:
        return True

    return go_on(run, manner, as_it_is if response is None else answering(run, None, response, manner))


def act_on(journal: SqliteJournal, act: Act, known: dict[str, Any], runs_dir: Path) -> bool:
    """Do what a command is for; `known` gets how the run stands then, and what it still waits for."""
    import asyncio  # `--help` needs none of it

    from strands_cli.cli.onward import explain_ending

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


def results_of(skip: Sequence[str], results: Sequence[str]) -> list[Any]:
    """Read the results that stand for skipped calls, one for each.

    Raises:
        UsageError: there are more or fewer, or one is not JSON.
    """
    if len(skip) != len(results):
        raise UsageError(f"{len(skip)} --skip and {len(results)} --result", fix="give each --skip its --result JSON")
    values = []
    for text in results:
        try:
            values.append(json.loads(text))
        except ValueError as error:
            fix = "quote a text twice: --result '\"done\"'"
            raise UsageError(f"--result {text!r} is not JSON: {error}", fix=fix) from error
    return values


def read_limits(words: Sequence[str]) -> dict[str, str]:
    """Read `NAME=LIMIT` words.

    Raises:
        UsageError: a word has no `=`.
    """
    bad = [word for word in words if "=" not in word]
    if bad:
        raise UsageError(f"--budget {bad[0]!r} is not NAME=LIMIT", fix="write --budget max_tokens=50000")
    return {name: value for name, _, value in (word.partition("=") for word in words)}
