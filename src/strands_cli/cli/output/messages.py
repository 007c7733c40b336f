"""Every output besides results: lines, findings and errors on stderr, and the exit code of an error."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from strands_cli.cli.output.results import (
    OutputClosed,
    expect_document,
    lacks_document,
    print_json,
    result_lost,
    without_secrets,
)
from strands_cli.cli.terminal_text import laid_out
from strands_cli.errors import (
    ArtifactError,
    ExitCode,
    Finding,
    Interrupted,
    NotEquipped,
    PluginFailed,
    StrandsCliError,
    UsageError,
    WaitingForPerson,
    continued,
    did_you_mean,
    exit_code_of,
)
from strands_cli.texts.unicode_safety import printable


def discard_output(stream: TextIO) -> None:
    """Discard the buffered text of a stream, so that the interpreter's last flush does not fail."""
    with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, stream.fileno())
        os.close(null_device)


# The stream for our own lines, where others have a pipe in the place of stderr, and whether the lines are JSON.
_real: TextIO | None = None
_is_json = False
# The advice for an option that only another command has.
_OPTIONS_ELSEWHERE = {
    "--notify": "strands runs notify --test sends a test message to each target of your config file",
    "--publisher": "strands plugin publisher NAME asks the index again who published it",
    "--budget": "limit the money by --max-cost 0.50, and the rest in the workflow: `runtime: {budgets: {max_tokens: "
    "50000}}`; a stored run can raise them: strands resume RUN --budget max_tokens=50000",
}
# The option of ours for words of other programs, of other commands, and of the format.
_OPTIONS_HERE = {
    "--concurrency": (
        "--max-parallel",
        "--parallel",
        "--max-workers",
        "--workers",
        "--jobs",
        "-j",
        "--max-concurrency",
    ),
    "--var": ("--input", "--inputs", "--set", "--param", "--arg", "--variable", "-p", "-e", "-D"),
    "--vars-file": ("--vars", "--var-file", "--input-file", "--inputs-file", "--params", "--values"),
    "--output": ("--out", "--results", "--output-file", "--result-file"),
    "--yes": ("--no-input", "--auto-approve", "--approve", "--force-yes"),
    "--quiet": ("--silent", "--no-progress"),
    "--verbose": ("--trace-level", "--log-level"),
    "--model": ("--model-id", "--model-name", "-m"),
    "--host": ("--base-url", "--api-base", "--url", "--endpoint"),
    "--rate": ("--rate-limit", "--rps"),
    "--out": ("--output", "--output-dir", "-o", "--out-dir"),
    "--runs-dir": ("--runs", "--state-dir"),
    "--limit": ("--max", "-n", "--top", "--count"),
}
# The advice where a command lacks this argument or option.
_MISSING = {
    "RUN": "name a run of `strands runs list`, or `last`",
    "RUN...": "name runs of `strands runs list`",
    "SPEC": "name a workflow file",
    "SPEC...": "name workflow files",
    "--from": "name a step of `strands runs show RUN`: --from KEY",
}


def write_to(stream: TextIO, *, as_json: bool = False) -> None:
    """Write the lines for stderr to this stream, or with `as_json` (`--log json`) one object per line."""
    global _real, _is_json
    _real, _is_json = stream, as_json


def real_stderr() -> TextIO:
    """Return the stream that ends where stderr ended when the program started."""
    return _real or sys.stderr


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
    return _is_json


def say(text: str, *, before: str = "", after: str = "", log: Mapping[str, Any] | None = None) -> None:
    """Print lines for the person on stderr: at a terminal broken between words, and coloured.

    Args:
        before: Text before them in the same write.
        after: Text after them.
        log: The fields of the line where stderr is JSON, such as `level`, and `message` in place of the text.
    """
    if _is_json and log is not None:
        fields = {"message": text, **log}
        write_log(fields.pop("message"), **fields)
        return
    text = printable(text).rstrip("\n")
    # Without secrets before it is broken: a part of one would not be found.
    write_error(f"{before}{text if _is_json else laid_out(without_secrets(text), real_stderr())}\n{after}")


def write_error(text: str) -> None:
    """Write to stderr, as a line of the log where that is JSON."""
    if not _is_json:
        _write_stderr(text)
    elif text.strip():
        write_log(text.strip())


