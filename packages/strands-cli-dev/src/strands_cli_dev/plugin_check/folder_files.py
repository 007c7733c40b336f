"""The folders of data that a package declares, and the files in them: found without import, read within limits."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from strands_cli.api import Code, Finding, PortableFile, Where

PACKAGE_LINK = Code(
    "package-link",
    "A folder of workflows has a link that leads out of it, or an irregular file.",
    "Replace it by the file itself.",
)
PACKAGE_TOO_LARGE = Code(
    "package-too-large",
    "A folder of workflows has more files or bytes than a package may have.",
    "Move out what no workflow reads.",
)
PACKAGE_SECRET = Code(
    "package-secret",
    "A folder of workflows has a file that looks like a credential.",
    "Remove it, replace the credential, and name it in `env.secrets`.",
)

MAX_FILES = 1_000
MAX_FILE_BYTES = 2 * 1024 * 1024
MAX_BYTES = 20 * 1024 * 1024
MAX_DEPTH = 12
# Python writes these beside a module; they are not part of the package.
_NOT_PACKAGED = ("__pycache__",)


@dataclass(frozen=True, slots=True)
class DataFolder:
    """A folder of workflows, agents or skills.

    Attributes:
        path: The folder.
        files: The regular files in it that may be read, sorted: path relative to it, with `/`.
        findings: Its faults.
    """

    path: Path
    files: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(slots=True)
class _Walk:
    root: str
    files: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    size: int = 0

    def report(self, code: Code, message: str, path: str, line: int | None = None) -> None:
        self.findings.append(Finding(code, message, Where(path, line)))


def read_folder(folder: Path) -> DataFolder:
    """Return the files of a folder and its faults; no more is looked at than a package may have."""
    walk = _Walk(os.path.realpath(folder))
    for entry, relative in _entries(walk, str(folder)):
        if len(walk.files) >= MAX_FILES:
            walk.report(PACKAGE_TOO_LARGE, f"the folder has more than {MAX_FILES:,} files", str(folder))
            break
        if walk.size > MAX_BYTES:
            walk.report(PACKAGE_TOO_LARGE, f"its files have more than {MAX_BYTES >> 20} MB together", str(folder))
            break
        if _is_sound(walk, entry):
            walk.files.append(relative)
    return DataFolder(folder, tuple(sorted(walk.files)), tuple(walk.findings))


def _entries(walk: _Walk, top: str) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Yield every entry below a folder but folders; links to folders are such entries."""
    waiting, count = [(top, "")], 0
    while waiting:
        above, prefix = waiting.pop()
        if prefix.count("/") > MAX_DEPTH:
            walk.report(PACKAGE_TOO_LARGE, f"folders are nested more than {MAX_DEPTH} levels deep", above)
            continue
        try:
            with os.scandir(above) as entries:
                for entry in entries:
                    count += 1
                    if count > 2 * MAX_FILES:
                        walk.report(PACKAGE_TOO_LARGE, f"the folder has more than {MAX_FILES:,} files", top)
                        return
                    if not entry.is_dir(follow_symlinks=False):
                        yield entry, prefix + entry.name
                    elif entry.name not in _NOT_PACKAGED:
                        waiting.append((entry.path, f"{prefix}{entry.name}/"))
        except OSError as error:
            walk.report(PACKAGE_LINK, f"the folder cannot be read: {error.strerror}", above)


def _is_sound(walk: _Walk, entry: os.DirEntry[str]) -> bool:
    """Return whether a file belongs to the package; faults of it are reported."""
    if entry.is_symlink():
        target = os.path.realpath(entry.path)
        if not Path(target).is_relative_to(walk.root):
            walk.report(PACKAGE_LINK, "the link leads out of the folder of the package", entry.path)
            return False
        if os.path.isdir(target):  # noqa: PTH112 - its files are in the folder anyway
            return False
    try:
        status = entry.stat()
    except OSError as error:
        walk.report(PACKAGE_LINK, f"the file cannot be read: {error.strerror}", entry.path)
        return False
    if not stat.S_ISREG(status.st_mode):
        walk.report(PACKAGE_LINK, "this is neither a file nor a folder", entry.path)
        return False
    if status.st_size > MAX_FILE_BYTES:
        walk.report(PACKAGE_TOO_LARGE, f"the file has more than {MAX_FILE_BYTES >> 20} MB", entry.path)
        return False
    walk.size += status.st_size
    for line, kind in PortableFile.credentials(_text(entry.path), entry.name):
        walk.report(PACKAGE_SECRET, f"{'the file' if line is None else 'a text'} looks like {kind}", entry.path, line)
        if line is None:
            return False
    return True


def _text(path: str) -> str:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""  # reported where it is read as a document
