"""The command `workflows watch`: run a command again, in a child process, after each change to its files."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Event
from typing import Annotated

import typer

from strands_cli.api import ExitCode, StrandsCliError, UsageError, UsedFiles, say

# Path -> the parts of a file's status that an edit changes.
States = Mapping[str, tuple[int, int, int]]

POLL_S = 0.25
# An editor writes a file in several steps; a change counts once it has been quiet for so long.
SETTLE_S = 0.1
_MOST_LOOKS = 20
_MOST_LINES = 10
_NO_SOURCE = ("~", ".pyc", ".swp", ".swx", ".tmp")

watch_app = typer.Typer()


@watch_app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def watch(
    words: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The command, with its options.")],
) -> int:
    """Run a command again after each change to a file that it depends on.

    `strands run SPEC --watch` is a short form of it; `validate`, `plan` and `tools run` have it too.

    Example: strands workflows watch run report.yaml --var topic=bees
    """
    if "--json" in words:
        raise UsageError("--json prints one document, and a watched command has no end", fix="omit it")
    used = UsedFiles.of(words)
    if not used.places:
        raise UsageError(
            "the command depends on no file",
            fix="strands run SPEC --watch, or strands tools run NAME --watch",
        )
    return _watch(words, used, sys.stdin.read() if "-" in words else None)


def _watch(words: Sequence[str], used: UsedFiles, stdin_text: str | None) -> int:
    """Run a command now, and again after every change.

    Args:
        words: The command.
        used: The files that it depends on.
        stdin_text: The standard input of every child process; None lets it inherit that of this process.

    Returns:
        0 for Ctrl-C while the command is not running; 129, 130 or 143 if a signal has ended it.
    """
    # Read before the command starts, so that a change while it runs is noticed.
    before = states_of(used.places)
    while not (stopped := _run(words, stdin_text)):
        try:
            now = _changed(used.places, before)
            earlier, used = used, _looked_again(words, used)
        except KeyboardInterrupt:
            return ExitCode.OK
        _say_some("changed: ", changed_files(before, now))
        _say_some("  ", used.definition_changes(earlier))
        before = states_of(used.places)
    return stopped


def _changed(places: Iterable[str], before: States) -> States:
    """Wait until a file changes and then stays unchanged for a moment."""
    say(f"watching {len(before)} files; Ctrl-C ends it")
    pause = Event().wait
    while True:
        if states_of(places) != before and (now := stable_states(places, pause)) != before:
            return now
        pause(POLL_S)


def _looked_again(words: Sequence[str], used: UsedFiles) -> UsedFiles:
    try:
        return UsedFiles.of(words, used)
    except StrandsCliError:  # a broken edit, which the command itself reports
        return used


def _say_some(prefix: str, lines: Sequence[str]) -> None:
    for line in lines[:_MOST_LINES]:
        say(f"{prefix}{line}")
    if len(lines) > _MOST_LINES:
        say(f"{prefix}and {len(lines) - _MOST_LINES} more")


def _run(words: Sequence[str], stdin_text: str | None) -> int:
    """Run a command once; return the exit code for a signal, or 0: the command prints its own outcome."""
    # Bytecode is matched by its source's second and size, so a quick edit of the same length would be missed.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    stdin = None if stdin_text is None else subprocess.PIPE
    process = subprocess.Popen(  # noqa: S603 - this very program
        [sys.executable, "-P", "-m", "strands_cli", *words],
        env=environment,
        stdin=stdin,
        text=True,
        encoding="utf-8",
    )
    with _passed_on(process) as signals:
        process.communicate(stdin_text)
    if process.returncode == ExitCode.WAITING:
        say("the run waits for an answer; a change starts a new run")
    return 128 + signals[0] if signals else 0


@contextlib.contextmanager
def _passed_on(process: subprocess.Popen[str]) -> Iterator[list[int]]:
    """Pass signals on, so that the child process ends in its own way; yields the signals that arrived."""
    import signal

    arrived: list[int] = []
    # A terminal sends Ctrl-C to both, and a second one would end the command without closing its journal.
    at_terminal = any(os.isatty(number) for number in (0, 1, 2))

    numbers = (signal.SIGINT, signal.SIGTERM, *([] if sys.platform == "win32" else [signal.SIGHUP]))

    def pass_on(number: int, _frame: object) -> None:
        arrived.append(number)
        if number != signal.SIGINT or not at_terminal:
            process.send_signal(number)

    handlers = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        yield arrived
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def states_of(places: Iterable[str]) -> States:
    """Return the state of every file in these places; a file that does not exist is left out."""
    states: dict[str, tuple[int, int, int]] = {}
    for path in (path for path_or_folder in places for path in _files(path_or_folder)):
        try:
            status = os.stat(path)  # noqa: PTH116 - many files, often
        except OSError:
            continue
        states[path] = status.st_mtime_ns, status.st_size, status.st_ino
    return states


def stable_states(places: Iterable[str], wait: Callable[[float], object]) -> States:
    """Return the states once two looks in a row are alike; a file that never rests is not waited for."""
    places = tuple(places)
    now = states_of(places)
    for _ in range(_MOST_LOOKS):
        wait(SETTLE_S)
        before, now = now, states_of(places)
        if before == now:
            break
    return now


def changed_files(before: States, now: States) -> list[str]:
    """Return the changed, new and lost files, relative to the current directory where they are in it."""
    paths = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    here = os.getcwd() + os.sep  # noqa: PTH109 - strings throughout
    return [path.removeprefix(here) for path in paths]


def _files(path_or_folder: str) -> Iterator[str]:
    if not os.path.isdir(path_or_folder):  # noqa: PTH112
        yield path_or_folder
        return
    for folder, below, names in os.walk(path_or_folder):
        below[:] = [name for name in below if name != "__pycache__" and not name.startswith(".")]
        yield from (
            os.path.join(folder, name)  # noqa: PTH118
            for name in names
            if not name.startswith(".") and not name.endswith(_NO_SOURCE)
        )
