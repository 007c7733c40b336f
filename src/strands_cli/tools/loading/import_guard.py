"""What a plugin's import may not leave behind in this process, and the word to a person when it takes long."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# So long an import may take in silence.
PATIENCE_S = 5.0
_STREAMS = ("stdin", "stdout", "stderr")
# The program's own way to stop: a plugin that took these would make a run that nothing ends.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Where the program keeps records and finds policy; by these a plugin could move them.
_PLACES = ("STRANDS_", "XDG_", "HOME")

Tell = Callable[[str], None]


@contextlib.contextmanager
def preserved_process() -> Iterator[None]:
    """Give back what others rely on: search path, directory, streams, signals, warning filters, the root logger.

    The environment's variables get their values back; those that a plugin adds stay, since its libraries may read them
    later, except for those that say where the program has its files.
    """
    path, here, environ = list(sys.path), current_directory(), dict(os.environ)
    root = logging.getLogger()
    level, listening = root.level, list(root.handlers)
    streams = {name: getattr(sys, name) for name in _STREAMS}
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    filters = list(warnings.filters)
    try:
        yield
    finally:
        sys.path[:] = path
        for name, stream in streams.items():
            setattr(sys, name, stream)
        if warnings.filters != filters:
            warnings.filters[:] = filters  # type: ignore[index]
        _give_back(handlers)
        root.setLevel(level)
        root.handlers[:] = listening
        _give_back_environment(environ)
        if here is not None:
            os.chdir(here)


def _give_back(handlers: dict[signal.Signals, Any]) -> None:
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread can set them, so nothing has changed
    for number, handler in handlers.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def _give_back_environment(before: dict[str, str]) -> None:
    added = [name for name in os.environ if name not in before and name.startswith(_PLACES)]
    for name in added:
        del os.environ[name]
    for name, value in before.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def current_directory() -> Path | None:
    """Return the current directory, or None where it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None


@contextlib.contextmanager
def reported_when_slow(what: str, tell: Tell | None) -> Iterator[None]:
    """Say what is under way when it takes longer than `PATIENCE_S`; the loop cannot, since an import holds it up."""
    if tell is None:
        yield
        return
    timer = threading.Timer(PATIENCE_S, tell, [f"{what} takes long; Ctrl-C stops it"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
