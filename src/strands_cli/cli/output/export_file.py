"""The file of a report or of another export: where it may be written, and writing it whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from strands_cli.errors import ArtifactError


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
            others: Files that are used or written too.

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
