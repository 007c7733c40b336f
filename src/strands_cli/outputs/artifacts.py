"""Artifacts: where a run's files go, checked before the first call, written atomically inside the output directory."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from strands_cli.errors import ArtifactError, Finding


def place_artifact(out_dir: Path, path: str) -> Path:
    """Return where an artifact of this relative path goes.

    Raises:
        ArtifactError: the path is empty, absolute, or leaves the output directory.
    """
    relative = Path(path)
    if not path.strip() or relative.is_absolute() or relative.drive or ".." in relative.parts or "\0" in path:
        raise ArtifactError(
            f"the artifact path {path!r} does not stay inside the output directory",
            fix="use a relative path without '..'; choose the directory with --out",
        )
    target = out_dir / relative
    if not target.resolve().is_relative_to(out_dir.resolve()):
        raise ArtifactError(
            f"the artifact path {path!r} leaves the output directory through a link", fix="remove the link"
        )
    return target


def collision(target: Path, earlier: Iterable[Path], *, force: bool) -> Finding | None:
    """Return what stands in an artifact's way: an earlier one of the run with its path, or a file that exists."""
    if target in earlier:
        return Finding("artifact-twice", f"two artifacts have the path {target}", fix="give each its own path")
    if not force and (target.exists() or target.is_symlink()):
        fix = "pass --force to overwrite it, or --out DIR to write elsewhere"
        return Finding("artifact-exists", f"the artifact {target} exists already", fix=fix)
    return None


def write_artifact(target: Path, text: str, *, force: bool) -> dict[str, Any]:
    """Write one artifact atomically and return its `path`, SHA-256 `digest` and `size` in bytes.

    Raises:
        ArtifactError: it exists and `force` is off, or the disk refuses.
    """
    encoded = text.encode("utf-8", "backslashreplace")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_atomically(target, encoded, force=force)
    except FileExistsError as error:
        raise ArtifactError(
            f"the artifact {target} exists already", fix="pass --force to overwrite it, or --out DIR to write elsewhere"
        ) from error
    except OSError as error:
        raise ArtifactError(
            f"the artifact {target} cannot be written: {error.strerror or error}", fix="check the output directory"
        ) from error
    return {"path": str(target), "digest": hashlib.sha256(encoded).hexdigest(), "size": len(encoded)}


def _write_atomically(target: Path, encoded: bytes, *, force: bool) -> None:
    """Write a neighbour and put it in place; without `force` the last step fails if the target has appeared."""
    partial = target.with_name(f".{target.name}.{secrets.token_hex(6)}.partial")
    try:
        # O_EXCL with mode 0666 leaves the permissions to the umask and follows no link.
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(handle, "wb") as stream:
            stream.write(encoded)
            stream.flush()
            os.fsync(stream.fileno())
        _put_in_place(partial, target, force=force)
    finally:
        partial.unlink(missing_ok=True)


def _put_in_place(partial: Path, target: Path, *, force: bool) -> None:
    if force or not hasattr(os, "link"):
        if not force and target.exists():
            raise FileExistsError(target)
        partial.replace(target)
    else:
        # A hard link refuses an existing name in one step; a check before a rename would leave a gap.
        os.link(partial, target)


class ArtifactWriter:
    """Writes a run's artifacts into its output directory; all are placed before the first is written."""

    def __init__(self, out_dir: Path, *, force: bool) -> None:
        self._out_dir = out_dir
        self._force = force

    def __call__(self, artifacts: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        """Write (path, text) pairs and return what was written.

        Raises:
            ArtifactError: a path leaves the directory or is taken, or the disk refuses.
        """
        placed = [(place_artifact(self._out_dir, path), text) for path, text in artifacts]
        findings: list[Finding] = []
        for index, (target, _) in enumerate(placed):
            found = collision(target, [earlier for earlier, _ in placed[:index]], force=self._force)
            findings += [found] if found else []
        if findings:
            raise ArtifactError("the artifacts cannot be written", findings=findings)
        return [write_artifact(target, text, force=self._force) for target, text in placed]
