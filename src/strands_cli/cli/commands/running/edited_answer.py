"""The options of `approve` that change the arguments of a call: read, or edited, before the run is held."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.cli.commands.given_text import FROM_STDIN, given_text
from strands_cli.errors import StrandsCliError, UsageError, WaitingForPerson

if TYPE_CHECKING:
    from strands_cli.cli.terminal.argument_editor import ArgumentFile
    from strands_cli.engine.journal.journal_rows import Question, Row
    from strands_cli.store_place import StorePlace


@dataclass(slots=True)
class Edit:
    """The changed arguments of a call that waits.

    Attributes:
        question: The question about the call, as it was when the person began.
        file: The file of the person's editor.
        is_stored: Whether the answer is in the journal.
    """

    question: Question
    arguments: Mapping[str, Any]
    file: ArgumentFile | None = None
    is_stored: bool = False

    def require_same(self, row: Row, text: str) -> Mapping[str, Any]:
        """Return the arguments for a question, if it is still about the call that the person has changed.

        Args:
            text: The answer.

        Raises:
            UsageError: It is about another call, or the answer refuses it.
        """
        if text != "yes":
            raise UsageError(f"{row.key} is answered with no, and with other arguments", fix="omit one of them")
        call = self.question.call
        if call is not None and (row.detail.get("call") or {}).get("digest") != call.digest:
            message = f"{row.key} is about other arguments than those that you have changed"
            raise UsageError(message, fix="look at it again: strands runs show RUN")
        return self.arguments

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the file where the answer is not stored, and tell its place; remove it otherwise."""
        try:
            yield
        except StrandsCliError as error:
            if self.file is not None and not self.is_stored:
                error.fix = "\n       ".join(filter(None, [error.fix, f"your changes are kept in {self.file.path}"]))
            raise
        finally:
            if self.file is not None and self.is_stored:
                self.file.discard()


def read_edit(run: str, key: str | None, given: str | None, place: StorePlace) -> Edit:
    """Return the changed arguments of a call: those of `--arguments`, else those that the person writes now.

    The run is not held meanwhile: others may answer.

    Raises:
        UsageError: It is not about a call or has been answered, there is no editor, or the arguments do not fit.
        WaitingForPerson: The person has cancelled.
    """
    from strands_cli import app
    from strands_cli.cli.terminal.argument_editor import read_arguments
    from strands_cli.engine.stored_runs.opened import stored_redactor
    from strands_cli.engine.waiting.questions import chosen_question
    from strands_cli.run_views.open_questions import with_run

    with contextlib.closing(app.open_run(run, place, hold=False)) as journal:
        journal.redactor = stored_redactor(journal)
        try:
            question = question_about_call(chosen_question(journal, key))
            if given is None:
                return asyncio.run(_edited(question))
        except StrandsCliError as error:
            error.fix = with_run(error.fix, journal.run_id, journal.place)
            raise
    is_json = given.lstrip().startswith("{")
    text = given if is_json else _content(given) if given != FROM_STDIN else given_text("--arguments", given)
    return Edit(question, read_arguments(text, "--arguments", question.schema))


def question_about_call(row: Row) -> Question:
    """Return the question of a row with its call.

    Raises:
        UsageError: It is not about a call.
    """
    from strands_cli.engine.journal.answers import stored_question
    from strands_cli.policy.decision import PermissionQuestion

    call = row.detail.get("call")
    if not call:
        raise UsageError(f"{row.key} is not about a call, so it has no arguments", fix="answer it: --answer TEXT")
    fields = {name: value for name, value in call.items() if name in PermissionQuestion.__slots__}
    return dataclasses.replace(stored_question(row), call=PermissionQuestion(**fields))


def _content(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        message = f"--arguments {name}: the file cannot be read: {getattr(error, 'strerror', None) or error}"
        raise UsageError(message, fix="give a file with YAML or JSON, `-`, or a JSON object") from error


async def _edited(question: Question) -> Edit:
    """Let the person change the arguments until they fit the schema, or give up.

    Raises:
        UsageError: They do not fit, and no person is at a terminal to correct them.
        WaitingForPerson: The person has cancelled, or without a terminal nothing was changed.
    """
    from strands_cli.cli.terminal.argument_editor import edit_until_it_fits
    from strands_cli.cli.terminal.terminal_human import Keyboard, is_interactive
    from strands_cli.engine.waiting.edited_arguments import changes_between

    keyboard = Keyboard() if is_interactive() else None
    file, arguments = await edit_until_it_fits(question, None if keyboard is None else keyboard.read_line)
    if keyboard is None and question.call is not None and not any(changes_between(question.call.arguments, arguments)):
        file.discard()
        raise WaitingForPerson(
            f"nothing was changed, so {question.key} waits still",
            fix=f"to approve it as it is: strands approve RUN {shlex.quote(question.key)}",
        )
    return Edit(question, arguments, file)
