"""The notes file of a workflow: steps append notes as Markdown or JSON Lines, and prompts receive the latest."""

from __future__ import annotations

import errno
import json
import os
import time
from pathlib import Path
from typing import Literal

from strands_cli.errors import ArtifactError
from strands_cli.quick_dataclass import dataclass
from strands_cli.system.protected_names import unwritable_in

# The line before each Markdown note. A heading would not do, because models write headings too.
_MARK = "<!-- note "


@dataclass(frozen=True, slots=True)
class Note:
    """The note of one agent step; `id` is unique, `at` is in seconds since the epoch."""

    id: str
    at: float
    agent: str
    step: str
    text: str


@dataclass(frozen=True, slots=True)
class NotesFile:
    """A file of notes, which may not exist yet."""

    path: Path
    format: Literal["markdown", "json"] = "markdown"

    def last(self, count: int) -> list[str]:
        """Return the latest notes, oldest first; a text before the first note counts as a note.

        Raises:
            ArtifactError: The file cannot be read.
        """
        written = self._read()
        notes = _json_notes(written) if self.format == "json" else _markdown_notes(written)
        return notes[-count:] if count else []

    def append(self, note: Note) -> None:
        """Append a note, unless the file contains it: a process may have died right after it wrote the note.

        Raises:
            ArtifactError: The file cannot be written.
        """
        before = self._read()
        if note.id in before:
            return
        gap = "" if not before or before.endswith("\n") else "\n"
        written = gap + (_json_line(note) if self.format == "json" else _markdown(note, follows=bool(before)))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _append_whole(self.path, written.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise self._unusable(error) from error

    def _read(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        except (OSError, ValueError) as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> ArtifactError:
        return ArtifactError(
            f"the notes file {self.path} cannot be used: {error}",
            fix="repair the file or its permissions, or name another one in context_policy.notes.file",
        )


def _append_whole(path: Path, encoded: bytes) -> None:
    """Append by one unbuffered write, so that other runs can append too; no part is left on a full disk."""
    with path.open("ab", buffering=0) as stream:
        written = stream.write(encoded)
        if written < len(encoded):
            stream.truncate(stream.tell() - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def place_notes(root: Path, name: str) -> Path:
    """Return the path of the notes file.

    Raises:
        ArtifactError: The name leads out of the working directory `root`, by itself or through a link, or to a file
            that programs obey or that may hold credentials.
    """
    try:
        target = (root / name).resolve()
        inside = bool(name.strip()) and target != root.resolve() and target.is_relative_to(root.resolve())
        written_inside = not Path(name).is_absolute() and ".." not in Path(name).parts
    except (OSError, RuntimeError, ValueError):  # a loop of links, a null character
        inside = written_inside = False
    if not inside or not written_inside:
        raise ArtifactError(
            f"the notes file {name!r} is not inside the working directory", fix="use a relative path without '..'"
        )
    if unwritable := unwritable_in((*Path(name).parts, *target.relative_to(root.resolve()).parts)):
        raise ArtifactError(f"the notes file {name!r} has the protected name {unwritable!r}", fix="use another name")
    return target


def _markdown(note: Note, *, follows: bool) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(note.at))
    return f"{chr(10) * follows}{_MARK}{note.id} -->\n## {note.agent}, {note.step}, {when}\n\n{note.text}\n"


def _json_line(note: Note) -> str:
    fields = {"id": note.id, "at": note.at, "agent": note.agent, "step": note.step, "text": note.text}
    return json.dumps(fields, ensure_ascii=False) + "\n"


def _markdown_notes(written: str) -> list[str]:
    notes: list[list[str]] = [[]]
    for line in written.split("\n"):
        if line.startswith(_MARK):
            notes.append([])
        else:
            notes[-1].append(line)
    texts = ("\n".join(lines).strip() for lines in notes)
    return [text for text in texts if text]


def _json_notes(text: str) -> list[str]:
    """Return the text of each line; a line without a note in JSON is returned unchanged."""
    return [_json_text(line) for line in text.split("\n") if line.strip()]


def _json_text(line: str) -> str:
    try:
        note = json.loads(line)
        return f"{note['agent']}, {note['step']}: {note['text']}"
    except (ValueError, TypeError, KeyError):
        return line.strip()
