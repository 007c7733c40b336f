"""The words that may name a queue."""

from __future__ import annotations

import re

from strands_cli.errors import UsageError
from strands_cli.queues.queue_port import DEFAULT_QUEUE

# One word in lists, logs and shells.
_NAME = re.compile(r"\w[\w./:@-]{0,99}")


def require_queue_name(name: str) -> str:
    """Return a text that may name a queue.

    Raises:
        UsageError: It may not.
    """
    if _NAME.fullmatch(name):
        return name
    close = re.sub(r"[^\w./:@-]+", "-", name)[:100].strip("-./:@") or DEFAULT_QUEUE
    raise UsageError(
        f"{name!r} is not a name of a queue: up to 100 letters, digits, '_', '-', '.', '/', ':' and '@'",
        fix=f"write {close}",
    )
