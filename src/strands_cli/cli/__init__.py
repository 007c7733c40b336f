"""The command line: parse, call `app`, print text or JSON, turn errors into exit codes."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

VERSION_ARGUMENTS = ("--version", "-V", "version")
HELP = (["--help"], ["-h"])
EXIT_GRACE_S = 2.0


def main() -> None:
    """Run the command line of `sys.argv` and end the process with its exit code."""
    open_missing_streams()
    try:
        code = _answer(sys.argv[1:])
    except KeyboardInterrupt:  # Ctrl-C while the program itself is being imported; later ones are caught below
        code = 130
    end_despite_threads(code)
    # Otherwise the interpreter's last collections look at every object: a quarter of a cold command. The system frees
    # the memory, and everything to close is closed by now.
    gc.freeze()
    sys.exit(code)


def _answer(arguments: list[str]) -> int:
    """Return the exit code; calls that need no parser run without importing Typer, which takes 70 ms."""
    if arguments[:1] and arguments[0] in VERSION_ARGUMENTS:
        from strands_cli.__about__ import __version__

        return _print_plain(f"strands-cli {__version__}\n")
    completes = "_STRANDS_COMPLETE" in os.environ
    if arguments in HELP and not completes:
        from strands_cli.cli.help_page import stored_page

        return _print_plain(stored_page())
    from strands_cli.cli.pydantic_plugins import disable_pydantic_plugins

    disable_pydantic_plugins()
    # Importing makes many objects and little garbage: a lower threshold spends a tenth of a cold command on that.
    gc.set_threshold(200_000, 20, 20)
    work = None if completes else _work_without_parser(arguments)
    if work is not None:
        from strands_cli.cli.output.messages import exit_code_of_call

        return exit_code_of_call(work, arguments)
    from strands_cli.cli.program import run_program

    return run_program(arguments)


def _work_without_parser(arguments: list[str]) -> Callable[[], int] | None:
    """Return the work of a command line of only flags, files or words; None if Typer has to parse it."""
    command, words = arguments[:1], arguments[1:]
    if arguments[:2] == ["tools", "list"]:
        command, words = ["list-tools"], arguments[2:]
    if command == ["list-tools"]:
        from strands_cli.cli.commands.tool_list import FLAGS, list_installed

        if set(words) <= FLAGS.keys():
            flags: dict[str, Any] = {FLAGS[word]: True for word in words}
            return lambda: list_installed(**flags)
    elif command == ["validate"] and words and not any(word.startswith("-") for word in words):
        from strands_cli.cli.commands.file_check import check_files

        return lambda: check_files(words)
    return None


def _print_plain(text: str) -> int:
    """Print a fixed text and return the exit code."""
    try:
        print(text, end="", flush=True)
    except OSError as error:
        from strands_cli.cli.output.messages import report_error
        from strands_cli.cli.output.results import OutputClosed

        return report_error(OutputClosed() if isinstance(error, BrokenPipeError) else error)
    return 0


def end_despite_threads(code: int) -> None:
    """End the process with its code even if a tool has left a thread that does not end."""
    threading = sys.modules.get("threading")
    if threading is None:
        return
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        timer = threading.Timer(EXIT_GRACE_S, os._exit, [code])
        timer.daemon = True
        timer.start()


def open_missing_streams() -> None:
    """Open the null device in place of a stdin, stdout or stderr that the caller has closed.

    Otherwise Python has None there, and the next opened file gets the free descriptor: the output of a tool would be
    written into the journal of a run.
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
