"""Output of the commands: results on stdout, everything else on stderr, JSON as one document, no raw foreign text."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

from strands_cli.errors import (
    ArtifactError,
    ExitCode,
    Finding,
    Interrupted,
    StrandsCliError,
    continued,
    exit_code_of,
)
from strands_cli.unicode_safety import HARMLESS, is_hidden

_NOT_ASCII = re.compile(r"[^\x00-\x7e]")


def printable(text: str) -> str:
    r"""Escape control, bidi and invisible characters of text from outside (`\x1b` becomes `\\x1b`)."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode("ascii") if is_hidden(char) and char not in HARMLESS else char
        for char in text
    )


def one_line(text: str) -> str:
    r"""Return a text as one line, to be part of a line of ours: a line end becomes `\\n`."""
    return text.replace("\n", "\\n")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines of aligned columns; the last column is not padded."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def shortened(value: Any, limit: int) -> str:
    """Return a text, or another value as Python writes it, cut after so many characters."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else f"{text[:limit]}..."


def fitted(text: str, columns: int) -> tuple[str, int]:
    """Return the start of a line that fits into `columns`, and its width (East Asian characters take two columns)."""
    width = 0
    for index, char in enumerate(text):
        step = 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if width + step > columns:
            return text[:index], width
        width += step
    return text, width


def print_result(text: str) -> None:
    """Print a command's result for a person or a pipe, foreign characters escaped."""
    _write_result(printable(text).rstrip("\n") + "\n")


def print_response(text: str) -> None:
    """Print a model's or a tool's response: unchanged to a pipe or a file, hidden characters escaped on a terminal."""
    _write_result((printable(text) if sys.stdout.isatty() else text) + "\n")


def print_json(document: Any) -> None:
    """Print one JSON document; nothing else may be written to stdout."""
    # Without indentation the C encoder does the work, which saves 10 ms for 1,000 tools.
    _write_result(json_text(document, indent=2 if sys.stdout.isatty() else None) + "\n")


def json_text(document: Any, *, indent: int | None = None) -> str:
    """Return JSON with readable text; characters that are hidden or cannot be encoded are escaped."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    text = json.dumps(document, ensure_ascii=encoding != "utf8", indent=indent, default=str)
    # Outside strings JSON is ASCII, so every replaced character is inside a string.
    return _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1] if is_hidden(found[0]) else found[0], text)


def _without_secrets(text: str) -> str:
    """Return a text without the secrets that this process has read; without any, the code is not imported."""
    process = sys.modules.get("strands_cli.secrets.process_streams")
    return process.redact_output(text) if process is not None else text


def _write_result(text: str) -> None:
    text = _without_secrets(text)
    try:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:
            encoding = sys.stdout.encoding
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise ReaderGone from error
    except (OSError, ValueError) as error:
        raise result_lost(error) from error


class ReaderGone(Exception):
    """The reader of stdout has stopped (`| head -1`): there is nothing more to say, and nothing is wrong."""


def result_lost(error: BaseException) -> ArtifactError:
    """Return the error for a stdout that cannot be written to any more."""
    reason = getattr(error, "strerror", None) or error
    return ArtifactError(f"the result cannot be written to stdout: {reason}", fix="free disk space, or write elsewhere")


def discard_output(stream: TextIO) -> None:
    """Discard what is still buffered for a stream, so that the interpreter's last flush does not fail."""
    with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, stream.fileno())
        os.close(null_device)


# The stream for the log, where stderr is JSON.
_log: TextIO | None = None


def log_to(stream: TextIO) -> None:
    """Write the lines for stderr as JSON to this stream, one object per line (`--log json`)."""
    global _log
    _log = stream


def log_line(text: str, *, level: str | None = None, **fields: Any) -> str:
    """Return a line of the log: time, level, message and further fields."""
    from datetime import UTC, datetime

    first = text.partition(" ")[0]
    guess = "error" if first.startswith("error") else "warning" if first.startswith(("warning", "denied")) else "info"
    head = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level or guess, "message": text}
    return json.dumps({**head, **fields}, default=str) + "\n"


def write_log(text: str, *, level: str | None = None, **fields: Any) -> None:
    """Write a line of the log."""
    _write_stderr(log_line(text, level=level, **fields))


