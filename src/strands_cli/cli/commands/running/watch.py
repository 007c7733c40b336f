"""The option `--watch`: run the same command again, in a child process, whenever something that it uses has changed."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.cli.output.messages import say
from strands_cli.errors import ExitCode, StrandsCliError, UsageError

if TYPE_CHECKING:
    import subprocess

    from strands_cli.planning.file_watch import States, Watched
    from strands_cli.planning.run_request import RunRequest

# Set in the environment of the child process, which does the work once.
MARK = "STRANDS_WATCHED"
POLL_S = 0.25
_MOST_LINES = 10


def is_to_watch(*, as_json: bool, source: str | None = None) -> bool:
    """Return whether this process is the one that watches, and not the child process that does the work once.

    Raises:
        UsageError: There is nothing to watch, or `--json` requires one document.
    """
    if os.environ.pop(MARK, None) is not None:
        return False
    if as_json:
        raise UsageError("--json prints one document, and --watch has no end", fix="omit one of them")
    if source == "-":
        raise UsageError("--watch cannot watch standard input", fix="write the workflow to a file")
    return True


def watch_tool(name: str, policy: Path | None, typed: str) -> int:
    """Call a tool again whenever its distribution has changed, until Ctrl-C.

    Raises:
        StrandsCliError: There is no such tool, so there is nothing to watch.
    """
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.config import load_settings
    from strands_cli.planning.file_watch import watch_rules, watch_tools
    from strands_cli.planning.resolve.single_tool import find_single_tool

    def look(_before: Watched | None) -> Watched:
        catalog = discover_catalog(project=Path.cwd())
        rules = watch_rules(load_settings(), Path.cwd(), policy)
        return rules.also(watch_tools([find_single_tool(name, catalog)], catalog))

    return watch(look, sys.stdin.read() if typed == "-" else None)


def watch_run(spec: str, request: RunRequest, also: list[Path]) -> int:
    """Run a workflow again whenever it, a file that it names or a tool that it uses has changed, until Ctrl-C.

    Raises:
        StrandsCliError: The workflow cannot be read.
    """
    from strands_cli import app
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.config import load_settings
    from strands_cli.planning.file_watch import Watched, watch_plan, watch_rules

    # The run itself reports what hook plugins print.
    request = replace(request, no_plugins=True, trace_hooks=False, tell=lambda _line: None)

    def look(before: Watched | None) -> Watched:
        loaded = app.load(spec) if before is None else None
        known = Watched(frozenset(map(str, (Path(spec).resolve(), *also))))
        known = known.also(watch_rules(load_settings(), Path(spec).resolve().parent, request.policy))
        catalog = discover_catalog(project=Path(spec).resolve().parent)
        try:
            return known.also(watch_plan(app.plan(spec, request), catalog))
        except StrandsCliError:  # the run itself reports it
            files = [str(Path(document.file).resolve()) for document in loaded.files] if loaded else []
            return (before or known).also(known).also(Watched(frozenset(files)))

    return watch(look)


def watch(look: Callable[[Watched | None], Watched], stdin_text: str | None = None) -> int:
    """Do the work of this command in a child process, once now and again after every change.

    Args:
        look: Returns what to watch; gets its former result, at first None.
        stdin_text: The standard input of every child process; None lets it inherit ours.

    Returns:
        0 for Ctrl-C while no work is running; 129, 130 or 143 if a signal has ended the work.

    Raises:
        StrandsCliError: `look` raises it the first time.
    """
    from strands_cli.planning.file_watch import changed_files, declaration_changes, states_of

    watched = look(None)
    # Read before the work begins, so that a change during the work is noticed.
    before = states_of(watched.places)
    while not (stopped := _work(stdin_text)):
        try:
            now = _changed(watched, before)
            known, watched = watched, _look_again(look, watched)
        except KeyboardInterrupt:
            return ExitCode.OK
        say_some("changed: ", changed_files(before, now))
        say_some("  ", declaration_changes(known.distributions, watched.distributions))
        before = states_of(watched.places)
    return stopped


def _changed(watched: Watched, before: States) -> States:
    """Wait until a file changes and then stays unchanged for a moment."""
    from threading import Event

    from strands_cli.planning.file_watch import stable_states, states_of

    say(f"watching {len(before)} files; Ctrl-C ends it")
    pause = Event().wait
    while True:
        if states_of(watched.places) != before and (now := stable_states(watched.places, pause)) != before:
            return now
        pause(POLL_S)


def _look_again(look: Callable[[Watched | None], Watched], watched: Watched) -> Watched:
    try:
        return look(watched)
    except StrandsCliError:  # a broken edit; the work itself reports it
        return watched


def say_some(prefix: str, lines: list[str]) -> None:
    """Print lines, and instead of too many their number."""
    for line in lines[:_MOST_LINES]:
        say(f"{prefix}{line}")
    if len(lines) > _MOST_LINES:
        say(f"{prefix}and {len(lines) - _MOST_LINES} more")


def _work(stdin_text: str | None) -> int:
    """Do the work once; return the exit code for a signal, or 0: the work prints its own outcome."""
    import subprocess

    command = [sys.executable, "-P", "-m", "strands_cli", *sys.argv[1:]]
    # Bytecode is matched by its source's second and size, so a quick edit of the same length would be missed.
    environment = {**os.environ, MARK: "1", "PYTHONDONTWRITEBYTECODE": "1"}
    stdin = None if stdin_text is None else subprocess.PIPE
    process = subprocess.Popen(  # noqa: S603 - this very command
        command, env=environment, stdin=stdin, text=True, encoding="utf-8"
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

    came: list[int] = []
    # A terminal sends Ctrl-C to both, and a second one would end the work without closing its journal.
    at_terminal = any(os.isatty(number) for number in (0, 1, 2))

    numbers = (signal.SIGINT, signal.SIGTERM, *([] if sys.platform == "win32" else [signal.SIGHUP]))

    def pass_on(number: int, _frame: object) -> None:
        came.append(number)
        if number != signal.SIGINT or not at_terminal:
            process.send_signal(number)

    handlers = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        yield came
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
