"""Results on stdout, JSON as one document; a reader that has stopped is not an error."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from strands_cli.cli.terminal_text import laid_out
from strands_cli.errors import ArtifactError
from strands_cli.texts.unicode_safety import is_hidden, printable

if TYPE_CHECKING:
    from pathlib import Path

JSON_FORMAT = 1
_NOT_ASCII = re.compile(r"[^\x00-\x7e]")


# Whether the command line wants a JSON document, and none has been printed.
_lacks_document = False


def expect_document(*, is_wanted: bool) -> None:
    """Set whether one JSON document is still to be printed."""
    global _lacks_document
    _lacks_document = is_wanted


def lacks_document() -> bool:
    """Return whether the command line wants a JSON document, and none has been printed."""
    return _lacks_document


def print_result(text: str) -> None:
    """Print a command's result for a person or a pipe, foreign characters escaped."""
    # Without secrets before it is broken: a part of one would not be found.
    _write_result(laid_out(without_secrets(printable(text)).rstrip("\n"), sys.stdout) + "\n")


def write_result(path: Path, text: str) -> None:
    """Write a command's result to a file, without the secrets that this process has read; a link stays a link.

    A reader of the file sees the former text or the whole new one.

    Raises:
        ArtifactError: The file cannot be written.
    """
    from strands_cli.system.atomic_file import write_atomically

    content = without_secrets(text).encode()
    try:
        if path.exists() and not path.is_file():  # a pipe, or a terminal
            path.write_bytes(content)
        else:
            write_atomically(path.resolve(), content, force=True, mode=0o666)
    except OSError as error:
        raise ArtifactError(f"{path} cannot be written: {error.strerror}", fix="name another file") from error


def print_response(text: str, part_on: TextIO | None = None, *, is_file: bool = False) -> None:
    """Print a model's or a tool's response: unchanged to a pipe or a file, hidden characters escaped on a terminal.

    Args:
        part_on: The terminal for a part of a response, which ends no line; one that has gone is ignored.
        is_file: Whether the text is that of a file, to which no end of a line is added in a pipe or a file.
    """
    if part_on is not None:
        with contextlib.suppress(OSError, ValueError):
            part_on.write(without_secrets(printable(text)))
            part_on.flush()
        return
    if sys.stdout.isatty():
        _write_result(printable(text.removesuffix("\n") if is_file else text) + "\n")
    else:
        _write_result(text if is_file else text + "\n")


def print_json(document: Mapping[str, Any], *, is_ours: bool = True) -> None:
    """Print one JSON document; nothing else may be written to stdout.

    One of ours has the version of its form: within a version fields are added, and none is renamed, removed or given
    another type (docs/reference/json.md). JSON Schema and SARIF have forms of their own.
    """
    expect_document(is_wanted=False)
    document = {"format": JSON_FORMAT, **document} if is_ours else document
    # Without indentation the C encoder does the work, which saves 10 ms for 1,000 tools.
    _write_result(json_text(document, indent=2 if sys.stdout.isatty() else None) + "\n")


def json_text(document: Any, *, indent: int | None = None) -> str:
    """Return JSON with readable text; characters that are hidden or cannot be encoded are escaped."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    text = json.dumps(document, ensure_ascii=encoding != "utf8", indent=indent, default=str)
    # Outside strings JSON is ASCII, so every replaced character is inside a string.
    return _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1] if is_hidden(found[0]) else found[0], text)


def without_secrets(text: str) -> str:
    """Return a text without the secrets that this process has read; without any, the code is not imported."""
    process = sys.modules.get("strands_cli.secrets.process_streams")
    return process.redact_output(text) if process is not None else text


def _write_result(text: str) -> None:
    text = without_secrets(text)
    try:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:
            encoding = sys.stdout.encoding
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise OutputClosed from error
    except (OSError, ValueError) as error:
        raise result_lost(error) from error


class OutputClosed(Exception):
    """The reader of stdout has stopped (`| head -1`): there is nothing more to say, and nothing is wrong."""


def result_lost(error: BaseException) -> ArtifactError:
    """Return the error for a stdout that cannot be written to any more."""
    reason = getattr(error, "strerror", None) or error
    return ArtifactError(f"the result cannot be written to stdout: {reason}", fix="free disk space, or write elsewhere")