def logs_json() -> bool:
    """Return whether stderr is JSON."""
    return _log is not None


def say(text: str) -> None:
    """Print a line for the person on stderr."""
    write_error(printable(text).rstrip("\n") + "\n")


def write_error(text: str) -> None:
    """Write to stderr, as a line of the log where that is JSON."""
    if _log is None:
        _write_stderr(text)
    elif text.strip():
        write_log(text.strip())


def _write_stderr(text: str) -> None:
    """Write to stderr; if it is closed, the work continues without it."""
    stream = _log or sys.stderr
    try:
        stream.write(_without_secrets(text))
        stream.flush()
    except (OSError, ValueError):
        discard_output(stream)


def say_findings(findings: Iterable[Finding]) -> None:
    """Print findings on stderr, each with its place and its fix."""
    for finding in findings:
        say(str(finding))


def exit_code_of_call(work: Callable[[], Any]) -> int:
    """Run the work of a command line and return its exit code; nothing else in the CLI maps errors to codes."""
    try:
        code = int(work() or 0)
    except BaseException as error:  # noqa: BLE001 - the one place where every error becomes an exit code
        code = report_error(error)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output(sys.stdout)
    except (OSError, ValueError) as error:
        discard_output(sys.stdout)
        code = code or report_error(result_lost(error))
    return code


def report_error(error: BaseException) -> int:
    """Print an error on stderr and return its exit code."""
    # Click turns a broken pipe under its own output (help) into SystemExit(1).
    if isinstance(error, ReaderGone) or (
        isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)
    ):
        discard_output(sys.stdout)
        return ExitCode.OK
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        discard_output(sys.stdout)
        error = result_lost(error)
    if isinstance(error, FileNotFoundError) and not _has_current_directory():
        say("error: the current directory has been deleted\n  fix: cd to one that exists")
        return ExitCode.USAGE
    if isinstance(error, StrandsCliError):
        _say_error(error)
        return error.exit_code
    return _report_typer_error(error)


def _report_typer_error(error: BaseException) -> int:
    """Report what Typer raises, and unexpected exceptions."""
    import typer

    # Typer contains its own copy of Click since 0.25 and uses the package before; both derive from this class.
    click_exception = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
    if isinstance(error, (SystemExit, typer.Exit)):
        code = error.code if isinstance(error, SystemExit) else error.exit_code
        return code if isinstance(code, int) else ExitCode.OK if code is None else ExitCode.INTERNAL
    if isinstance(error, click_exception):
        error.message = error.message.replace("Value error, ", "")  # type: ignore[attr-defined]
        error.show()  # type: ignore[attr-defined]
        return ExitCode.USAGE
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return report_error(Interrupted("interrupted"))
    _report_our_fault(error)
    return exit_code_of(error)


def _say_error(error: StrandsCliError) -> None:
    """Print the findings, and the error itself unless it only counts or repeats them."""
    say_findings(error.findings)
    errors = [finding for finding in error.findings if finding.severity == "error"]
    if len(errors) != 1 or (error.fix and error.message != errors[0].message):
        say(continued(f"error: {error.message}") + (f"\n  fix: {continued(error.fix)}" if error.fix else ""))


def _has_current_directory() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - whether the call works is all that matters
    except FileNotFoundError:
        return False
    return True


def _report_our_fault(error: BaseException) -> None:
    import traceback

    if os.environ.get("STRANDS_DEBUG"):
        write_error("".join(traceback.format_exception(error)))
    last = traceback.extract_tb(error.__traceback__)[-1:] if error.__traceback__ else []
    place = f" at {last[0].filename}:{last[0].lineno}" if last else ""
    say(f"error: this is a bug in strands-cli: {type(error).__name__}: {error}{place}")
    say("  fix: run it again with STRANDS_DEBUG=1 for the whole traceback, and report it")


def error_document(error: BaseException) -> dict[str, Any]:
    """Return an error as the part `error` of a JSON document."""
    known = isinstance(error, StrandsCliError)
    return {
        "message": error.message if isinstance(error, StrandsCliError) else f"{type(error).__name__}: {error}",
        "exit_code": int(exit_code_of(error)),
        "fix": error.fix if isinstance(error, StrandsCliError) else None,
        "findings": [finding.as_dict() for finding in error.findings] if known else [],  # type: ignore[attr-defined]
    }
