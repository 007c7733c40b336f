"""The log of DBOS, as lines of the worker's own log: no names of exceptions, and not the same line again and again."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable

# How long a line is not repeated: while the database is gone, each thread of DBOS says so several times a second.
QUIET_S = 10.0
MOST_CHARACTERS = 500
# The expected error after a worker has stopped its runs.
_EXPECTED = "Asyncio task cancelled"
_CLASS = re.compile(r"\((?:psycopg|sqlalchemy)[\w.]*\) ")
_TRACEBACK = "Traceback (most recent call last)"
_RAISED = re.compile(r"^[A-Za-z_][\w.]*: (.+)$", re.MULTILINE)
_LOST = re.compile(
    r"(?:connection failed: (?=connection failed))?"  # of the pool, and of the connection
    r"((?:connection failed|consuming input failed|sending query failed|server closed the connection"
    r"|terminating connection|the connection is (?:lost|closed)).*)"
)


class QueueLog(logging.Handler):
    """Passes lines to a worker's log.

    Args:
        say: Takes a line, from any thread.
        clock: Returns seconds that never jump back.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._say, self._clock = say, clock
        self._last: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one line, unless it was passed a moment ago."""
        line, now = _line_of(record), self._clock()
        if line.startswith(_EXPECTED):
            return
        self._last = {message_line: at for message_line, at in self._last.items() if now - at < QUIET_S}
        if line not in self._last:
            self._last[line] = now
            self._say(line)


def _line_of(record: logging.LogRecord) -> str:
    message = record.getMessage()
    text = " ".join(message.split("\n", 1)[0].split())
    if (head := text.partition(_TRACEBACK)[0]) != text:  # its last line that names an exception has the reason
        matches = _RAISED.findall(message)
        text = head + " ".join(matches[-1].split() if matches else [])
    raised = record.exc_info[1] if record.exc_info else None
    if raised is not None:
        reason = (str(raised).splitlines() or [""])[0]
        text = f"{text.rstrip(':')}: {reason or type(raised).__name__}"
    text = _CLASS.sub("", text)
    loss = _LOST.search(text)
    return (f"the queues cannot be reached: {loss[1]}" if loss else text)[:MOST_CHARACTERS]
