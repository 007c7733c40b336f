"""The engine's port `Human`: the person at the terminal, no person in a pipe, or a later answer with `--detach`."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import select
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from strands_cli.cli.output.messages import logs_json, real_stderr, say, write_error
from strands_cli.cli.question_layout import document_of, question_lines
from strands_cli.config import account_name
from strands_cli.engine.effects.asked_questions import answer_at_end
from strands_cli.engine.journal.answers import fitting, misfit
from strands_cli.engine.journal.journal_rows import Answer, Question, unanswered
from strands_cli.engine.waiting.questions import NoPerson
from strands_cli.errors import StrandsCliError
from strands_cli.texts.phrases import with_fix
from strands_cli.texts.unicode_safety import printable
from strands_cli.workflow.gate_answers import UnfitAnswer, yes_or_no

if TYPE_CHECKING:
    from strands_cli.cli.terminal.live_view import View


# Lines that a person types; an abandoned read never consumes the next line.


POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Keyboard:
    """A terminal's input, read by descriptor: Python's own stream would buffer lines that it has read ahead."""

    descriptor: int = 0

    def read_line(self, hint: str, give_up: threading.Event | None = None) -> str | None:
        """Show a hint and return the line typed after it; None at the end of the input or when given up."""
        write_error(printable(hint))
        line = b""
        while not line.endswith(b"\n"):
            if not self._wait(give_up):
                return None
            try:
                piece = os.read(self.descriptor, 4096)
            except OSError:  # the terminal has gone
                piece = b""
            if not piece:
                return line.decode("utf-8", "replace") if line else None
            line += piece
        return line.decode("utf-8", "replace").rstrip("\r\n")

    def _wait(self, give_up: threading.Event | None) -> bool:
        """Wait until something has been typed; False when given up before."""
        while give_up is None or not give_up.is_set():
            if self._typed():
                return True
        return False

    def _typed(self) -> bool:
        if sys.platform == "win32":  # `select` accepts only sockets there
            import msvcrt
            import time

            time.sleep(POLL_S)
            ready = bool(msvcrt.kbhit())
        else:
            ready = bool(select.select([self.descriptor], [], [], POLL_S)[0])
        return ready

    def discard_typed(self) -> None:
        """Discard text typed before a question was shown: it cannot be the answer to it."""
        if sys.platform != "win32":
            import termios

            with contextlib.suppress(termios.error):  # the terminal has gone; the next read reports it
                termios.tcflush(self.descriptor, termios.TCIFLUSH)


Mode = Literal["terminal", "nobody", "later"]
_ALL, _DETAILS, _EDIT = ("a", "all"), ("d", "details"), ("e", "edit")


def is_interactive() -> bool:
    """Return whether a person can be asked: stdin and stderr are terminals, and stderr is not a log."""
    return sys.stdin.isatty() and real_stderr().isatty() and not logs_json()


def choose_human(*, detach: bool = False, deny: bool = False) -> TerminalHuman:
    """Return the answerer of questions; with `--detach` they wait at a terminal too, with `--deny` calls are denied."""
    return TerminalHuman("later" if detach else "terminal" if is_interactive() else "nobody", denies=deny)


class TerminalHuman:
    """Shows one question at a time on stderr and reads the answer from the keyboard.

    `keyboard` and `view` are set before the run begins. `refusal` is the meaning of a no. A human that `denies` denies
    calls without a question.
    """

    def __init__(self, mode: Mode, *, refusal: str = "no call", denies: bool = False) -> None:
        self.mode = mode
        self.denies = denies
        self._refusal = refusal
        self.view: View | None = None
        self.keyboard = Keyboard()
        self._one_at_a_time = asyncio.Lock()

    async def ask(self, question: Question) -> Answer:
        """Ask until the answer fits; return that it waits, or that no person is present, in those modes."""
        if self.mode != "terminal" or (self.denies and question.kind == "approval"):
            return await NoPerson(denies=self.denies, stays=self.mode == "nobody", tell=self._say).ask(question)
        if any(answer.get("who") == account_name() for answer in question.answers):
            return Answer("waiting")  # another person has to
        async with self._one_at_a_time:
            if self.view is not None:
                self.view.pause()
            try:
                return await self._ask_here(question)
            finally:
                if self.view is not None:
                    self.view.unpause()

    async def _ask_here(self, question: Question) -> Answer:
        self.keyboard.discard_typed()
        document = document_of(question)
        say("\n".join([f"\n? {question_lines(document)[0]}", *question_lines(document)[1:]]))
        if question.problem:
            say(f"  {question.problem}")
        if question.kind == "approval":
            say(f"  {self._choices(question)}")
        while True:
            try:
                async with asyncio.timeout(question.timeout_s):
                    typed = await self._read_line(_hint(question))
            except TimeoutError:
                return _after_timeout(question)
            if typed is None:
                say("")
                return unanswered(question)
            if question.call is not None and typed.strip().lower() in _DETAILS:
                say("\n".join(question_lines(document, details=True)[1:]))
                continue
            if question.call is not None and question.call.grant and typed.strip().lower() in _ALL:
                return Answer("answered", "yes", is_typed=True, grants=question.call.grant, who=account_name())
            if _may_be_edited(question) and typed.strip().lower() in _EDIT:
                if (edited := await self._edited(question)) is not None:
                    return edited
                continue
            answer = accepted(question, typed)
            if answer is not None:
                return Answer("answered", answer, is_typed=True, who=account_name())
            say(f"  {_hint_for(question, typed.strip())}")

    async def _edited(self, question: Question) -> Answer | None:
        """Let the person change the arguments of a call, and ask about the changed one; None if they do not want it."""
        from strands_cli.cli.terminal.argument_editor import edit_until_it_fits, with_arguments

        try:
            file, arguments = await edit_until_it_fits(question, self.keyboard.read_line, self.keyboard.descriptor)
        except StrandsCliError as error:
            say(f"  {with_fix(error.message, error.fix)}")
            return None
        answer = await self._ask_here(dataclasses.replace(with_arguments(question, arguments), schema=None))
        if answer.text != "yes":
            say(f"  your changes are kept in {file.path}")
            return None if answer.outcome == "answered" else answer
        file.discard()
        return dataclasses.replace(answer, arguments=arguments)

    def _say(self, line: str) -> None:
        (say if self.view is None else self.view.line)(line)

    def _choices(self, question: Question) -> str:
        """Return the meanings of the answers to a yes-or-no question."""
        call = question.call
        if call is None:
            return f"y: yes; n: {self._refusal}"
        grant = f"; a: every call of {call.tool} in this run" if call.grant else ""
        edit = "; e: change its arguments" if _may_be_edited(question) else ""
        return f"y: this call; n: {self._refusal}{grant}{edit}; d: details"

    async def _read_line(self, hint: str) -> str | None:
        """Read in a thread that stops reading when this is cancelled."""
        give_up = threading.Event()
        reading = asyncio.ensure_future(asyncio.to_thread(self.keyboard.read_line, hint, give_up))
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            give_up.set()
            await reading  # until it ends, it could consume the answer to the next question
            raise


def _may_be_edited(question: Question) -> bool:
    """Return whether the question is about a call as its agent proposed it, and the person has an editor."""
    return question.schema is not None and bool(os.environ.get("VISUAL") or os.environ.get("EDITOR"))


def _after_timeout(question: Question) -> Answer:
    answer = answer_at_end(question)
    if answer is None:
        say(f"\n  no answer within {question.timeout_s:g} s")
        return Answer("waiting")
    then = "it expires" if answer.reason is not None else f"taking the default: {answer.text}"
    say(f"\n  no answer within {question.timeout_s:g} s; {then}")
    return answer


def accepted(question: Question, typed: str) -> str | None:
    """Return the answer that a typed line means, or None if it does not fit the question."""
    text = typed.strip()
    if question.kind == "approval":
        return yes_or_no(text or "no")
    if not text and question.default is not None:
        return question.default
    if question.kind == "interrupt" and not text:  # an empty line could mean anything to the tool
        return None
    try:
        return fitting(text, question)
    except UnfitAnswer:
        return None


def _hint_for(question: Question, text: str) -> str:
    if question.kind == "approval":
        return "answer with one of these letters, or its word"
    if question.only_words or question.schema is not None:
        return misfit(text, question) or ""
    return f"the answer must match {question.pattern}" if question.pattern else "the tool needs an answer"


def _hint(question: Question) -> str:
    if question.kind == "approval":
        grant = "/a" if question.call is not None and question.call.grant else ""
        grant += "/e" if _may_be_edited(question) else ""
        return f"  [y/N{grant}{'/d' if question.call is not None else ''}] "
    default = f"{question.default}" if question.default is not None else ""
    within = f"within {question.timeout_s:g} s" if question.timeout_s is not None else ""
    extra = ", ".join(part for part in (default, within) if part)
    return f"  answer [{extra}]: " if extra else "  answer: "
