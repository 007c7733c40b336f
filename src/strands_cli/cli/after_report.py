"""Work to do after a command has printed its result and its errors."""

from __future__ import annotations

from collections.abc import Callable

from strands_cli.cli.output.messages import say

_left: list[Callable[[], None]] = []


def after_report(work: Callable[[], None]) -> None:
    """Do this work when everything is printed; it cannot change the exit code."""
    _left.append(work)


def do_what_is_left() -> None:
    """Do the work that was left; Ctrl-C ends it."""
    while _left:
        work = _left.pop(0)
        try:
            work()
        except KeyboardInterrupt:
            _left.clear()
        except Exception as error:  # noqa: BLE001 - the work of the command is done
            say(f"warning: after the end: {type(error).__name__}: {error}")
