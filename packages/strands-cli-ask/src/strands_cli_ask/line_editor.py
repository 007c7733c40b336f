"""The line editor of a chat: its history, its keys, and the completion of words, tools and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter, WordCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.output import create_output


class WordsAndNames(Completer):
    """Completes the words with a slash, and what may follow them: files, or names of tools.

    Args:
        words: What each word does.
        tools: The names of tools.
        takes_tools: The words that tools may follow.
        takes_files: The words that files may follow.
    """

    def __init__(
        self, words: Mapping[str, str], tools: Sequence[str], *, takes_tools: Sequence[str], takes_files: Sequence[str]
    ) -> None:
        self._words = WordCompleter(list(words), meta_dict=words, WORD=True)
        self._tools = WordCompleter(list(tools), WORD=True)
        self._files = PathCompleter(expanduser=True)
        self._takes_tools = takes_tools
        self._takes_files = takes_files

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield what may replace the last word before the cursor; nothing in a question."""
        word, blank, rest = document.text_before_cursor.partition(" ")
        if word.startswith("/") and not blank:
            yield from self._words.get_completions(document, complete_event)
        elif word in self._takes_tools:
            yield from self._tools.get_completions(document, complete_event)
        elif word in self._takes_files:
            yield from self._files.get_completions(Document(rest.rpartition(" ")[2]), complete_event)


def line_editor(completer: Completer, history: Path, stdout: TextIO) -> PromptSession[Any]:
    """Return an editor of lines, whose history only its person may read."""
    keys = KeyBindings()
    keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
    history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    history.touch(mode=0o600, exist_ok=True)
    return PromptSession(
        history=FileHistory(str(history)),
        completer=completer,
        complete_while_typing=False,
        key_bindings=keys,
        output=create_output(stdout=stdout),
    )
