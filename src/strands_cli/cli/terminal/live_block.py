"""A few lines that are drawn in place at the end of what a terminal shows.

Between two writes the cursor is where the block begins. So whatever is written next, by the shell after a SIGKILL too,
is where the block was, a terminal that breaks the lines of the block again keeps that place, and one code that erases
from there removes the block. A frame is one write, and leaves nothing switched on or off.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

# To the start of the line, and erase from there to the end of the screen.
ERASE = "\r\x1b[J"
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"
_ERASE_LINE = "\x1b[K"
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


def frame(lines: Sequence[str]) -> str:
    """Return what draws a block at the cursor, over what is there, and returns the cursor; of no lines, an erasure."""
    if not lines:
        return ERASE
    up = f"\x1b[{len(lines) - 1}A" if len(lines) > 1 else ""
    drawn = f"{_ERASE_LINE}\n\r".join(lines)
    # The terminal may have become narrower since it was asked: a line that wraps would move the block.
    return f"{_NO_WRAP}\r{drawn}\x1b[J\r{up}{_WRAP}"


def dim(text: str) -> str:
    """Return a text that is drawn faint, unless `NO_COLOR` is set."""
    return text if os.environ.get("NO_COLOR") else f"{_DIM}{text}{_PLAIN}"


def terminal_size(stream: TextIO) -> tuple[int, int]:
    """Return the columns and rows of the terminal at a stream; 80 and 24 where it does not say."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 80, 24
    return size.columns or 80, size.lines or 24


def can_draw(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that understands these codes, with a person in front of it."""
    if os.environ.get("TERM", "dumb") == "dumb" and "WT_SESSION" not in os.environ:
        return False
    return stream.isatty() and not os.environ.get("CI")


def is_in_front(stream: TextIO) -> bool:
    """Return whether the terminal is this process's to draw on: not while another job of the shell has it."""
    if sys.platform == "win32":
        return True
    try:
        return os.tcgetpgrp(stream.fileno()) == os.getpgrp()
    except (OSError, ValueError):  # it is not the terminal that controls this process, so no shell shares it
        return True
