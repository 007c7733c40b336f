"""Results on stdout, JSON as one document; a reader that closes the pipe is not an error."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from strands_cli.cli.terminal_text import laid_out
from strands_cli.errors import ArtifactError
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.unicode_safety import is_hidden, printable

if TYPE_CHECKING:
    from pathlib import Path


# The file of a report or of another export: where it may be written, and writing it whole or not at all.


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A file that a command writes at its end; only its user may read it, as the journal.

    Attributes:
        noun: The name of its kind for messages: `report`.
        mark: The text that each file of its kind begins with: such a file is overwritten. Empty: none is.
        force: Whether another file may be overwritten too.
    """

    path: Path
    noun: str
    mark: str = ""
    force: bool = False

    def require_writable(self, others: Iterable[Path] = ()) -> None:
        """Check that it can be written, before anything is paid for.

        Args:
            others: Other files to read or write.

        Raises:
            ArtifactError: It cannot.
        """
        from strands_cli.outputs.artifacts import obstacle

        path, named = self.path, f"the {self.noun} {self.path}"
        if any(path.resolve() == other.resolve() for other in others):
            raise ArtifactError(f"{named} is a file of the run too", fix=f"give the {self.noun} another name")
        if path.is_dir():
            raise ArtifactError(f"{named} is a directory", fix="name a file in it")
        if not path.parent.is_dir():
            missing = f"{named} cannot be written: there is no directory {path.parent}"
            raise ArtifactError(missing, fix="make the directory, or choose another place")
        if reason := obstacle(path.parent):
            raise ArtifactError(f"{named} cannot be written: {reason}", fix="choose another place")
        self._require_free()

    def write(self, content: str | bytes) -> int:
        """Write the file and return its size in bytes.

        Raises:
            ArtifactError: It cannot be written.
        """
        from strands_cli.system.atomic_file import write_atomically

        whole = content.encode() if isinstance(content, str) else content
        self._require_free()
        try:
            write_atomically(self.path, whole, force=True, mode=0o600)
        except OSError as error:
            message = f"the {self.noun} {self.path} cannot be written: {error.strerror or error}"
            raise ArtifactError(message, fix="choose another place") from error
        return len(whole)

    def _require_free(self) -> None:
        path = self.path
        if path.exists() and not path.is_file():  # a device would be replaced by the file
            message = f"the {self.noun} {path} is neither new nor a file"
            raise ArtifactError(message, fix="choose another place")
        if not self.force and (path.exists() or path.is_symlink()) and not self._is_earlier():
            fix = "pass --force to overwrite it, or choose another name"
            raise ArtifactError(f"{path} exists already, and is not a {self.noun}", fix=fix)

    def _is_earlier(self) -> bool:
        """Return whether the file is an earlier one of the same kind."""
        mark = self.mark.encode()
        if not mark or self.path.is_symlink() or not self.path.is_file():  # a device may never end
            return False
        with contextlib.suppress(OSError), self.path.open("rb") as stream:
            return stream.read(len(mark)) == mark
        return False


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
    """Return JSON with readable text; hidden characters, and those that cannot be encoded, are escaped."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    text = json.dumps(document, ensure_ascii=encoding != "utf8", indent=indent, default=str)
    # Outside strings JSON is ASCII, so every replaced character is inside a string.
    return _NOT_ASCII.sub(lambda match: json.dumps(match[0])[1:-1] if is_hidden(match[0]) else match[0], text)


def without_secrets(text: str) -> str:
    """Return a text without the secrets that this process has read; without any, the code is not imported."""
    process = sys.modules.get("strands_cli.secrets.redactor")
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
