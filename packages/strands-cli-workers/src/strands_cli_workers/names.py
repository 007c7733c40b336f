"""The names that people give to queues and runs: each is one word in lists, logs and shells."""

from __future__ import annotations

import difflib
import re
import shlex
from typing import TYPE_CHECKING

from strands_cli.api import UsageError
from strands_cli_workers.queue_values import DEFAULT_QUEUE

if TYPE_CHECKING:
    from strands_cli_workers.run_queue import RunQueue

_QUEUE = re.compile(r"\w[\w./:@-]{0,99}")
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# `runs show last` and others mean a run by it.
_NEWEST = "last"
MOST_LISTED = 20


def require_id(run_id: str) -> None:
    """Check the id that a person gives to a run; a worker makes a folder of it.

    Raises:
        UsageError: It has characters that would lead out of the folder of runs, or be others in a shell.
    """
    if _RUN.fullmatch(run_id) and run_id != _NEWEST:
        return
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", run_id)[:100].strip("-._")
    fix = f"--id {name if name not in ('', _NEWEST) else 'nightly'}"
    raise UsageError(
        f"{run_id!r} is not an id of a run: up to 100 letters, digits, '.', '_' and '-', and not {_NEWEST!r}", fix=fix
    )


def require_queue_name(name: str) -> str:
    """Return a text that may name a queue.

    Raises:
        UsageError: It may not.
    """
    if _QUEUE.fullmatch(name):
        return name
    close = re.sub(r"[^\w./:@-]+", "-", name)[:100].strip("-./:@") or DEFAULT_QUEUE
    raise UsageError(
        f"{name!r} is not a name of a queue: up to 100 letters, digits, '_', '-', '.', '/', ':' and '@'",
        fix=f"write {close}",
    )


def require_queue(name: str, queue: RunQueue) -> None:
    """Check that a queue exists: a name with a slip must not make one that no worker works on.

    Raises:
        UsageError: It does not.
    """
    names = _queue_names(queue)
    if name in names:
        return
    close = _close_to(name, names)
    guess = f"did you mean {shlex.quote(close)}? " if close else ""
    fix = f"{guess}there are: {first_of(names, MOST_LISTED)}; --new makes one"
    raise UsageError(f"there is no queue {name!r}", fix=fix)


def note_on_new_queue(name: str, queue: RunQueue) -> str:
    """Return a line about a new queue; empty where it exists."""
    if name == DEFAULT_QUEUE or name in (names := _queue_names(queue)):
        return ""
    close = _close_to(name, names)
    return f"the queue {name!r} is new" + (f"; did you mean {close!r}?" if close else "")


def _queue_names(queue: RunQueue) -> list[str]:
    """Return the names of all queues of a store; the default one counts before it is used."""
    return sorted({DEFAULT_QUEUE, *(state.name for state in queue.states())})


def _close_to(name: str, names: list[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, names, n=1)), None)


def first_of(names: list[str], most: int) -> str:
    """Return the first names, joined by commas, and the number of the others."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
