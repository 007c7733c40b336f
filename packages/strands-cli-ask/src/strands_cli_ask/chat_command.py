"""The command `chat`: questions typed one after the other, each answered by a run that goes on with the last one."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.api import (
    Chosen,
    ExitCode,
    InstalledTools,
    Interrupted,
    RunFlags,
    Runs,
    StoreOptions,
    StrandsCliError,
    UsageError,
    hidden_characters,
    say,
    say_findings,
    suggest,
    table,
    user_data_dir,
    with_run_options,
)
from strands_cli_ask.ask_command import MODEL, OPTIONS, SYSTEM, TOOL, run_turn, save_workflow
from strands_cli_ask.conversation import Conversation, Question, attached, joined, tool_reference

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

# The words that begin with a slash, and what each does.
WORDS = {
    "/tools": "list the tools of this chat; /tools NAME ... adds some",
    "/attach": "send files with the next question: /attach FILE ...; alone: show them, and forget them",
    "/approve": "allow tools for the rest of this chat: /approve NAME ...; alone: list them",
    "/model": "show or change the model: /model PROVIDER/MODEL",
    "/save": "write the conversation as a workflow: /save FILE",
    "/new": "forget the conversation",
    "/help": "show this list",
    "/exit": "end; Ctrl-D does the same",
}


@with_run_options(only=OPTIONS)
def chat(
    *,
    tool: TOOL = None,
    model: MODEL = None,
    system: SYSTEM = None,
    chosen: Chosen,
    flags: RunFlags,
) -> int:
    """Talk with a model in the terminal, with tools; each answer is a run of its own.

    Enter sends a line; Esc and then Enter begin a new one. Ctrl-C ends an answer, and not the chat.

    Example: strands chat -T calculator
    """
    if flags.as_json:
        raise UsageError("a chat has no JSON", fix="ask single questions: strands ask --json")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("a chat needs a terminal", fix='ask single questions: strands ask "..."; strands ask -c "..."')
    talk = Talk(Conversation(tools=_references(tool or ()), model=model, system=system), chosen, flags)
    say("/help lists the words; Ctrl-D ends")
    while not talk.is_over:
        try:
            line = _session().prompt("> ")
        except KeyboardInterrupt:
            continue  # what was typed is dropped, as in a shell
        except EOFError:
            break
        talk.take(line.strip())
    return ExitCode.OK


@dataclass(slots=True)
class Talk:
    """A chat: its conversation so far, the run that has it, and the tools that were allowed on the way."""

    conversation: Conversation
    chosen: Chosen
    flags: RunFlags
    run: str = ""
    allowed: list[str] = field(default_factory=list)
    files: tuple[str, ...] = ()
    is_over: bool = False

    def take(self, line: str) -> None:
        """Do what a line says: a word with a slash, or a question."""
        if not line:
            return
        try:
            if line.startswith("/"):
                self._do(*_words_of(line))
            else:
                self._ask(line)
        except Interrupted:
            say("stopped; the question is not part of the conversation")
        except StrandsCliError as error:
            say_findings(error.findings)
            say(f"error: {error.message}" + (f"\n  fix: {error.fix}" if error.fix else ""))

    def _ask(self, words: str) -> None:
        if hidden_characters(words):
            say("warning: the question has characters that are not shown")
        asked = joined(self.conversation, Question(words, files=self.files), ())
        typed = {**self.chosen.typed, "allow": [*self.chosen.typed.get("allow", ()), *self.allowed]}
        _, self.run = run_turn(asked, self.run, Chosen(typed), self.flags, is_chat=True)
        self.conversation, self.files = asked, ()
        self._keep_grants()

    def _keep_grants(self) -> None:
        """Allow for the rest of the chat the tools of which a person has just allowed every call."""
        request = self.chosen.request()
        with Runs(StoreOptions(request.runs_dir, request.store).place) as runs, runs.open(self.run) as run:
            answers = [row.output for row in run.journal.rows("human") if row.status == "done" and not row.is_reused]
        grants = [str(answer["grants"]).partition(" ")[0] for answer in answers if "grants" in answer]
        if grants:
            self._allow(grants)

    def _allow(self, names: Iterable[str]) -> None:
        self.allowed = list(dict.fromkeys((*self.allowed, *names)))
        say(f"allowed for this chat: {', '.join(self.allowed)}")

    def _do(self, word: str, *names: str) -> None:
        match word:
            case "/exit" | "/quit":
                self.is_over = True
            case "/help":
                say("\n".join(table(list(WORDS.items()))))
            case "/new":
                self.conversation, self.run = replace(self.conversation, questions=()), ""
            case "/tools":
                tools = dict.fromkeys((*self.conversation.tools, *_references(names)))
                self.conversation = replace(self.conversation, tools=tuple(tools))
                say("\n".join(self.conversation.tools) or "no tools: /tools NAME adds one; strands list-tools has all")
            case "/attach" if names:
                self.files = tuple(dict.fromkeys((*self.files, *map(attached, names))))
                say(f"sent with the next question: {', '.join(self.files)}")
            case "/attach":
                say(f"not sent: {', '.join(self.files)}" if self.files else "no files: /attach FILE adds one")
                self.files = ()
            case "/approve" if names:
                _references(name for name in names if "*" not in name)
                self._allow(names)
            case "/approve":
                say(", ".join(self.allowed) or "each call that changes something asks: /approve NAME allows a tool")
            case "/model":
                self.conversation = replace(self.conversation, model=names[0] if names else self.conversation.model)
                say(self.conversation.model or "your default: strands models default")
            case "/save" if len(names) == 1 and self.conversation.questions:
                save_workflow(self.conversation, Path(names[0]), as_json=False)
            case "/save":
                raise UsageError("/save needs a file, and a question that was answered", fix="/save FILE")
            case _:
                raise UsageError(f"there is no {word}", fix=suggest(word, WORDS, "/help lists the words"))


def _words_of(line: str) -> list[str]:
    """Return the words of a line, of which quotes may hold a name with blanks.

    Raises:
        UsageError: A quote is not closed.
    """
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"the line cannot be read: {error}", fix="close the quote") from None


def _references(names: Iterable[str]) -> tuple[str, ...]:
    """Return references to tools, each of which is installed.

    Raises:
        UsageError: One is not.
    """
    known = _tool_names()
    for name in names:
        if ":" not in name and "/" not in name and name not in known:
            raise UsageError(f"there is no tool '{name}'", fix=suggest(name, known, "strands list-tools has all"))
    return tuple(tool_reference(name) for name in names)


def _tool_names() -> Sequence[str]:
    return sorted(record.name for record in InstalledTools(Path.cwd()).all())


def _session() -> PromptSession[Any]:
    """Return the line editor; a new one for each line, since a run gives the process another stdout."""
    from strands_cli_ask.line_editor import WordsAndNames, line_editor

    tools = _tool_names()
    completer = WordsAndNames(WORDS, tools, takes_tools=("/tools", "/approve"), takes_files=("/attach", "/save"))
    return line_editor(completer, user_data_dir(os.environ) / "chat_history", sys.stdout)
