"""The files a workflow names, read from disk or as a run has kept them: a resumed run sees what it began with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from strands_cli.errors import Finding, InvalidInput
from strands_cli.workflow.document import Document
from strands_cli.workflow.document_reader import read_document

_ELSEWHERE = "check it where its files are"


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """What a run kept: its workflow's folder, and texts by `place_of` their files; anything else is read from disk.

    `is_all` tells that nothing else may be read: a file that is named and not kept is a warning.
    """

    folder: Path | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    is_all: bool = False

    def read(self, path: Path, shown: Path | None = None) -> Document:
        """Return a file as a document; `shown` is how findings call it. Raises as `read_document` does."""
        text = self.texts.get(place_of(path))
        if text is None and self.is_all:
            finding = Finding("file-not-read", f"'{shown or path}' is not read here", None, _ELSEWHERE, "warning")
            raise InvalidInput("the file is not read here", findings=[finding])
        return read_document(shown or path, text)

    def text(self, path: Path) -> str | None:
        """Return a file's text, or None where it cannot be read."""
        try:
            kept = self.texts.get(place_of(path))
            return kept if kept is not None or self.is_all else path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None


NO_SNAPSHOT = FileSnapshot()


def place_of(path: str | Path) -> str:
    """Return the one name under which a file's text is kept; it need not exist any more."""
    return os.path.realpath(path)
