"""The command line: parse, call `app`, print text or JSON, turn errors into exit codes."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

VERSION_WORDS = ("--version", "-V", "version")
HELP = (["--help"], ["-h"])
# Typer fills no more columns than these, however wide a terminal is.
HELP_COLUMNS = 80
EXIT_GRACE_S = 2.0


def main() -> None:
    """Run the command line of `sys.argv` and end the process with its exit code."""
    open_missing_streams()
    try:
        code = _answer(sys.argv[1:])
    except KeyboardInterrupt:  # Ctrl-C while the program itself is being imported; later ones are caught below
        code = 130
    end_despite_threads(code)
    sys.exit(code)


def _answer(arguments: list[str]) -> int:
    """Return the exit code; what needs no parser is answered before Typer is imported, which takes 70 ms."""
    if arguments[:1] and arguments[0] in VERSION_WORDS:
        from strands_cli import __version__

        return _print_plain(f"strands-cli {__version__}\n")
    completes = "_STRANDS_COMPLETE" in os.environ
    if arguments in HELP and not completes and (text := _help_text()) is not None:
        return _print_plain(text)
    # pydantic asks every installed distribution for plugins when the first model is built; one malformed
    # entry_points.txt of a stranger would end every command here.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Importing makes many objects and little garbage: the default threshold spends 8 ms of a cold command on that.
    gc.set_threshold(50_000, 20, 20)
    work = None if completes else _work_without_parser(arguments)
    if work is not None:
        from strands_cli.cli.terminal import exit_code_of_call

        return exit_code_of_call(work)
    from strands_cli.cli.program import run_program

    return run_program(arguments)


def _work_without_parser(arguments: list[str]) -> Callable[[], int] | None:
    """Return what a command line of only flags, or only files, asks for; None for all that Typer has to read."""
    command, words = arguments[:1], arguments[1:]
    if command == ["list-tools"]:
        from strands_cli.cli.commands import FLAGS, list_installed

        if set(words) <= FLAGS.keys():
            flags: dict[str, Any] = {FLAGS[word]: True for word in words}
            return lambda: list_installed(**flags)
    elif command == ["validate"] and words and not any(word.startswith("-") for word in words):
        from strands_cli.cli.commands import check_files

        return lambda: check_files(words)
    return None


def _print_plain(text: str) -> int:
    """Print a text of our own and return the exit code."""
    try:
        print(text, end="", flush=True)
    except OSError as error:
        from strands_cli.cli.terminal import ReaderGone, report_error

        return report_error(ReaderGone() if isinstance(error, BrokenPipeError) else error)
    return 0


def _help_text() -> str | None:
    """Return the program's help as Typer lays it out; None on a terminal too narrow for these lines."""
    from shutil import get_terminal_size

    if get_terminal_size().columns < HELP_COLUMNS:
        return None
    with open(os.path.join(os.path.dirname(__file__), "help.txt"), encoding="utf-8") as file:  # noqa: PTH118, PTH120, PTH123 - pathlib is not needed yet
        return file.read()


def end_despite_threads(code: int) -> None:
    """Let the process end with its code even where a tool has left a thread that does not."""
    threading = sys.modules.get("threading")
    if threading is None:
        return
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        timer = threading.Timer(EXIT_GRACE_S, os._exit, [code])
        timer.daemon = True
        timer.start()


def open_missing_streams() -> None:
    """Put the null device where the caller closed stdin, stdout or stderr.

    Else Python has None there, and the next file that is opened gets the free number: what a tool prints would end up
    in the record of a run.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is not None:
            continue
        opened = os.open(os.devnull, os.O_RDWR)
        if opened == number:
            os.set_inheritable(number, True)
        else:
            os.dup2(opened, number)
            os.close(opened)
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - a descriptor