def _write_stderr(text: str) -> None:
    """Write to stderr; if it is closed, the work continues without it."""
    stream = real_stderr()
    try:
        stream.write(without_secrets(text))
        stream.flush()
    except (OSError, ValueError):
        discard_output(stream)


def say_findings(findings: Iterable[Finding]) -> None:
    """Print findings on stderr, each with its place and its fix."""
    for finding in findings:
        say(str(finding))


def exit_code_of_call(work: Callable[[], Any], arguments: Sequence[str] = ()) -> int:
    """Run the work of a command line and return its exit code; nothing else in the CLI maps errors to codes.

    A command line with `--json` that fails prints one document about its error, unless the work has printed one.
    """
    options = list(arguments)[: list(arguments).index("--")] if "--" in arguments else arguments
    expect_document(is_wanted="--json" in options)
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
    if isinstance(error, OutputClosed) or (
        isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)
    ):
        discard_output(sys.stdout)
        return ExitCode.OK
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        discard_output(sys.stdout)
        error = result_lost(error)
    if isinstance(error, FileNotFoundError) and not _has_current_directory():
        error = UsageError("the current directory has been deleted", fix="cd to one that exists")
    error = _of_files(error)
    if isinstance(error, StrandsCliError):
        _print_missing_document(error)
        _say_error(error)
        return error.exit_code
    return _report_typer_error(error)


def _report_typer_error(error: BaseException) -> int:
    """Report exceptions of Typer, and unexpected exceptions."""
    import typer

    # Typer contains its own copy of Click since 0.25 and uses the package before; both derive from this class.
    click_exception = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
    if isinstance(error, (SystemExit, typer.Exit)):
        code = error.code if isinstance(error, SystemExit) else error.exit_code
        return code if isinstance(code, int) else ExitCode.OK if code is None else ExitCode.INTERNAL
    if isinstance(error, click_exception):
        if type(error).__name__ == "NoArgsIsHelpError":  # a group without a command: its message is the help
            error.show()  # type: ignore[attr-defined]
            return ExitCode.USAGE
        message = error.format_message().replace("Value error, ", "").removesuffix(".")  # type: ignore[attr-defined]
        context = getattr(error, "ctx", None)
        if _asks_for_json(error, context):
            return report_error(UsageError(message.partition(" (")[0], fix="did you mean `--json`?"))
        if here := _option_here(error, context):
            return report_error(UsageError(message.partition(" (")[0].partition(". Did")[0], fix=here))
        if elsewhere := _option_elsewhere(getattr(error, "option_name", "")):
            return report_error(UsageError(message.partition(" (")[0].partition(". Did")[0], fix=elsewhere))
        message, _, guess = message.partition(". Did you mean ")
        usage = f"see `{context.command_path} --help`" if context else None
        return report_error(UsageError(message, fix=f"did you mean {guess}" if guess else _fix(message) or usage))
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return report_error(Interrupted("interrupted"))
    _print_missing_document(error)
    _report_our_fault(error)
    return exit_code_of(error)


def _of_files(error: BaseException) -> BaseException:
    """Return an error with its fix where it follows from the limit on open files: the program has no part in it."""
    if not _lacks_files(error):
        return error
    fix = "let the process have more, such as `ulimit -n 1024`, and run the command again"
    if not isinstance(error, StrandsCliError):
        return NotEquipped(f"this process may not open more files: {error}", fix=fix)
    error.fix = fix
    return error


def _lacks_files(error: BaseException | None) -> bool:
    """Return whether an error follows from the limit on open files, of the process or of the system."""
    seen: set[int] = set()  # an error may be its own context, where it is raised again from one that it caused
    while error is not None and id(error) not in seen:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _print_missing_document(error: BaseException) -> None:
    """Print the document of an error where one is expected; a closed or full stdout is reported elsewhere."""
    if lacks_document():
        with contextlib.suppress(OutputClosed, ArtifactError):
            print_json({"error": error_document(error)})


def _option_here(error: BaseException, context: Any) -> str | None:
    """Return the option that a command has for another word of it; None for a word that nothing here means."""
    word = getattr(error, "option_name", None)
    if word is None or context is None:
        return None
    present = {name for parameter in context.command.params for name in parameter.opts}
    option = next((name for name, words in _OPTIONS_HERE.items() if word in words and name in present), None)
    return f"did you mean `{option}`?" if option else None


