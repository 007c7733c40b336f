"""Artifacts: their places are checked before the first call, and they are written atomically."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from strands_cli.errors import ArtifactError, Code, Finding
from strands_cli.outputs.output_folder import is_default, require_own_folder
from strands_cli.system.atomic_file import write_atomically
from strands_cli.system.protected_names import unwritable_in

ARTIFACT_EXISTS = Code(
    "artifact-exists",
    "An output file of the run already exists.",
    "Write `outputs: {overwrite: true}`, or pass --force or --out DIR.",
    12,
)
_EXISTS = "pass --force to overwrite it, write `overwrite: true` under `outputs`, or pass --out DIR to write elsewhere"
_UNWRITABLE = "choose another directory with --out, or correct its permissions"
ARTIFACT_TWICE = Code(
    "artifact-twice", "Two artifacts of one run have the same path.", "Give each artifact its own path.", 12
)

# Permissions of a new file: an artifact is for whom the umask allows; the events of a run are for its user.
SHARED, PRIVATE = 0o666, 0o600


def place_artifact(out_dir: Path, path: str, *, is_chosen: bool = False) -> Path:
    """Return the place of an artifact in the output directory.

    Args:
        is_chosen: Whether --out names the directory: it may then have files that programs run or obey.

    Raises:
        ArtifactError: The path is empty or absolute, leaves the output directory, or has a protected name.
    """
    relative = Path(path)
    is_inside = not relative.is_absolute() and not relative.drive and not relative.root and ".." not in relative.parts
    if not path.strip() or not relative.parts or not is_inside or not _is_file_name(path):
        raise ArtifactError(
            f"the artifact path {path!r} does not name a file inside the output directory",
            fix="use a relative path without '..'; choose the directory with --out",
        )
    target = out_dir / relative
    if _leaves(target.parent, out_dir):
        raise ArtifactError(
            f"the artifact path {path!r} leaves the output directory through a link", fix="remove the link"
        )
    if is_chosen:
        _require_unprotected(target, out_dir, path)
    return target


def _is_file_name(path: str) -> bool:
    """Return whether a path can be one of the file system, which takes neither NUL nor half a surrogate pair."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _require_unprotected(target: Path, out_dir: Path, path: str) -> None:
    real = (target.parent.resolve() / target.name).relative_to(out_dir.resolve())
    name = unwritable_in((*Path(path).parts, *real.parts))
    if name is not None:
        raise ArtifactError(
            f"the artifact path {path!r} has the protected name {name!r}: programs obey it, or it may hold credentials",
            fix="use another name, or the output directory `artifacts`, below which every name is free",
        )


def _leaves(directory: Path, out_dir: Path) -> bool:
    """Return whether links lead out of the output directory or form a loop."""
    try:
        if not directory.resolve().is_relative_to(out_dir.resolve()):
            return True
        # Since Python 3.13 resolve() ignores a loop of links; stat() raises.
        directory.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, RuntimeError):
        return True
    return False


class ArtifactPlaces:
    """Takes the paths of the artifacts of a run, and says which of them cannot be written."""

    def __init__(self, *, force: bool, replaces: bool = False) -> None:
        """Begin without paths.

        Args:
            force: Whether anything there is overwritten.
            replaces: Whether a file is overwritten, but neither a link nor a directory.
        """
        self._force, self._replaces = force, replaces
        self._taken: set[Path] = set()
        self._below: dict[Path, Path] = {}  # a folder of artifacts, and the first of them

    def collision(self, target: Path, text: str | None = None) -> Finding | None:
        """Take a path, and return why it cannot be written: an earlier artifact has it, or the file exists.

        A file that already contains `text` is accepted: a run that continues after a crash finds its own files.
        """
        earlier = target in self._taken
        other = self._below.get(target) or next((above for above in target.parents if above in self._taken), None)
        self._taken.add(target)
        for above in target.parents:
            self._below.setdefault(above, target)
        if earlier:
            return Finding(ARTIFACT_TWICE, f"two artifacts have the path {target}", fix="give each its own path")
        if other is not None:
            message = f"the artifacts {other} and {target} need one name for a file and a directory"
            return Finding(ARTIFACT_TWICE, message, fix="give each its own path")
        is_there = target.exists() or target.is_symlink()
        is_free = self._force or not is_there or (self._replaces and _is_plain_file(target))
        if is_free or _holds(target, text):
            return None
        if self._replaces:
            message = f"the artifact {target} cannot replace what is there: a link or a directory"
            return Finding(ARTIFACT_EXISTS, message, fix=f"remove {target}, or pass --out DIR to write elsewhere")
        return Finding(ARTIFACT_EXISTS, f"the artifact {target} exists already", fix=_EXISTS)


