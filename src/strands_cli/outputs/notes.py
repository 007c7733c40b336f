"""The notes file of a workflow: notes are appended as Markdown or as JSON Lines, and the latest are read back."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from strands_cli.errors import ArtifactError

# A line of ours before each Markdown note: what a model writes may hold any heading.
_MARK = "<!-- note "


@dataclass(frozen=True, slots=True)
class Note:
    """What one agent step leaves behind; `id` is the note's alone, `at` seconds since the epoch."""

    id: str
    at: float
    agent: str
    step: str
    text: str


@dataclass(frozen=True, slots=True)
class NotesFile:
    """A file of notes; it need not exist."""

    path: Path
    format: Literal["markdown", "json"] = "markdown"

    def last(self, count: int) -> list[str]:
        """Return the latest notes, oldest first; what people wrote before the first one counts as one.

        Raises:
            ArtifactError: the file cannot be read.
        """
        written = self._read()
        notes = _json_notes(written) if self.format == "json" else _markdown_notes(written)
        return notes[-count:] if count else []

    def append(self, note: Note) -> None:
        """Add a note at the end, unless the file has it already: a process may have died right after writing it.

        Raises:
            ArtifactError: the file cannot be written.
        """
        before = self._read()
        if note.id in before:
            return
        gap = "" if not before or before.endswith("\n") else "\n"
        written = gap + (_json_line(note) if self.format == "json" else _markdown(note, follows=bool(before)))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # In one write at the end of the file, so that other runs may use the same notes.
            with self.path.open("ab", buffering=0) as stream:
                stream.write(written.encode("utf-8", "backslashreplace"))
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
            fix="mend the file or its permissions, or name another one in context_policy.notes.file",
        )


def place_notes(root: Path, name: str) -> Path:
    """Return where the notes file of this name is.

    Raises:
        ArtifactError: the name leads out of the working directory `root`, by itself or through a link.
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


def _json_notes(written: str) -> list[str]:
    """Return the text of each line; a line that is no note of ours is one as it stands."""
    return [_json_text(line) for line in written.split("\n") if line.strip()]


def _json_text(line: str) -> str:
    try:
        note = json.loads(line)
        return f"{note['agent']}, {note['step']}: {note['text']}"
    except (ValueError, TypeError, KeyError):
        return line.strip()
