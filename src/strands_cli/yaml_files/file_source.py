"""The files that a workflow names, read from disk or from what a run has stored."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from strands_cli.errors import Code, Finding, InvalidInput
from strands_cli.quick_dataclass import dataclass
from strands_cli.yaml_files.document import Document
from strands_cli.yaml_files.document_reader import read_document

FILE_NOT_READ = Code(
    "file-not-read",
    "A file that the workflow names is not read here, so its content is not checked.",
    "Check the workflow where its files are: strands validate FILE.",
)

_ELSEWHERE = "check it in the folder with its files"


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """The files that a run has stored, so that a resumed run uses the texts it began with.

    Attributes:
        folder: The workflow's folder.
        texts: The texts by `stored_name` of their files; other files are read from disk.
        is_all: Whether other files must not be read; one that is named is then a warning.
        packaged: The name `DIST/NAME` of a workflow or an agent that an installed distribution brings; it reads the
            files of its own folder only. Empty for any other.
        format_version: The version that the format had when a run stored the texts; None for that of now.
        of_others: Whether others wrote the workflow, as it was decided on another machine; None where it is not one.
    """

    folder: Path | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    is_all: bool = False
    packaged: str = ""
    format_version: int | None = None
    of_others: bool | None = None

    def read(self, path: Path, shown: Path | None = None) -> Document:
        """Return a file as a document; `shown` is its name in findings. Raises as `read_document` does."""
        text = self.texts.get(stored_name(path))
        if text is None and self.is_all:
            finding = Finding(FILE_NOT_READ, f"'{shown or path}' is not read here", None, _ELSEWHERE, "warning")
            raise InvalidInput("the file is not read here", findings=[finding])
        return read_document(shown or path, text)

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
    """Return what relative paths of a workflow start from: its file's folder, else the working directory."""
    return Path.cwd() if document.file.startswith("<") else Path(document.file).absolute().parent