def obstacle(directory: Path) -> str | None:
    """Return why no file can be written into a directory, which may not exist yet, or None."""
    existing = next((path for path in (directory, *directory.absolute().parents) if path.exists()), None)
    if existing is None or (os.access(existing, os.W_OK | os.X_OK) and existing.is_dir()):
        return None
    return f"{existing} is not a directory" if not existing.is_dir() else f"{existing} cannot be written to"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _is_plain_file(target: Path) -> bool:
    return target.is_file() and not target.is_symlink()


def _holds(target: Path, text: str | None) -> bool:
    if text is None or not _is_plain_file(target):
        return False
    try:
        return target.read_bytes() == _encoded(text)
    except OSError:
        return False


def write_artifact(target: Path, text: str, *, force: bool, mode: int = SHARED) -> dict[str, Any]:
    """Write one artifact atomically and return its `path`, SHA-256 `digest` and `size` in bytes.

    Args:
        force: Whether to overwrite an existing file.
        mode: Its permissions, `SHARED` or `PRIVATE`.

    Raises:
        ArtifactError: The file exists and `force` is off, or it cannot be written.
    """
    encoded = _encoded(text)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArtifactError(
            f"the artifact {target} cannot be written: {error.strerror or error}: {target.parent}",
            fix=_UNWRITABLE,
        ) from error
    try:
        write_atomically(target, encoded, force=force, mode=mode)
    except FileExistsError as error:
        if _holds(target, text):
            return _written(target, encoded)
        raise ArtifactError(f"the artifact {target} exists already", fix=_EXISTS) from error
    except OSError as error:
        raise ArtifactError(
            f"the artifact {target} cannot be written: {error.strerror or error}",
            fix=_UNWRITABLE,
        ) from error
    return _written(target, encoded)


def _written(target: Path, encoded: bytes) -> dict[str, Any]:
    return {"path": str(target), "digest": hashlib.sha256(encoded).hexdigest(), "size": len(encoded)}


class ArtifactWriter:
    """Writes a run's artifacts into its output directory, after all of their places are checked.

    A relative output directory starts at `beside`, or else at the working directory of this moment. The returned paths
    begin with the output directory as the caller wrote it.
    """

    def __init__(self, out_dir: Path, *, force: bool, replaces: bool = False, beside: Path | None = None) -> None:
        self._out_dir = out_dir
        self._beside = beside or Path.cwd()
        self._force = force
        self._replaces = replaces

    @staticmethod
    def encoded(text: str) -> bytes:
        """Return the bytes that a text is written as; half a surrogate pair, which UTF-8 lacks, becomes an escape."""
        return _encoded(text)

    def __call__(self, artifacts: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        """Write (path, text) pairs and return the written files.

        Raises:
            ArtifactError: A path leaves the directory or exists, or a file cannot be written.
        """
        out_dir = require_own_folder(self._out_dir, self._beside) if artifacts else self._beside / self._out_dir
        is_chosen = not is_default(self._out_dir)
        placed = [(place_artifact(out_dir, path, is_chosen=is_chosen), text) for path, text in artifacts]
        places = ArtifactPlaces(force=self._force, replaces=self._replaces)
        findings = [finding for target, text in placed if (finding := places.collision(target, text)) is not None]
        if findings:
            raise ArtifactError("the artifacts cannot be written", findings=findings)
        written = [
            write_artifact(target, text, force=self._force or (self._replaces and _is_plain_file(target)))
            for target, text in placed
        ]
        return [
            {**artifact, "path": str(self._out_dir / Path(artifact["path"]).relative_to(out_dir))}
            for artifact in written
        ]
