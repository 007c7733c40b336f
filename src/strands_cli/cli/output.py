"""How the commands speak: results on stdout, everything else on stderr, JSON as one document, no raw foreign text."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterable
from typing import Any

from strands_cli.errors import ExitCode, Finding, Interrupted, StrandsCliError, exit_code_of

_HARMLESS = {"\n", "\t"}
_HIDDEN_CATEGORIES = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}


def printable(text: str) -> str:
    r"""Escape control, bidi and invisible characters of text that came from outside (`\x1b` becomes `\\x1b`)."""
    return "".join(
        char
        if char in _HARMLESS or unicodedata.category(char) not in _HIDDEN_CATEGORIES
        else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def print_result(text: str) -> None:
    """Print a command's result for a person or a pipe, foreign characters escaped."""
    sys.stdout.write(printable(text).rstrip("\n") + "\n")


def print_json(document: Any) -> None:
    """Print one JSON document; nothing else may go to stdout beside it."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def say(text: str) -> None:
    """Print a line for the person on stderr."""
    sys.stderr.write(printable(text).rstrip("\n") + "\n")


def say_findings(findings: Iterable[Finding]) -> None:
    """Print findings on stderr, each with its place and its fix."""
    for finding in findings:
        say(str(finding))


def colour_wanted(stream: Any) -> bool:
    """Return whether control codes may go to this stream: a terminal, and neither NO_COLOR nor TERM=dumb."""
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def report_error(error: BaseException) -> int:
    """Say on stderr what went wrong and return the exit code that belongs to it."""
    import typer

    # Typer brings its own copy of Click since 0.25 and uses the package before; both hang below this class.
    click_exception = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
    if isinstance(error, (SystemExit, typer.Exit)):
        code = error.code if isinstance(error, SystemExit) else error.exit_code
        return code if isinstance(code, int) else ExitCode.OK if code is None else ExitCode.INTERNAL
    if isinstance(error, click_exception):
        error.show()  # type: ignore[attr-defined]
        return ExitCode.USAGE
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        error = Interrupted("interrupted")
    if isinstance(error, BrokenPipeError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - the reader is gone; keep the final flush quiet
        return ExitCode.OK
    if isinstance(error, StrandsCliError):
        say_findings(error.findings)
        if not any(finding.message == error.message for finding in error.findings):
            say(f"error: {error.message}" + (f"\n  fix: {error.fix}" if error.fix else ""))
        return error.exit_code
    _report_our_fault(error)
    return exit_code_of(error)


def _report_our_fault(error: BaseException) -> None:
    import traceback

    if os.environ.get("STRANDS_DEBUG"):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1:] if error.__traceback__ else []
    place = f" at {last[0].filename}:{last[0].lineno}" if last else ""
    say(f"error: this is a fault of strands-cli: {type(error).__name__}: {error}{place}")
    say("  fix: run again with STRANDS_DEBUG=1 for the whole trace, and report it")
