"""Reads a YAML or JSON file into a document."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from strands_cli.errors import Code, Finding, InvalidInput, UsageError, Where
from strands_cli.quick_dataclass import dataclass
from strands_cli.yaml_files.document import DOCUMENT_TOO_LARGE, Document, refused

FILE_UNREADABLE = Code("file-unreadable", "A file cannot be opened or read.", "Check the path and its permissions.", 2)
NOT_UTF8 = Code("not-utf8", "The bytes are not UTF-8 text.", "Save the file as UTF-8.")

# The endings of files that may be workflows or agents.
SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 10 * 1024 * 1024
STDIN = "-"


def read_document(source: Path | str, text: str | None = None) -> Document:
    """Read a YAML or JSON file, or a text.

    Args:
        source: Path of the file, or `-` for standard input; with `text` only its name in findings.
        text: The text, if it has been read already.

    Raises:
        UsageError: The file cannot be opened.
        InvalidInput: The text is too large, not UTF-8, or not one well-formed document.
    """
    from strands_cli.yaml_files.yaml_events import (
        parse,
    )  # PyYAML stays off the paths that read nothing

    name = str(source)
    if text is None:
        raw = _read_bytes(name)
        _require_size(len(raw), name)
        text = _decode(raw, name)
    else:
        _require_size(len(text), name)
    text = text.removeprefix("\ufeff")
    return parse(name if name != STDIN else "<stdin>", text)


def _read_bytes(name: str) -> bytes:
    try:
        if name == STDIN:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(name).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        fix = _file_in(Path(name)) if isinstance(error, IsADirectoryError) else "check the path"
        finding = Finding(FILE_UNREADABLE, f"cannot read {name!r}: {reason}", Where(name), fix)
        raise UsageError("the file cannot be read", findings=[finding]) from error


def _file_in(folder: Path) -> str:
    """Return which files of a folder may be named."""
    try:
        files = sorted(str(path) for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file())
    except OSError:
        files = []
    if not files:
        return "name a file; this folder has none in YAML"
    more = f"; {len(files)} are there" if len(files) > 1 else ""
    return f"name a file in it, such as {files[0]}{more}"


def _require_size(size: int, name: str) -> None:
    if size > MAX_BYTES:
        raise refused(DOCUMENT_TOO_LARGE, "the text is larger than 10 MB", Where(name), "split the workflow")


def _decode(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        message = f"the text is not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}"
        raise refused(NOT_UTF8, message, Where(name, line, column)) from error


# The files that a workflow names, read from disk or from the files of a stored run.


FILE_NOT_READ = Code(
    "file-not-read",
    "A file that the workflow names is not here, so it is not checked.",
    "Validate where the files are.",
)

_ELSEWHERE = "check it in the folder with its files"


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """The files that a run has stored, so that a resumed run uses the texts it began with.

    Attributes:
        folder: The workflow's folder.
        texts: The texts by `stored_name` of their files; other files are read from disk.
        is_all: Whether other files must not be read; a named one is then a warning.
        packaged: The name `DIST/NAME` of a workflow or an agent that an installed distribution brings; it reads the
            files of its own folder only. Empty for any other.
        format_version: The version that the format had when a run stored the texts; None for that of now.
        of_others: Whether others wrote the workflow, as it was decided on another machine; None where it is this one.
        default_model: The default model, PROVIDER/MODEL, when a run stored the texts; None for the user's of now.
        aliases: The models of the aliases that the workflow named then.
    """

    folder: Path | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    is_all: bool = False
    packaged: str = ""
    format_version: int | None = None
    of_others: bool | None = None
    default_model: str | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)

    def read(self, path: Path, shown_path: Path | None = None) -> Document:
        """Return a file as a document; `shown_path` is its name in findings. Raises as `read_document` does."""
        text = self.texts.get(stored_name(path))
        if text is None and self.is_all:
            finding = Finding(FILE_NOT_READ, f"'{shown_path or path}' is not read here", None, _ELSEWHERE, "warning")
            raise InvalidInput("the file is not read here", findings=[finding])
        return read_document(shown_path or path, text)

    def text(self, path: Path) -> str | None:
        """Return a file's text, or None where it cannot be read."""
        try:
            stored = self.texts.get(stored_name(path))
            return stored if stored is not None or self.is_all else path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None


NO_SNAPSHOT = FileSnapshot()


def stored_name(path: str | Path) -> str:
    """Return the name under which a file's text is stored; the file need not exist."""
    return os.path.realpath(path)


def folder_of(document: Document) -> Path:
    """Return the start of relative paths of a workflow: its file's folder, else the working directory."""
    return Path.cwd() if document.file.startswith("<") else Path(document.file).absolute().parent
