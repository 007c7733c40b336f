"""What a stored run waits for, as it is sent to a person who is elsewhere: questions with the commands that answer."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from strands_cli.config import user_data_dir
from strands_cli.engine.effects.effect import LOST
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.ports.store_port import StoredJournal
from strands_cli.engine.waiting.cut_off_calls import open_decisions
from strands_cli.engine.waiting.questions import natural_answer, open_questions, ways_to_answer
from strands_cli.errors import UsageError
from strands_cli.hooks.hook_values import WaitingQuestion
from strands_cli.store_place import StorePlace
from strands_cli.texts.phrases import shortened
from strands_cli.texts.unicode_safety import printable

_CUT_OFF = "it was running when the process ended: redo, skip or fail?"
_LOST = "the state of its object is lost, which was in a process that has ended: redo it with a new one, skip or fail?"
MOST_CHARACTERS = 1000


def prompt_of(call: Row) -> str:
    """Return the question about a call that only a person can decide on; its row has none."""
    return _LOST if LOST in call.detail else _CUT_OFF


def waiting_questions(journal: StoredJournal, redact: Callable[[str], str]) -> tuple[WaitingQuestion, ...]:
    """Return what a run waits for; its texts are redacted, escaped and cut, so that they can be shown anywhere."""
    rows = [*open_questions(journal), *open_decisions(journal)]
    return tuple(_question(row, journal, redact) for row in rows)


def _question(row: Row, journal: StoredJournal, redact: Callable[[str], str]) -> WaitingQuestion:
    kind = "decision" if row.kind == "tool" else str(row.detail.get("kind"))
    prompt = prompt_of(row) if row.kind == "tool" else str(row.detail.get("prompt") or "")
    ways = ways_to_answer(journal.run_id, row)
    commands = tuple(redact(portable_command(*words, store=journal.place)) for words in ways)
    answer = None if row.kind == "tool" else natural_answer(row)
    return WaitingQuestion(row.key, kind, sendable(prompt, redact), answer and sendable(answer, redact), commands)


def sendable(text: str, redact: Callable[[str], str]) -> str:
    """Return a text as it may be sent: without secrets, hidden characters escaped, and cut."""
    return shortened(printable(redact(text)), MOST_CHARACTERS)


def portable_command(*words: str, store: StorePlace) -> str:
    """Return a command line that works in any folder, and without the variables of this process."""
    try:
        is_default = StorePlace(user_data_dir({}) / "runs") == store
    except UsageError:
        is_default = False
    return shlex.join(["strands", *words, *([] if is_default else store.words)])
