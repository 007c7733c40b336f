"""The files that a stored run has written, and their texts from the store or from this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from strands_cli.engine.journal.journal_rows import command_of, keeps_texts, row_of_artifacts, texts_of, written_of
from strands_cli.engine.stored_runs.described import run_of
from strands_cli.engine.stored_runs.last_place import worked_on
from strands_cli.errors import ArtifactError, RunRecordError, UsageError, suggest
from strands_cli.outputs.artifacts import ArtifactWriter
from strands_cli.run_views.open_questions import answer_commands, command
from strands_cli.texts.phrases import joined

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Row
    from strands_cli.engine.store_port import StoredJournal
    from strands_cli.engine.stored_runs.last_place import WorkedOn
    from strands_cli.store_place import StorePlace


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """One file that a run has written.

    Attributes:
        path: Where it was written, from the folder in which the run worked.
        name: Its path below the output directory.
        digest: The SHA-256 of its bytes.
        size: Their number.
        stored: Whether the store has its text.
        text: Its text, where that was read from the store.
        worked_on: The machine and the folder where it was written; None where the journal does not say it.
        again: The command that writes it again, without another call of a model or a tool.
    """

    path: str
    name: str
    digest: str
    size: int
    stored: bool
    text: str | None = field(default=None, repr=False)
    worked_on: WorkedOn | None = None
    again: str = field(default="", repr=False)

    def read(self) -> str:
        """Return its text, as it was written.

        Raises:
            ArtifactError: The store does not have it, and this machine does not have the file as it was written.
            RunRecordError: The text in the store is not the one that was written.
        """
        if self.text is None:
            return self._on_this_machine().decode("utf-8")
        if hashlib.sha256(ArtifactWriter.encoded(self.text)).hexdigest() != self.digest:
            raise RunRecordError(f"the text of {self.path} in the store is not what was written", fix=self._elsewhere)
        return self.text

    def write(self, out_dir: str | Path, *, force: bool = False, below: str = "") -> Path:
        """Write it below a directory, as the run itself would, and return its place.

        Args:
            below: A folder in the directory that gets it; a link there is not followed out of the directory.

        Raises:
            ArtifactError: The file exists and `force` is off, has a protected name, or cannot be read or written.
            RunRecordError: The text in the store is not the one that was written.
        """
        (written,) = write_artifacts([self], Path(out_dir), force=force, below=below)
        return Path(written["path"])

    def _on_this_machine(self) -> bytes:
        where = self.worked_on
        file = None if where is None else Path(where.folder) / self.path
        if where is None or file is None or not where.is_here:
            raise ArtifactError(f"the store does not have the text of {self.path}", fix=self._elsewhere)
        try:
            # Its size first: the file in its place now may have no end.
            content = file.read_bytes() if file.is_file() and file.stat().st_size == self.size else None
        except OSError as error:
            raise ArtifactError(
                f"{file} cannot be read: {error.strerror or error}", fix="correct its permissions"
            ) from error
        if content is None or hashlib.sha256(content).hexdigest() != self.digest:
            problem = "is not as the run wrote it" if file.exists() else "is not there any more"
            raise ArtifactError(f"{file} {problem}, and the store does not have its text", fix=self.again)
        return content

    @property
    def _elsewhere(self) -> str:
        if self.worked_on is None:
            return f"copy {self.path} from the machine that worked on the run"
        return f"copy {PurePath(self.worked_on.folder) / self.path} from {self.worked_on.machine}"


@dataclass(frozen=True, slots=True)
class RunArtifacts:
    """The files of one complete run.

    Attributes:
        place: The store that the run is in.
        worked_on: Where they were written; None where the journal does not say it.
    """

    run_id: str
    place: StorePlace
    files: tuple[StoredArtifact, ...]
    worked_on: WorkedOn | None

    def chosen(self, paths: Sequence[str]) -> tuple[StoredArtifact, ...]:
        """Return the files with these paths, as they were written or below the output directory; all without paths.

        Raises:
            UsageError: The run has not written one of them.
            ArtifactError: It has written none.
        """
        if not self.files:
            fix = f"its answer: {command('runs', 'show', self.run_id, store=self.place)}"
            raise ArtifactError(f"the workflow of the run {self.run_id} has no artifacts", fix=fix)
        return tuple(map(self._named, paths)) if paths else self.files

    def _named(self, path: str) -> StoredArtifact:
        artifact = next((file for file in self.files if path in (file.path, file.name)), None)
        if artifact is None:
            paths = [file.path for file in self.files]
            fix = suggest(path, [*paths, *(file.name for file in self.files)], f"there are: {joined(paths)}")
            raise UsageError(f"the run {self.run_id} has no artifact {path!r}", fix=fix)
        return artifact


def artifacts_of(journal: StoredJournal, *, with_texts: bool = True) -> RunArtifacts:
    """Return the files of a complete run.

    Args:
        with_texts: Whether their texts are read too, where the store has them.

    Raises:
        UsageError: It consists of other runs, which have the files.
        ArtifactError: It is unfinished.
        RunRecordError: The journal cannot be read.
    """
    _require_complete(journal)
    row = row_of_artifacts(journal.rows("artifacts"))
    where = worked_on(journal)
    if row is None:
        return RunArtifacts(journal.run_id, journal.place, (), where)
    files = tuple(_files(journal, row, where, with_texts=with_texts))
    return RunArtifacts(journal.run_id, journal.place, files, where)


def write_artifacts(
    files: Sequence[StoredArtifact], out_dir: Path, *, force: bool, below: str = ""
) -> list[dict[str, Any]]:
    """Write files of a run below a directory as the run itself would; return the `path`, `digest` and `size` of each.

    Args:
        below: A folder in the directory that gets them; a link there is not followed out of the directory.

    Raises:
        ArtifactError: A file exists and `force` is off, has a protected name, or cannot be read or written.
    """
    return ArtifactWriter(out_dir, force=force)([(str(PurePath(below) / file.name), file.read()) for file in files])


def _files(journal: StoredJournal, row: Row, where: WorkedOn | None, *, with_texts: bool) -> list[StoredArtifact]:
    written = written_of(row)
    texts = _texts(journal, row, len(written)) if with_texts else []
    out = PurePath((journal.get("options") or {}).get("out_dir") or "")
    words = ("runs", "rerun", journal.run_id, "--from", row.key, "--out", "again")
    again = f"a new run writes it again, and calls nothing: {command(*words, store=journal.place)}"
    names = [path for path, _ in texts] or [_below(artifact["path"], out) for artifact in written]
    return [
        StoredArtifact(
            path=str(artifact["path"]),
            name=name,
            digest=str(artifact.get("digest")),
            size=int(artifact["size"]),
            stored=keeps_texts(row),
            text=texts[index][1] if texts else None,
            worked_on=where,
            again=again,
        )
        for index, (artifact, name) in enumerate(zip(written, names, strict=True))
    ]


def _texts(journal: StoredJournal, row: Row, number: int) -> Sequence[tuple[str, str]]:
    try:
        texts = texts_of(row)
    except (ValueError, TypeError) as error:
        raise _damaged(journal, str(error)) from error
    if texts and len(texts) != number:
        raise _damaged(journal, f"{number} files and {len(texts)} texts")
    return texts


def _damaged(journal: StoredJournal, reason: str) -> RunRecordError:
    fix = f"see what can be read of it: {command('runs', 'show', journal.run_id, store=journal.place)}"
    return RunRecordError(f"the row of the artifacts in {journal.record} is damaged: {reason}", fix=fix)


def _below(path: str, out: PurePath) -> str:
    """Return a path below the output directory; where the run was given another one later, the name of the file."""
    whole = PurePath(path)
    return str(whole.relative_to(out)) if whole.is_relative_to(out) else whole.name


def _require_complete(journal: StoredJournal) -> None:
    run_id, store_place = journal.run_id, journal.place
    if (name := command_of(journal.get("pattern"))) is not None:
        fix = f"those of all: {command(name, 'artifacts', run_id, store=store_place)}"
        raise UsageError(f"{run_id} consists of other runs, which have the artifacts", fix=fix)
    status = run_of(journal).status
    if status == "completed":
        return
    answers = answer_commands(journal) if status in ("waiting", "needs-decision") else []
    next_words = {
        "running": ("runs", "show", run_id, "--follow"),
        "queued": ("runs", "show", run_id, "--follow"),
        "scheduled": ("runs", "list"),
        "cancelled": ("runs", "rerun", run_id, "--from", "KEY"),
    }.get(status, ("resume", run_id))
    fix = "\n        ".join(answers) or command(*next_words, store=store_place)
    raise ArtifactError(f"the run {run_id} is {status}: its artifacts are written when it is complete", fix=fix)
