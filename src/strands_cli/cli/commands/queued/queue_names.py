"""The names of queues that people type: one with a slip must not make a queue that no worker works on."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from strands_cli.errors import UsageError, did_you_mean
from strands_cli.queues.queue_port import DEFAULT_QUEUE
from strands_cli.texts.phrases import first_of

if TYPE_CHECKING:
    from strands_cli.queues.queue_port import RunQueue

MOST_LISTED = 20


def queue_names(queue: RunQueue) -> list[str]:
    """Return the names of all queues of a store; the default one counts before it is used."""
    return sorted({DEFAULT_QUEUE, *(one.name for one in queue.states())})


def require_queue(name: str, queue: RunQueue) -> None:
    """Check that a queue exists.

    Raises:
        UsageError: It does not.
    """
    known = queue_names(queue)
    if name in known:
        return
    close = did_you_mean(name, known)
    meant = f"did you mean {shlex.quote(close)}? " if close else ""
    fix = f"{meant}there are: {first_of(known, MOST_LISTED)}; --new makes one"
    raise UsageError(f"there is no queue {name!r}", fix=fix)


def note_on_new_queue(name: str, queue: RunQueue) -> str:
    """Return what to say of a queue that is about to be made; empty where it exists."""
    if name == DEFAULT_QUEUE or name in (known := queue_names(queue)):
        return ""
    close = did_you_mean(name, known)
    return f"the queue {name!r} is new" + (f"; did you mean {close!r}?" if close else "")
