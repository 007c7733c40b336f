"""The file of results: never over a file of others, and never with fewer lines than before."""

from __future__ import annotations

import contextlib
import io
import json
import stat
import sys
from pathlib import Path
from typing import IO

from strands_cli.api import ArtifactError, UsageError
from strands_cli_batch.command_parts import PARTS

STDOUT = "-"
# Far more than the beginning of a line of ours needs.
_FIRST_BYTES = 4096
# Before the file is in its place, lines are written together.
_MOST_PENDING = 1_000_000
_ELSEWHERE = "name another file with -o"


def _place_of(out: Path) -> Path:
    """Return the file behind links; a pipe, such as `>(gzip)` of a shell, only has the name that it came with."""
    return out.absolute() if out.exists() and not out.is_file() else out.resolve()


class ResultFile:
    """Takes lines; a regular file is replaced when the lines of earlier processes are in it again.

    Attributes:
        path: The file, without links; None for standard output.
    """

    def __init__(self, out: str, stdout: IO[str] | None = None) -> None:
        """Take the place of the results.

        Args:
            out: The path, or `-` for standard output.
            stdout: The stream that leads to the standard output of the program.
        """
        self.path = None if out == STDOUT else _place_of(Path(out))
        self._stdout = stdout
        # Without a buffer of Python's, which would write the rest of a line when the file is closed.
        self._file: io.FileIO | None = None
        self._pending, self._size = bytearray(), 0
        self._partial: Path | None = None
        self._is_broken = False

    def require_ours(self, batch: str, *, force: bool, rows: Path | None = None) -> None:
        """Check that the file can be written and holds nothing but earlier results of this batch.

        Args:
            batch: The id of the batch.
            force: Whether a file of others is overwritten.
            rows: The file of rows, which is never overwritten.

        Raises:
            UsageError: It is the file of rows.
            ArtifactError: It is a file of others, or cannot be written.
        """
        if self.path is None:
            return
        if rows is not None and rows.exists() and self.path.exists() and self.path.samefile(rows):
            raise UsageError(f"the results would overwrite the rows: {self.path}", fix=_ELSEWHERE)
        if self.path.is_dir() or not self.path.parent.is_dir():
            reason = "is a directory" if self.path.is_dir() else "is in a directory that does not exist"
            raise ArtifactError(f"the results cannot be written: {self.path} {reason}", fix=_ELSEWHERE)
        if force or not self._is_regular():
            return
        owner = self._owner(self.path)
        if owner not in ("", batch):
            of = f"has the results of the batch {owner}" if owner is not None else "exists, and is not of this batch"
            raise ArtifactError(f"{self.path} {of}", fix=f"{_ELSEWHERE}, or pass --force to overwrite it")

    def _is_regular(self) -> bool:
        return self.path is not None and (not self.path.exists() or stat.S_ISREG(self.path.stat().st_mode))

    def _owner(self, path: Path) -> str | None:
        """Return the batch whose results a file has: empty for an empty file, None for anything else."""
        try:
            with path.open("rb") as stream:
                first = stream.readline(_FIRST_BYTES)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise self._unwritable(error) from error
        # The members `row`, `line` and `run` come first, so that a line need not be read whole.
        head = first.decode("utf-8", "replace").partition(', "status"')[0]
        try:
            first_fields = json.loads(f"{head}}}") if first else {}
            return PARTS.whole(first_fields["run"]) if first else ""
        except (ValueError, LookupError, TypeError):
            return None

    def begin(self) -> None:
        """Take the first lines: they are not in the file before `settle`, so that it keeps those that it has.

        Raises:
            ArtifactError: It cannot be written.
        """
        if self.path is None:
            return
        self._partial = self.path.with_name(f".{self.path.name}.partial") if self._is_regular() else None
        try:
            self._file = (self._partial or self.path).open("wb", buffering=0)
        except OSError as error:
            raise self._unwritable(error) from error

    def settle(self) -> None:
        """Put the file in its place: each further line is there when it has been written."""
        if self._partial is None or self.path is None or self._file is None:
            return
        try:
            self._flush(self._file)
            if sys.platform == "win32":  # which renames no file that is open
                self._file.close()
            self._partial.replace(self.path)
            if sys.platform == "win32":
                self._file = self.path.open("ab", buffering=0)
        except OSError as error:
            raise self._unwritable(error) from error
        self._partial = None

    def write(self, line: str) -> None:
        """Write one line; after an error, nothing.

        Raises:
            BrokenPipeError: The reader of standard output has stopped.
            ArtifactError: It cannot be written.
        """
        if self._is_broken:  # the error has been raised
            return
        try:
            self._write(line + "\n")
        except OSError as error:
            self._is_broken = True
            if isinstance(error, BrokenPipeError):
                raise
            raise self._unwritable(error) from error

    def _write(self, text: str) -> None:
        if self._file is None:
            stream = self._stdout or sys.stdout
            stream.write(text)
            stream.flush()
            return
        self._pending += text.encode()
        if self._partial is None or len(self._pending) > _MOST_PENDING:
            self._flush(self._file)

    def _flush(self, file: io.FileIO) -> None:
        """Write the pending lines; where the disk is full, the file ends with the last whole line before that."""
        lines, written = bytes(self._pending), 0
        self._pending.clear()
        try:
            while written < len(lines):
                written += file.write(lines[written:])
        except OSError:
            with contextlib.suppress(OSError):  # a device has no end
                file.truncate(self._size)
            raise
        self._size += len(lines)

    def close(self) -> None:
        """Close the file; standard output stays open."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):  # a full disk has been reported
            self._file.close()
            if self._partial is not None:
                self._partial.unlink()

    def _unwritable(self, error: OSError) -> ArtifactError:
        target = self.path if self.path is not None else "standard output"
        message = f"the results cannot be written to {target}: {error.strerror or error}"
        return ArtifactError(message, fix="free disk space, or name another file with -o")
