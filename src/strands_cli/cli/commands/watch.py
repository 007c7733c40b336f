"""The option `--watch`: the same command again in a process of its own whenever something that it used has changed."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.cli.terminal import say
from strands_cli.errors import ExitCode, StrandsCliError, UsageError

if TYPE_CHECKING:
    import subprocess

    from strands_cli.planning import RunRequest, States, Watched

# Tells the process that is started for one time that it is.
MARK = "STRANDS_WATCHED"
POLL_S = 0.25
_MOST_LINES = 10


def is_to_watch(*, as_json: bool, source: str | None = None, resumed: str | None = None) -> bool:
    """Return whether this process is the one that watches, and not one that it has started to do the work once.

    Raises:
        UsageError: there is nothing to watch, or one document is promised.
    """
    if os.environ.pop(MARK, None) is not None:
        return False
    if as_json:
        raise UsageError("--json promises one document, and --watch has no end", fix="leave one of them out")
    if source == "-":
        raise UsageError("--watch cannot look at standard input", fix="write the workflow to a file")
    if resumed is not None:
        raise UsageError("--watch starts new runs, and --resume goes on with an old one", fix="leave one of them out")
    return True


def watch_tool(name: str, policy: Path | None, given: str) -> int:
    """Call a tool again whenever its distribution has changed, until Ctrl-C.

    Raises:
        StrandsCliError: there is no such tool, so that there is nothing to watch.
    """
    from strands_cli.catalog import discover_catalog
    from strands_cli.config import load_settings
    from strands_cli.planning import watch_rules, watch_tools
    from strands_cli.planning.resolve import find_single_tool

    def look(_before: Watched | None) -> Watched:
        catalog = discover_catalog()
        rules = watch_rules(load_settings(), Path.cwd(), policy)
        return rules.also(watch_tools([find_single_tool(name, catalog)], catalog))

    return watch(look, sys.stdin.read() if given == "-" else None)


def watch_run(spec: str, request: RunRequest, also: list[Path]) -> int:
    """Run a workflow again whenever it, a file that it names or a tool that it uses has changed, until Ctrl-C.

    Raises:
        StrandsCliError: the workflow cannot be read.
    """
    from strands_cli import app
    from strands_cli.catalog import discover_catalog
    from strands_cli.config import load_settings
    from strands_cli.planning import Watched, watch_plan, watch_rules

    # What hook plugins have to say is said by the run itself.
    request = replace(request, no_plugins=True, trace_hooks=False, tell=lambda _line: None)

    def look(before: Watched | None) -> Watched:
        loaded = app.load(spec) if before is None else None
        known = Watched(frozenset(map(str, (Path(spec).resolve(), *also))))
        known = known.also(watch_rules(load_settings(), Path(spec).resolve().parent, request.policy))
        catalog = discover_catalog()
        try:
            return known.also(watch_plan(app.plan(spec, request), catalog))
        except StrandsCliError:  # which the run itself will say
            files = [str(Path(document.file).resolve()) for document in loaded.files] if loaded else []
            return (before or known).also(known).also(Watched(frozenset(files)))

    return watch(look)


def watch(look: Callable[[Watched | None], Watched], given: str | None = None) -> int:
    """Do the work of this command in a process of its own, once now and again after every change.

    Args:
        look: Says what to watch; gets what it said before, None at first.
        given: What every process gets on its standard input; None leaves them ours.

    Returns:
        0 for Ctrl-C while nothing is under way; 130 or 143 where a signal has ended the work.

    Raises:
        StrandsCliError: what `look` raises the first time.
    """
    from strands_cli.planning import changed_files, declaration_changes, states_of

    watched = look(None)
    # Before the work begins, so that what changes meanwhile is a change afterwards.
    before = states_of(watched.places)
    while not (stopped := _work(given)):
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
    """Wait until something is not as it was, and comes to rest so."""
    from threading import Event

    from strands_cli.planning import settled_states, states_of

    say(f"watching {len(before)} files; Ctrl-C ends it")
    pause = Event().wait
    while True:
        if states_of(watched.places) != before and (now := settled_states(watched.places, pause)) != before:
            return now
        pause(POLL_S)


def _look_again(look: Callable[[Watched | None], Watched], watched: Watched) -> Watched:
    try:
        return look(watched)
    except StrandsCliError:  # a broken edit; the work itself will say so
        return watched


def say_some(prefix: str, lines: list[str]) -> None:
    """Say lines, and of many only how many more there are."""
    for line in lines[:_MOST_LINES]:
        say(f"{prefix}{line}")
    if len(lines) > _MOST_LINES:
        say(f"{prefix}and {len(lines) - _MOST_LINES} more")


def _work(given: str | None) -> int:
    """Do the work once; return the exit code that a signal asks for, else 0: its own outcome stands on the screen."""
    import subprocess

    command = [sys.executable, "-P", "-m", "strands_cli", *sys.argv[1:]]
    # Bytecode is known by its source's second and size, so a quick edit of the same length would go unseen.
    environment = {**os.environ, MARK: "1", "PYTHONDONTWRITEBYTECODE": "1"}
    stdin = None if given is None else subprocess.PIPE
    process = subprocess.Popen(  # noqa: S603 - this very command
        command, env=environment, stdin=stdin, text=True, encoding="utf-8"
    )
    with _passed_on(process) as signals:
        process.communicate(given)
    if process.returncode == ExitCode.WAITING:
        say("the run waits for an answer and stays as it is; a change starts a new one")
    return 128 + signals[0] if signals else 0


@contextlib.contextmanager
def _passed_on(process: subprocess.Popen[str]) -> Iterator[list[int]]:
    """Let the process end by its own rules when we are told to; yields the signals that came."""
    import signal

    came: list[int] = []
    # A terminal sends Ctrl-C to both, and the second one would end the work without its record being closed.
    at_terminal = any(os.isatty(number) for number in (0, 1, 2))

    def pass_on(number: int, _frame: object) -> None:
        came.append(number)
        if number != signal.SIGINT or not at_terminal:
            process.send_signal(number)

    handlers = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
