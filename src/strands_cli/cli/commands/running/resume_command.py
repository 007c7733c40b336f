"""Commands for a stored run: resume, approve, reject, rerun."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import RUN, Chosen, RunFlags, with_run_options
from strands_cli.cli.commands.given_text import FROM_STDIN, given_text
from strands_cli.cli.commands.input_options import read_limits
from strands_cli.cli.commands.running.continuation import Act, continue_run, place_of, rerun_from
from strands_cli.cli.commands.running.run_command import json_on_failure
from strands_cli.cli.commands.running.waiting_elsewhere import Change, Decide, say_answer
from strands_cli.cli.output.messages import say
from strands_cli.config import account_name
from strands_cli.errors import Denied, RunFailed, UsageError, WaitingForPerson

if TYPE_CHECKING:
    from strands_cli.cli.commands.running.edited_answer import Edit
    from strands_cli.engine.journal.journal_rows import Answer, Row
    from strands_cli.engine.store_port import StoredJournal

KEY = Annotated[
    str | None,
    typer.Argument(
        metavar="KEY", help="The question; not needed if only one waits.", autocompletion=completions.questions
    ),
]
VAR = Annotated[list[str], typer.Option("--var", metavar="NAME=VALUE", help="Change an input; may be repeated.")]
HERE = typer.Option("--here", help="Continue a run of others, such as workers, in this terminal.")


def _of_cut_off(flag: str, text: str) -> Any:
    return typer.Option(flag, metavar="KEY", help=text, autocompletion=completions.decisions)


@dataclass(frozen=True, slots=True)
class CutOffCalls:
    """The decisions on interrupted calls, by their key."""

    redo: Annotated[list[str], _of_cut_off("--redo", "Make a call that was cut off, or whose object is lost.")] = field(
        default_factory=list
    )
    skip: Annotated[list[str], _of_cut_off("--skip", "Do not repeat it; use --result.")] = field(default_factory=list)
    result: Annotated[
        list[str], typer.Option("--result", metavar="JSON", help="The result for --skip, in order; `-`: stdin.")
    ] = field(default_factory=list)
    fail: Annotated[list[str], _of_cut_off("--fail", "Let the run fail with this call.")] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ContinuationOptions:
    """The changes of a run before it continues, and the place where it does."""

    budget: Annotated[list[str], typer.Option(metavar="NAME=LIMIT", help="Raise a limit of the run.")] = field(
        default_factory=list
    )
    spec: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Go on with this corrected workflow; steps that are done must stay.",
            autocompletion=completions.workflow_files,
        ),
    ] = None
    here: Annotated[bool, HERE] = False


@dataclass(frozen=True, slots=True)
class AfterAnswerOptions:
    """The options for the time after an answer."""

    as_name: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Who answers, if not the account; stored, not proved.")
    ] = ""
    no_resume: Annotated[bool, typer.Option("--no-resume", help="Store the answer without continuing the run.")] = False
    here: Annotated[bool, HERE] = False

    @property
    def who(self) -> str:
        """The person who answers: the account, also behind the name that somebody has typed."""
        account = account_name()
        return f"{self.as_name} ({account})" if self.as_name else account


@with_run_options(again=True)
def resume(
    *,
    run: RUN,
    calls: CutOffCalls,
    options: ContinuationOptions,
    chosen: Chosen,
    flags: RunFlags,
) -> int:
    """Continue a run that was interrupted, failed or waits; finished steps are not repeated.

    Example: strands resume 20261121-033012-a1b2c3 --budget max_tokens=50000
    """

    async def decide(journal: StoredJournal) -> None:
        from strands_cli.engine.ports import SystemClock
        from strands_cli.engine.waiting.questions import cut_off_call, give_up, redo_call, skip_call

        again = [cut_off_call(journal, key) for key in calls.redo]
        skipped = [cut_off_call(journal, key) for key in calls.skip]
        failed = [cut_off_call(journal, key) for key in calls.fail]
        for call in again:
            await redo_call(journal, call)
        for call, value in zip(skipped, results_of(calls.skip, calls.result), strict=True):
            await skip_call(journal, SystemClock(), call, value)
        if failed:
            raise RunFailed(give_up(journal, SystemClock(), failed))

    if options.spec is not None and calls.fail:
        raise UsageError("--fail ends the run, so no workflow is left to correct", fix="omit --spec or --fail")
    change = Change(read_limits(options.budget), options.spec, here=options.here)
    return continue_run(run, chosen, flags, decide, change=change, ends=bool(calls.fail))


@with_run_options(again=True, without=("record",))
def approve(
    *,
    run: RUN,
    key: KEY = None,
    answer: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The answer, if a yes is not enough; `-`: stdin.")
    ] = None,
    edit: Annotated[
        bool, typer.Option("--edit", help="Change the arguments of the call in your editor, then approve it.")
    ] = False,
    arguments: Annotated[
        str | None, typer.Option(metavar="FILE|JSON", help="Approve the call with these arguments; `-`: stdin.")
    ] = None,
    note: Annotated[str, typer.Option(metavar="TEXT", help="A note for the agent, with the answer.")] = "",
    delegate: Annotated[
        str, typer.Option(metavar="NAME", help="Do not answer: address the question to another person.")
    ] = "",
    then: AfterAnswerOptions,
    chosen: Chosen,
    flags: RunFlags,
) -> int:
    """Answer a question of a waiting run, and continue it unless other questions wait.

    Example: strands approve 20261121-033012-a1b2c3 steps.1 --answer "ship it"
    """
    answer = answer if answer is None else given_text("--answer", answer)
    if delegate:
        if edit or note or answer is not None or arguments is not None:
            raise UsageError("--delegate leaves the answer to another person", fix="omit it, or the answer")
        return _delegate(run, key, delegate, then, chosen, flags)
    if not edit and arguments is None:
        return _approve(run, approval(key, answer, then.who, note), key, then, chosen, flags)
    from strands_cli.cli.commands.running.edited_answer import read_edit

    if edit and arguments is not None:
        raise UsageError("--edit and --arguments both give the arguments", fix="omit one of them")
    document: dict[str, Any] = {"run": run, "status": "waiting"}
    with json_on_failure(document if flags.as_json else None):
        edited = read_edit(run, key, arguments, place_of(chosen.changes()))
    key = edited.question.key
    with edited.kept():
        return _approve(run, approval(key, answer, then.who, note, edited), key, then, chosen, flags, edited)


def _delegate(run: str, key: str | None, to: str, then: AfterAnswerOptions, chosen: Chosen, flags: RunFlags) -> int:
    """Address a question to another person, and send the messages about it again."""
    from strands_cli.cli.commands.next_commands import EndNotice

    notice = EndNotice(watched=False)

    async def act(journal: StoredJournal) -> None:
        from strands_cli.engine.waiting.questions import chosen_question, delegate_question

        question = chosen_question(journal, key)
        await delegate_question(journal, question, to, then.who)
        notice.send_later(journal.place, journal.run_id)
        if not flags.quiet:
            say(f"{question.key} is for {to} to answer")

    return continue_run(run, chosen, flags, act, ends=True)


def _approve(
    run: str,
    decide: Decide,
    key: str | None,
    then: AfterAnswerOptions,
    chosen: Chosen,
    flags: RunFlags,
    edit: Edit | None = None,
) -> int:
    act = answering(decide, flags, alone=then.no_resume or chosen.permits, edit=edit)
    change = Change(answers=key, here=then.here, decide=decide)
    return continue_run(run, chosen, flags, act, change=change, ends=then.no_resume)


@with_run_options(again=True, without=("record",))
def reject(
    *,
    run: RUN,
    key: KEY = None,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why; stored in the journal and sent to the model; `-`: stdin.")
    ] = "",
    then: AfterAnswerOptions,
    chosen: Chosen,
    flags: RunFlags,
) -> int:
    """Refuse what a waiting run asks: a gate fails its step; a tool call is not made, and its model gets the refusal.

    Example: strands reject 20261121-033012-a1b2c3 steps.1 --reason stale
    """
    why = given_text("--reason", reason)

    async def refusal(journal: StoredJournal) -> tuple[Row, Answer]:
        from strands_cli.engine.journal.journal_rows import Answer
        from strands_cli.engine.waiting.questions import chosen_question

        question = chosen_question(journal, key)
        text = "no" if question.detail.get("kind") == "approval" else ""
        return question, Answer("answered", text, reason=why, who=then.who)

    return _approve(run, refusal, key, then, chosen, flags)


@with_run_options(again=True)
def rerun(
    *,
    run: RUN,
    from_key: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="KEY",
            help="Where to begin; earlier steps are reused.",
            autocompletion=completions.steps,
        ),
    ],
    var: VAR = [],  # noqa: B006
    chosen: Chosen,
    flags: RunFlags,
) -> int:
    """Start a new run from one key of another, with the current workflow file and the same inputs.

    Example: strands runs rerun 20261121-033012-a1b2c3 --from steps.2 --var tone=formal
    """
    return rerun_from(run, from_key, var, chosen, flags)


def approval(key: str | None, answer: str | None, who: str, note: str, edit: Edit | None = None) -> Decide:
    """Return the function that decides the answer of `approve`, with the arguments that a person has changed."""

    async def decide(journal: StoredJournal) -> tuple[Row, Answer]:
        from strands_cli.engine.journal.journal_rows import Answer
        from strands_cli.engine.ports import SystemClock
        from strands_cli.engine.waiting.questions import approving_text, chosen_question, require_accepted

        question = chosen_question(journal, key)
        text, arguments = approving_text(question, answer), None
        if edit is not None:
            arguments = edit.require_same(question, text)
        given = require_accepted(question, Answer("answered", text, who=who, note=note), SystemClock().now())
        typed = await typed_answer(question, text, arguments)
        if typed is not None:
            given = dataclasses.replace(given, is_typed=typed.is_typed, grants=typed.grants)
        return question, dataclasses.replace(given, arguments=arguments)

    return decide


def answering(decide: Decide, flags: RunFlags, *, alone: bool = False, edit: Edit | None = None) -> Act:
    """Return the function that stores an answer; the run continues unless other questions wait.

    Args:
        alone: Whether other questions do not matter: the run does not continue, or its permissions answer some of them.
    """

    async def act(journal: StoredJournal) -> None:
        from strands_cli.engine.ports import SystemClock
        from strands_cli.engine.waiting.questions import give_answer

        question, answer = await decide(journal)
        await give_answer(journal, SystemClock(), question, answer.text, answer.reason, typed=answer)
        if edit is not None:
            edit.is_stored = True
        if not flags.quiet:
            say_answer(question, answer)
        if not alone:
            _require_all_answered(journal)

    return act


def _require_all_answered(journal: StoredJournal) -> None:
    from strands_cli.engine.waiting.questions import open_questions

    if waiting := open_questions(journal):
        listed = ", ".join(row.key for row in waiting)
        raise WaitingForPerson(f"the run {journal.run_id} waits for {len(waiting)} more: {listed}")


async def typed_answer(question: Row, text: str, arguments: Mapping[str, Any] | None = None) -> Answer | None:
    """Show a question, and ask once more at a terminal whether this is the answer to it; None without a terminal.

    Args:
        arguments: Those of the call as the person has changed them.

    Raises:
        Denied: There is no terminal, and a managed policy file asks.
        WaitingForPerson: The answer is not a yes, so the question waits still.
    """
    from strands_cli.cli.commands.running.edited_answer import question_about_call
    from strands_cli.cli.terminal.argument_editor import with_arguments
    from strands_cli.cli.terminal.terminal_human import TerminalHuman, is_interactive
    from strands_cli.engine.journal.journal_rows import Question

    if question.detail.get("kind") == "approval" and text == "no":
        return None
    if not is_interactive():
        if (question.detail.get("call") or {}).get("needs_terminal"):  # a managed policy file asks
            message = f"a managed policy file asks {question.key}, so only a person at a terminal can say yes"
            raise Denied(message, fix="run the command at a terminal; `strands reject` needs none")
        return None
    stored, call = question.detail, question.detail.get("call")
    prompt = f"{stored.get('prompt', '')}" + ("" if call else f"\nThe answer is: {text}")
    question_asked = Question(question.key, "approval", prompt, str(stored.get("context") or ""))
    if call:
        question_asked = dataclasses.replace(question_asked, call=question_about_call(question).call)
        if arguments is not None:
            question_asked = with_arguments(question_asked, arguments)
    answer = await TerminalHuman("terminal", refusal="it waits still").ask(question_asked)
    if answer.text != "yes":
        raise WaitingForPerson(f"{question.key} is not answered, and waits still")
    return answer


def results_of(skip: Sequence[str], results: Sequence[str]) -> list[Any]:
    """Read the results of skipped calls, one for each.

    Raises:
        UsageError: There are more or fewer, or one is not JSON.
    """
    if len(skip) != len(results):
        raise UsageError(f"{len(skip)} --skip and {len(results)} --result", fix="add one --result JSON for each --skip")
    if results.count(FROM_STDIN) > 1:
        raise UsageError("only one --result can be read from stdin", fix="write the others: --result JSON")
    values = []
    for text in [given_text("--result", result) for result in results]:
        try:
            values.append(json.loads(text))
        except ValueError as error:
            fix = "quote a text twice: --result '\"done\"'"
            raise UsageError(f"--result {text!r} is not JSON: {error}", fix=fix) from error
    return values
