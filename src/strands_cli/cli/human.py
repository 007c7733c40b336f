"""The person at the terminal, as the engine's port `Human`; or nobody, in a pipe; or later, with `--detach`."""

from __future__ import annotations

import asyncio
import re
import sys
from typing import TYPE_CHECKING, Literal

from strands_cli.cli.output import say
from strands_cli.engine.ports import Answer, Question

if TYPE_CHECKING:
    from strands_cli.cli.live import View

Mode = Literal["terminal", "nobody", "later"]
_YES, _NO = ("y", "yes"), ("n", "no", "")


def choose_human(*, detach: bool) -> TerminalHuman:
    """Return who answers: interactive means that stdin and stderr are terminals and nobody said `--detach`."""
    if detach:
        return TerminalHuman("later")
    return TerminalHuman("terminal" if sys.stdin.isatty() and sys.stderr.isatty() else "nobody")


class TerminalHuman:
    """Puts one question at a time on stderr and reads the answer from stdin."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.view: View | None = None
        self._one_at_a_time = asyncio.Lock()

    async def ask(self, question: Question) -> Answer:
        """Ask until the answer fits, or say that it must wait, or that nobody is there."""
        if self.mode == "later":
            return Answer("waiting")
        if self.mode == "nobody":
            # A gate can wait for its answer; a tool call cannot be left half done.
            return Answer("waiting" if question.kind == "gate" else "nobody")
        async with self._one_at_a_time:
            if self.view is not None:
                self.view.pause()
            try:
                return await self._ask_here(question)
            finally:
                if self.view is not None:
                    self.view.go_on()

    async def _ask_here(self, question: Question) -> Answer:
        say(f"\n? {question.prompt}")
        if question.context:
            say("\n".join(f"  {line}" for line in question.context.splitlines()))
        while True:
            try:
                async with asyncio.timeout(question.timeout_s):
                    typed = await asyncio.to_thread(_read_line, _hint(question))
            except TimeoutError:
                if question.default is None:
                    return Answer("waiting")
                say(f"\n  no answer within {question.timeout_s:g} s; taking the default: {question.default}")
                return Answer("answered", question.default, by="default")
            if typed is None:
                return Answer("waiting" if question.kind == "gate" else "nobody")
            answer = accepted(question, typed)
            if answer is not None:
                return Answer("answered", answer)
            say("  answer yes or no" if question.kind == "approval" else f"  the answer must match {question.pattern}")


def accepted(question: Question, typed: str) -> str | None:
    """Return the answer that a typed line stands for, or None where it does not fit."""
    text = typed.strip()
    if question.kind == "approval":
        return "yes" if text.lower() in _YES else "no" if text.lower() in _NO else None
    if not text and question.default is not None:
        return question.default
    if question.pattern is not None and re.fullmatch(question.pattern, text) is None:
        return None
    return text


def _hint(question: Question) -> str:
    if question.kind == "approval":
        return "  [y/N] "
    return f"  answer [{question.default}]: " if question.default is not None else "  answer: "


def _read_line(hint: str) -> str | None:
    """Read one line; None at the end of the input."""
    sys.stderr.write(hint)
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None
