"""Folders of instructions (`skills`) and the files in them that agents can read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from pathlib import Path
from typing import Literal

from strands_cli.errors import Code, Finding, InvalidInput, Severity, Where
from strands_cli.quick_dataclass import dataclass
from strands_cli.system.protected_names import secret_in
from strands_cli.workflow.agent_sections import Skill
from strands_cli.workflow.findings import BAD_PATH, NO_EFFECT
from strands_cli.workflow.packaged_listing import PACKAGE, packaged_file, project_root
from strands_cli.yaml_files.document import Document
from strands_cli.yaml_files.document_reader import FILE_NOT_READ, NO_SNAPSHOT, FileSnapshot, stored_name
from strands_cli.yaml_files.yaml_events import described_in

# The files that a workflow may name: those of its project, after links are followed.


# The file that makes a folder a skill.
ENTRY = "SKILL.md"


def named_file(
    name: str,
    beside: Path,
    folder: Path,
    where: Where,
    snapshot: FileSnapshot,
    kind: Literal["workflow", "agent", "skill"] | None = None,
) -> Path | Finding:
    """Return the file of a path, or the reason that a workflow may not name it.

    Args:
        beside: The folder that the path starts from.
        folder: The folder of the workflow.
        snapshot: The files that a run has stored; it was checked when it began.
        kind: The kind of file of an installed distribution that may be named, as `package:DIST/NAME`; None for nothing.
    """
    if kind is not None and name.startswith(PACKAGE):
        return packaged_file(name, where, snapshot, kind)
    own = folder.resolve()
    try:
        path = (beside / name).resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a loop of links, or a NUL in the path
        return Finding(BAD_PATH, f"{name!r} is not a usable path: {error}", where, "name a file or a folder")
    is_stored = any(stored_name(candidate) in snapshot.texts for candidate in (path, path / ENTRY))
    if is_stored or path.is_relative_to(own):
        return path
    if snapshot.packaged:
        message = f"{name!r} is outside the folder of {snapshot.packaged}; a packaged file reads nothing else"
        return Finding(BAD_PATH, message, where, "report it to the author of the distribution")
    if not path.is_relative_to(root := project_root(own)):
        message = f"{name!r} is outside the project of the workflow"
        elsewhere = ", or begin in a working directory above both" if root == own else ""
        return Finding(BAD_PATH, message, where, f"move it below {root}{elsewhere}")
    if secret := secret_in(path.relative_to(os.path.commonpath((own, path))).parts):
        message = f"{name!r} leads to {secret!r}, which may hold credentials"
        return Finding(BAD_PATH, message, where, "name another file")
    return path


MISSING_SKILL = Code(
    "missing-skill",
    "A skill's folder or its SKILL.md is missing, or is not text.",
    "Name a folder with a SKILL.md of text.",
)
SKILL_TOO_LARGE = Code(
    "skill-too-large", "A skill's folder holds more text than agents may read.", "Remove files that no agent needs."
)

# The limits of a file and of a folder: a run stores them, and a model reads them.
MAX_FILE_BYTES = 128 * 1024
MAX_FOLDER_BYTES = 2 * 1024 * 1024
MAX_FILES = 500
MAX_LOOKED_AT = 10_000
_NOT_LISTED = ("__pycache__", "node_modules")


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A skill as agents get it.

    Attributes:
        description: That of the workflow, else that of the front matter of `SKILL.md`.
        texts: The texts by their paths in the folder, `SKILL.md` first.
        package: `package:DIST/NAME` where that names it, else empty.
    """

    id: str
    root: Path
    description: str | None
    preload_metadata: bool
    texts: Mapping[str, str]
    package: str = ""

    @property
    def files(self) -> dict[str, str]:
        """The texts by the names under which a run stores files (`stored_name`), and where a packaged one was."""
        named = {self.package: str(self.root)} if self.package else {}
        return {**named, **{str(self.root / name): text for name, text in self.texts.items()}}


