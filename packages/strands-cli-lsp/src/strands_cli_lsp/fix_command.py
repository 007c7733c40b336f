"""The work of `validate --fix`: correct files in place, or show how they would be corrected."""

from __future__ import annotations

import difflib
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from strands_cli.api import FileChecks, UsageError, counted, print_result, printable, say, shortened
from strands_cli_lsp.fixed_text import CheckedText, corrected

_MARK, _STDIN, _MOST_BYTES = "\ufeff", "-", 10 * 1024 * 1024
_DIFF = typer.Option("--diff", help="Print what would change, and write nothing.")
_FORMAT = typer.Option("--format", help="Format of the findings that remain.")


class FixedFile(NamedTuple):
    """A file, its bytes and its text as it was read, the text with corrections, and why that is not written."""

    file: Any
    raw: bytes
    before: str
    after: CheckedText
    hindrance: str | None = None

    @classmethod
    def of(cls, file: Any) -> FixedFile:
        """Read a file and correct it, unless it cannot be read as text or a distribution brings it."""
        path, is_stdin = Path(file.name), file.name == _STDIN
        try:
            raw = sys.stdin.buffer.read(_MOST_BYTES + 1) if is_stdin else path.read_bytes()
            before = raw.decode("utf-8") if len(raw) <= _MOST_BYTES else ""
        except (OSError, ValueError):
            return cls(file, b"", "", CheckedText("", ()))
        text, checks = before.removeprefix(_MARK), FileChecks()
        checked = corrected(text, "<stdin>" if is_stdin else file.name, lambda new: checks.findings(file, new))
        after = checked._replace(text=before[: len(before) - len(text)] + checked.text)
        return cls(file, raw, before, after, "it is standard input" if is_stdin else _hindrance(path))

    def write(self) -> str | None:
        """Replace the file, with its mode and its owner, and return why that was not possible."""
        path = Path(self.file.name)
        partial = path.with_name(f".{secrets.token_hex(8)}.partial")
        try:
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(self.after.text.encode())
                stream.flush()
                os.fsync(stream.fileno())
            status, now = path.stat(), partial.stat()
            if (status.st_uid, status.st_gid) != (now.st_uid, now.st_gid):
                os.chown(partial, status.st_uid, status.st_gid)
            shutil.copystat(path, partial)
            os.utime(partial)
            if path.is_symlink() or path.read_bytes() != self.raw:
                return "it has changed since it was read: run it again"
            partial.replace(path)
        except OSError as error:
            return error.strerror or str(error)
        finally:
            partial.unlink(missing_ok=True)
        return None

    @property
    def is_changed(self) -> bool:
        """Whether the text has corrections."""
        return self.before != self.after.text

    @property
    def diff(self) -> str:
        """The lines that change."""
        before, after = (text.splitlines(keepends=True) for text in (self.before, self.after.text))
        return "".join(_ended(difflib.unified_diff(before, after, self.file.name, f"{self.file.name} (fixed)")))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The changed lines as JSON, each with the code of the finding that it corrects."""
        return [
            {"code": correction.finding.code, "line": number, "old": printable(old), "new": printable(new)}
            for correction in self.after.corrections
            for number, old, new in correction.lines
        ]


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def fix(
    specs: Annotated[list[str], typer.Argument(metavar="SPEC...", help="Workflow files, or folders.")],
    output: Annotated[Literal["text", "json", "github", "sarif"], _FORMAT] = "text",
    diff: Annotated[bool, _DIFF] = False,
) -> int:
    """Correct workflow files where only one correction is right, as `strands validate --fix` does.

    Example: strands workflows lsp fix flow.yaml --diff
    """
    if diff and output in ("github", "sarif"):
        raise UsageError(f"--diff prints lines of text, not {output}", fix="leave out one of the two")
    files = [FixedFile.of(file) for file in FileChecks.named(specs)]
    facts: dict[str, dict[str, Any]] = {}
    texts: dict[str, str] = {}
    for fixed in files:
        name = fixed.file.name
        reason = fixed.hindrance if diff or fixed.hindrance or not fixed.is_changed else fixed.write()
        is_written = fixed.is_changed and not diff and reason is None
        if fixed.is_changed and output == "text":
            _print_changes(fixed, is_written=is_written)
        if fixed.is_changed and reason and not diff:
            say(f"{name}: not written: {reason}")
        facts[name] = {"changed": fixed.is_changed, "written": is_written, "diff": fixed.diff, "fixed": fixed.rows}
        if name == _STDIN:
            texts[name] = fixed.before
    return FileChecks(texts).report([fixed.file for fixed in files], output, facts)


def _hindrance(path: Path) -> str | None:
    """Return why a file is not replaced: a link or its mode would be lost, or it may not be written."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return f"it is a link to {os.path.realpath(path)}"
    if not stat.S_ISREG(status.st_mode):
        return "it is not an ordinary file"
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        return "it is read-only"
    if status.st_nlink > 1:
        return "it has several names (hard links)"
    return None


def _print_changes(fixed: FixedFile, *, is_written: bool) -> None:
    """Print what was corrected; where it is not written, the lines that would change."""
    name = fixed.file.name
    if not is_written:
        print_result(fixed.diff.removesuffix("\n"))
        return
    for row in fixed.rows:
        old, new = (shortened(row[side].strip(), 80) for side in ("old", "new"))
        change = (
            f"{old}  ->  {new}" if old and new else f"{new}  added" if new else f"{old}  removed, it is there twice"
        )
        print_result(f"{name}:{row['line']}: {'indented otherwise' if old == new else change}  [{row['code']}]")
    print_result(f"{name}: {counted(len(fixed.after.corrections), 'correction')} written")