def _option_elsewhere(word: str) -> str | None:
    """Return the advice for an option of another command, or for one that an installed distribution knows."""
    from strands_cli.catalog.command_names import advice_on_option  # scans the installed distributions

    return _OPTIONS_ELSEWHERE.get(word) or (advice_on_option(word) if word else None)


def _asks_for_json(error: BaseException, context: Any) -> bool:
    """Return whether an unknown option is one by which other programs print JSON, and the command has `--json`."""
    if getattr(error, "option_name", None) not in ("--format", "--output-format") or context is None:
        return False
    return any("--json" in parameter.opts for parameter in context.command.params)


def _fix(message: str) -> str | None:
    """Return the fix for a parser's message about an unknown choice, or about a missing argument."""
    if match := re.search(r"'([^']*)' is not one of ('.*)", message):
        close = did_you_mean(match[1], re.findall(r"'([^']*)'", match[2]))
        return f"did you mean '{close}'?" if close else None
    if match := re.search(r"Option '(-[^']*)' requires an argument", message):
        return f"write its value after it: {match[1]} VALUE"
    match = re.match(r"Missing (?:argument|option) '([^']*)'", message)
    return _MISSING.get(match[1]) if match else None


def _say_error(error: StrandsCliError) -> None:
    """Print the findings, and the error itself unless it only counts or repeats them; a run that waits has no error."""
    if isinstance(error, PluginFailed) and os.environ.get("STRANDS_DEBUG"):
        _write_traceback(error.__cause__ or error)
    say_findings(error.findings)
    errors = [finding for finding in error.findings if finding.severity == "error"]
    if len(errors) != 1 or (error.fix and error.message != errors[0].message):
        label, next_label = ("waiting", "next") if isinstance(error, WaitingForPerson) else ("error", "fix")
        fix = f"\n  {next_label}: {continued(error.fix)}" if error.fix else ""
        say(continued(f"{label}: {error.brief or error.message}") + fix)


def _has_current_directory() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - whether the call works is all that matters
    except FileNotFoundError:
        return False
    return True


def _report_our_fault(error: BaseException) -> None:
    import traceback

    if os.environ.get("STRANDS_DEBUG"):
        _write_traceback(error)
    last = traceback.extract_tb(error.__traceback__)[-1:] if error.__traceback__ else []
    position = f" at {last[0].filename}:{last[0].lineno}" if last else ""
    owner = _distribution_at_fault(error)
    say(f"error: this is a bug in {owner or 'strands-cli'}: {type(error).__name__}: {error}{position}")
    to = f" to the authors of {owner}" if owner else ""
    say(f"  fix: run it again with STRANDS_DEBUG=1 for the whole traceback, and report it{to}")


def _distribution_at_fault(error: BaseException) -> str | None:
    """Return the distribution whose part raised an exception; None where it is not code of a part."""
    import traceback

    from strands_cli.parts.named_parts import owners_of_packages

    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    try:
        owners = owners_of_packages()
    except Exception:  # noqa: BLE001 - the report of a bug must not fail
        return None
    for folders in (Path(file).parts for file in reversed(files)):
        if "strands_cli" in folders:
            return None
        for name in reversed(folders):
            if (package := name.removesuffix(".py")) in owners:
                return owners[package]
    return None


def _write_traceback(error: BaseException) -> None:
    import traceback

    write_error("".join(traceback.format_exception(error)))


def error_document(error: BaseException) -> dict[str, Any]:
    """Return an error as the part `error` of a JSON document."""
    error = _of_files(error)
    is_ours = isinstance(error, StrandsCliError)
    fix = error.fix if isinstance(error, StrandsCliError) else None
    return {
        "code": exit_code_of(error).name.lower().replace("_", "-"),
        "message": error.message if isinstance(error, StrandsCliError) else f"{type(error).__name__}: {error}",
        "exit_code": int(exit_code_of(error)),
        "fix": re.sub(r"\n +", "\n", fix) if fix else fix,  # its lines are indented for a person alone
        "findings": [finding.as_dict() for finding in error.findings] if is_ours else [],  # type: ignore[attr-defined]
    }