@dataclass(slots=True)
class _Reader:
    """Reads the folder of one skill and collects `findings`."""

    skill: Skill
    folder: Path
    snapshot: FileSnapshot
    document: Document
    pointer: str
    findings: list[Finding] = field(default_factory=list)

    def read(self) -> SkillFolder | None:
        root = self._root()
        texts = None if root is None else self._stored(root) or self._from_disk(root)
        if root is None or texts is None:
            return None
        described = self.skill.description or self._described(texts[ENTRY])
        if described is None and self.skill.preload_metadata:
            message = f"the skill '{self.skill.id}' has no description of when to use it"
            fix = f"write `description` here, or in the front matter of its {ENTRY}"
            self._report(NO_EFFECT, message, fix, "warning")
        package = self.skill.path if self.skill.path.startswith(PACKAGE) else ""
        return SkillFolder(self.skill.id, root, described, self.skill.preload_metadata, texts, package)

    def _root(self) -> Path | None:
        """Return the folder, which must be inside the project of the workflow after links are followed."""
        where = self.document.where(f"{self.pointer}/path")
        root = named_file(self.skill.path, self.folder, self.folder, where, self.snapshot, "skill")
        if isinstance(root, Finding):
            self.findings.append(root)
            return None
        return root

    def _stored(self, root: Path) -> dict[str, str] | None:
        """Return the texts that a run has stored; None for a new run."""
        texts = {
            Path(stored_path).relative_to(root).as_posix(): text
            for stored_path, text in self.snapshot.texts.items()
            if Path(stored_path).is_relative_to(root)
        }
        return _in_order(texts) if ENTRY in texts else None

    def _from_disk(self, root: Path) -> dict[str, str] | None:
        if self.snapshot.is_all:
            message = f"the folder of the skill '{self.skill.id}' is not read here"
            self._report(FILE_NOT_READ, message, "check it where its files are", "warning")
            return None
        if not root.is_dir():
            word = "a file" if root.is_file() else "not there"
            message = f"the folder of the skill '{self.skill.id}' is {word}: {self.folder / self.skill.path}"
            self._report(MISSING_SKILL, message, f"name the folder with {ENTRY}")
            return None
        entry = self._entry(root)
        return None if entry is None else {ENTRY: entry, **self._others(root, len(entry.encode()))}

    def _entry(self, root: Path) -> str | None:
        try:
            return text_of(root / ENTRY)
        except UnreadableError as error:
            close = next((name for name in _names(root) if name.lower() == ENTRY.lower() and name != ENTRY), None)
            fix = f"rename {close} to {ENTRY}" if close else f"write the instructions into {root / ENTRY}"
            self._report(MISSING_SKILL, f"{ENTRY} of the skill '{self.skill.id}' {error}", fix)
            return None

    def _others(self, root: Path, size: int) -> dict[str, str]:
        """Return the other texts of the folder; files without text are skipped."""
        texts: dict[str, str] = {}
        left_out: list[str] = []
        for path in islice(_walk(root), MAX_LOOKED_AT):
            name = path.relative_to(root).as_posix()
            if name == ENTRY:
                continue
            try:
                text = text_of(path, MAX_FOLDER_BYTES - size if len(texts) < MAX_FILES else 0)
            except UnreadableError as error:
                left_out += [name] if error.is_size else []
                continue
            size += len(text.encode())
            texts[name] = text
        self._report_left_out(left_out)
        return _in_order(texts)

    def _report_left_out(self, names: Sequence[str]) -> None:
        if names:
            message = (
                f"agents cannot read {len(names)} files of the skill '{self.skill.id}', such as {names[0]}: at most "
                f"{MAX_FILE_BYTES // 1024} KiB of a file, {MAX_FOLDER_BYTES // 1024} KiB and {MAX_FILES} files are read"
            )
            self._report(SKILL_TOO_LARGE, message, "remove what agents do not need", "warning")

    def _described(self, text: str) -> str | None:
        """Return the description in the front matter of SKILL.md, if there is one."""
        try:
            return described_in(text, f"{self.skill.path}/{ENTRY}")
        except InvalidInput as error:
            reason = error.findings[0].message if error.findings else error.message
            message = f"the front matter of {ENTRY} of the skill '{self.skill.id}' cannot be read: {reason}"
            self._report(NO_EFFECT, message, "correct it, or write `description` here", "warning")
            return None

    def _report(self, code: Code, message: str, fix: str, severity: Severity = "error") -> None:
        where = self.document.where(f"{self.pointer}/{'id' if code == NO_EFFECT else 'path'}")
        self.findings.append(Finding(code, message, where, fix, severity))


class UnreadableError(Exception):
    """A file cannot be offered to an agent; the message follows its name."""

    def __init__(self, words: str, *, is_size: bool = False) -> None:
        super().__init__(words)
        self.is_size = is_size


def read_skills(
    skills: Sequence[Skill], folder: Path, document: Document, snapshot: FileSnapshot = NO_SNAPSHOT
) -> tuple[tuple[SkillFolder, ...], list[Finding]]:
    """Read the folders of skills.

    Args:
        folder: The workflow's folder; those of the skills must be inside its project.

    Returns:
        The skills that can be used, in the order of the file, and the findings.
    """
    folders: list[SkillFolder] = []
    findings: list[Finding] = []
    for index, skill in enumerate(skills):
        reader = _Reader(skill, folder, snapshot, document, f"/skills/{index}")
        if (read := reader.read()) is not None:
            folders.append(read)
        findings += reader.findings
    return tuple(folders), findings


def check_skills(skills: Sequence[Skill], document: Document, snapshot: FileSnapshot = NO_SNAPSHOT) -> list[Finding]:
    """Return the faults of the folders of a workflow's skills."""
    path = Path(document.file)
    folder = snapshot.folder or (path.parent if path.is_file() else Path())
    return read_skills(skills, folder, document, snapshot)[1]


def text_of(path: Path, left: int = MAX_FILE_BYTES) -> str:
    """Return the text of one regular file, which may have `left` bytes; a link is not followed.

    Raises:
        UnreadableError: It is not a regular file, cannot be opened, is too large, or is not UTF-8 text.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        raise UnreadableError("is not there" if missing else f"cannot be read: {error.strerror or error}") from None
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode) or path.is_symlink():
            raise UnreadableError("is not a regular file")
        limit = min(left, MAX_FILE_BYTES)
        raw = stream.read(limit + 1)
    if b"\0" in raw:
        raise UnreadableError("is not text")
    if len(raw) > limit:
        raise UnreadableError(f"has more than {MAX_FILE_BYTES // 1024} KiB", is_size=True)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableError("is not UTF-8 text") from None


def _walk(root: Path) -> Iterator[Path]:
    """Yield the files below a folder in the order of their paths.

    Hidden ones, links, and names of files that may hold credentials are skipped.
    """
    for above, folders, names in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if _is_listed(name) and name not in _NOT_LISTED)
        for name in sorted(names):
            path = Path(above, name)
            if _is_listed(name) and not path.is_symlink():
                yield path


def _is_listed(name: str) -> bool:
    return not name.startswith(".") and secret_in([name]) is None


def _names(root: Path) -> list[str]:
    try:
        return sorted(os.listdir(root))  # noqa: PTH208 - names are enough
    except OSError:
        return []


def _in_order(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: texts[name] for name in sorted(texts, key=lambda name: (name != ENTRY, name))}
